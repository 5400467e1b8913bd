//! The gRPC server: our services, health and reflection, within bounds.

use std::time::Duration;

use futures::TryStreamExt as _;
use kafka_assigner_proto::FILE_DESCRIPTOR_SET;
use kafka_assigner_proto::v1::admin_server::AdminServer;
use kafka_assigner_proto::v1::kafka_assigner_server::KafkaAssignerServer;
use kafka_assigner_proto::v1::routing_server::RoutingServer;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::{Router, TcpIncoming};
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use super::error::Error;
use super::listeners::Tls;
use crate::access::Access;
use crate::admin::AdminService;
use crate::connection_end::WatchedConnection;
use crate::consumer::ConsumerService;
use crate::grpc::{Consumers, Operators, Routers};
use crate::instance::Instance;
use crate::router::RouterService;

/// The most bytes of one request: a thousand acknowledgements with the longest names are below.
const MOST_BYTES: usize = 1024 * 1024;

/// The time between two pings of an idle connection, and the longest time for the answer. Together well below every
/// session's default time to live, since a session that is renewed for its client lives as long as the stream does.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// The most calls and streams under way on one connection. One process has a handful of consumers; a proxy or a
/// test may bundle hundreds.
const MOST_CALLS: u32 = 1_000;

/// The longest time for a TLS handshake: connections that say nothing must not add up.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The gRPC side of an instance.
pub(super) struct Grpc {
    router: Router,
    health: Health,
}

impl Grpc {
    /// The services of `instance`, for those who have `access`.
    pub(super) fn new(instance: &Instance, tls: Option<&Tls>, access: &Access) -> Result<Self, Error> {
        let (reporter, health) = tonic_health::server::health_reporter();
        let consumers = Consumers::new(ConsumerService::new(instance.clone()), access.clone());
        let routers = Routers::new(RouterService::new(instance.clone()), access.clone());
        let operators = Operators::new(AdminService::new(instance.clone()), access.clone());
        let router = server(tls, access)?
            .add_service(KafkaAssignerServer::new(consumers).max_decoding_message_size(MOST_BYTES))
            .add_service(RoutingServer::new(routers).max_decoding_message_size(MOST_BYTES))
            .add_service(AdminServer::new(operators).max_decoding_message_size(MOST_BYTES))
            .add_service(health)
            .add_service(definitions().build_v1().expect("the compiled definitions can be decoded"))
            .add_service(definitions().build_v1alpha().expect("the compiled definitions can be decoded"));
        Ok(Self { router, health: Health(reporter) })
    }

    /// The health service, which tells callers whether the instance serves.
    pub(super) fn health(&self) -> Health {
        self.health.clone()
    }

    /// Serves until `closed` and every connection has ended.
    pub(super) async fn run(self, listener: TcpListener, closed: CancellationToken) -> Result<(), Error> {
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true)).map_ok(WatchedConnection::new);
        self.router
            .serve_with_incoming_shutdown(incoming, closed.cancelled_owned())
            .await
            .map_err(Error::Grpc)
    }
}

/// The answers of the gRPC health service; serving unless told otherwise.
#[derive(Clone)]
pub(super) struct Health(HealthReporter);

impl Health {
    /// From now on load balancers send nobody here.
    pub(super) async fn leave(&self) {
        self.0.set_service_status("", ServingStatus::NotServing).await;
    }
}

fn server(tls: Option<&Tls>, access: &Access) -> Result<Server, Error> {
    let server = Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE))
        .max_concurrent_streams(MOST_CALLS);
    match tls {
        Some(tls) => server.tls_config(tls_config(tls, access)).map_err(Error::Tls),
        None => Ok(server),
    }
}

/// With tokens in the access file a caller may show one in the place of a certificate; one of the two it needs for every call.
fn tls_config(tls: &Tls, access: &Access) -> ServerTlsConfig {
    let config =
        ServerTlsConfig::new().identity(Identity::from_pem(&tls.certificate, &tls.key)).timeout(HANDSHAKE);
    match &tls.client_ca {
        Some(ca) => {
            config.client_ca_root(Certificate::from_pem(ca)).client_auth_optional(access.takes_tokens())
        }
        None => config,
    }
}

/// The definitions that reflection tells. Older tools ask by its first version, so both are served.
fn definitions() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}
