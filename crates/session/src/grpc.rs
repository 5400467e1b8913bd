//! Calls over gRPC.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use kafka_assigner_proto::v1::kafka_assigner_client::KafkaAssignerClient;
use kafka_assigner_proto::{BearerToken, TokenOrigin, v1};
use tonic::Status;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tracing::warn;

use crate::causes::with_causes;
use crate::invalid_endpoint::InvalidEndpoint;
use crate::tls_files::{ClientTlsFiles, TlsPem};
use crate::transport::{Acks, CommandStream, Transport};

/// A host that does not even accept a connection for this long is passed over.
const CONNECT_BOUND: Duration = Duration::from_secs(2);
/// A connection whose other side is silently gone is noticed after the sum of both: within half of a 30 s session.
const KEEPALIVE_EVERY: Duration = Duration::from_secs(5);
const KEEPALIVE_BOUND: Duration = Duration::from_secs(5);
/// More channels than a client has use for; instances come and go over months.
const MAX_CHANNELS: usize = 128;

/// A channel whose calls show the token of their caller, where it has one.
pub type CallerChannel = InterceptedService<Channel, BearerToken>;

/// One channel for each endpoint, opened when it is first called.
///
/// A balanced channel would send calls to dead instances; here the session decides which instance is called.
#[derive(Debug, Default)]
pub struct GrpcTransport {
    tls: TlsOrigin,
    token: BearerToken,
    routes: BTreeMap<String, String>,
    channels: Mutex<BTreeMap<String, OpenChannel>>,
}

/// The origin of certificates to trust and to show.
#[derive(Debug, Default)]
enum TlsOrigin {
    #[default]
    None,
    Given(ClientTlsConfig),
    Files(ClientTlsFiles),
}

/// A channel, with what was in the files when it was opened.
#[derive(Debug, Clone)]
struct OpenChannel {
    channel: Channel,
    pem: Option<TlsPem>,
}

impl GrpcTransport {
    /// Without TLS for "http://" endpoints; "https://" needs [`with_tls`](Self::with_tls).
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With certificates to trust, and optionally one to show, for "https://" endpoints.
    #[must_use]
    pub fn with_tls(tls: ClientTlsConfig) -> Self {
        Self { tls: TlsOrigin::Given(tls), ..Self::default() }
    }

    /// With certificates to trust, and optionally one to show, in files that may be replaced at any time.
    #[must_use]
    pub fn with_tls_files(files: ClientTlsFiles) -> Self {
        Self { tls: TlsOrigin::Files(files), ..Self::default() }
    }

    /// Shows a bearer token with each call, by which instances with an access file know who calls. Use TLS beside it: whoever
    /// reads the token may call as well.
    #[must_use]
    pub fn with_token(self, origin: TokenOrigin) -> Self {
        Self { token: BearerToken::from_origin(origin), ..self }
    }

    /// Reaches instances over other addresses than those by which they are known: forwarded ports, for example.
    /// By an instance's address, the one to connect to; the others are reached as they are known.
    #[must_use]
    pub fn with_routes(self, routes: BTreeMap<String, String>) -> Self {
        Self { routes, ..self }
    }

    fn client(&self, endpoint: &str) -> Result<KafkaAssignerClient<CallerChannel>, Status> {
        self.channel(endpoint).map(KafkaAssignerClient::new)
    }

    /// The channel to `endpoint`, for calls of other services; the same one each time.
    ///
    /// # Errors
    ///
    /// `UNAVAILABLE` where the endpoint is no address.
    pub fn channel(&self, endpoint: &str) -> Result<CallerChannel, Status> {
        let channel = self.connection(endpoint)?;
        Ok(InterceptedService::new(channel, self.token.clone()))
    }

    fn connection(&self, endpoint: &str) -> Result<Channel, Status> {
        let pem = self.tls.read();
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let before = channels.get(endpoint);
        if let (Some(open), Ok(pem)) = (before, &pem)
            && open.pem == *pem
        {
            return Ok(open.channel.clone());
        }
        let opened = pem.and_then(|pem| self.open(self.address(endpoint), pem));
        match (opened, before) {
            (Ok(opened), _) => {
                if channels.len() >= MAX_CHANNELS {
                    // Those in use live on in their calls.
                    channels.clear();
                }
                channels.insert(endpoint.to_owned(), opened.clone());
                Ok(opened.channel)
            }
            (Err(error), Some(open)) => {
                warn!(endpoint, %error, "certificates were replaced, and can't be used yet");
                Ok(open.channel.clone())
            }
            (Err(error), None) => Err(error),
        }
    }

    fn open(&self, address: &str, pem: Option<TlsPem>) -> Result<OpenChannel, Status> {
        let unusable = |error: InvalidEndpoint| Status::unavailable(error.to_string());
        let wrong = |error: tonic::transport::Error| {
            unusable(InvalidEndpoint::new(address, format!("it must be an address: {}", with_causes(&error))))
        };
        self.check_address(address).map_err(unusable)?;
        let endpoint = Endpoint::from_shared(address.to_owned()).map_err(wrong)?;
        let endpoint = endpoint
            .connect_timeout(CONNECT_BOUND)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(KEEPALIVE_EVERY)
            .keep_alive_timeout(KEEPALIVE_BOUND)
            .keep_alive_while_idle(true);
        let endpoint = match self.tls.config(pem.as_ref()) {
            Some(tls) if is_secure(address) => endpoint.tls_config(tls).map_err(wrong)?,
            _ => endpoint,
        };
        Ok(OpenChannel { channel: endpoint.connect_lazy(), pem })
    }

    fn check_address(&self, address: &str) -> Result<(), InvalidEndpoint> {
        InvalidEndpoint::check(address)?;
        match &self.tls {
            TlsOrigin::None if is_secure(address) => {
                Err(InvalidEndpoint::new(address, "it must be http, unless the transport is made with TLS"))
            }
            _ => Ok(()),
        }
    }

    /// The address over which `endpoint` is reached.
    fn address<'a>(&'a self, endpoint: &'a str) -> &'a str {
        self.routes.get(endpoint).map_or(endpoint, String::as_str)
    }
}

impl TlsOrigin {
    /// The contents of the files now; `None` = there are none.
    fn read(&self) -> Result<Option<TlsPem>, Status> {
        match self {
            Self::Files(files) => files.read().map(Some),
            Self::None | Self::Given(_) => Ok(None),
        }
    }

    fn config(&self, pem: Option<&TlsPem>) -> Option<ClientTlsConfig> {
        match self {
            Self::None => None,
            Self::Given(config) => Some(config.clone()),
            Self::Files(_) => pem.map(TlsPem::config),
        }
    }
}

fn is_secure(address: &str) -> bool {
    address.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
}

#[async_trait]
impl Transport for GrpcTransport {
    /// Refuses what is no address, and "https://" without TLS.
    fn check(&self, endpoint: &str) -> Result<(), InvalidEndpoint> {
        self.check_address(self.address(endpoint))
    }

    async fn register(&self, endpoint: &str, request: v1::RegisterRequest) -> Result<CommandStream, Status> {
        Ok(Box::pin(self.client(endpoint)?.register(request).await?.into_inner()))
    }

    async fn heartbeat(
        &self,
        endpoint: &str,
        request: v1::HeartbeatRequest,
    ) -> Result<v1::HeartbeatResponse, Status> {
        Ok(self.client(endpoint)?.heartbeat(request).await?.into_inner())
    }

    /// Each kind of ack has a call of its own on the wire.
    async fn acknowledge(
        &self,
        endpoint: &str,
        caller: v1::Caller,
        acks: Acks,
    ) -> Result<Vec<v1::AckResult>, Status> {
        let (mut client, caller) = (self.client(endpoint)?, Some(caller));
        Ok(match acks {
            Acks::Ready(partitions) => {
                let request = v1::PartitionReadyRequest { caller, partitions };
                client.partition_ready(request).await?.into_inner().results
            }
            Acks::WarmFailed(partitions) => {
                let request = v1::WarmFailedRequest { caller, partitions };
                client.warm_failed(request).await?.into_inner().results
            }
            Acks::Rested(partitions) => {
                let request = v1::PartitionRestedRequest { caller, partitions };
                client.partition_rested(request).await?.into_inner().results
            }
            Acks::Drained(partitions) => {
                let request = v1::PartitionDrainedRequest { caller, partitions };
                client.partition_drained(request).await?.into_inner().results
            }
            Acks::CaughtUp(partitions) => {
                let request = v1::PartitionCaughtUpRequest { caller, partitions };
                client.partition_caught_up(request).await?.into_inner().results
            }
            Acks::Taken(partitions) => {
                let request = v1::PartitionTakenRequest { caller, partitions };
                client.partition_taken(request).await?.into_inner().results
            }
            Acks::Released(partitions) => {
                let request = v1::PartitionReleasedRequest { caller, partitions };
                client.partition_released(request).await?.into_inner().results
            }
        })
    }

    async fn deregister(
        &self,
        endpoint: &str,
        request: v1::DeregisterRequest,
    ) -> Result<v1::DeregisterResponse, Status> {
        Ok(self.client(endpoint)?.deregister(request).await?.into_inner())
    }
}
