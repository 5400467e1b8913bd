//! From a configuration to a running instance.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use kafka_assigner_kafka as kafka;
use kafka_assigner_server::serve::{self, Http, Listeners, ServeOptions, Tls};
use kafka_assigner_server::topics::TopicSource;
use kafka_assigner_server::{Instance, KafkaTopics, Options, Quotas};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::store::OpenedStore;
use super::{logging, secret_files};
use crate::command_error::CommandError;
use crate::config::ServeConfig;
use crate::pem::{certificates, private_key};

/// Runs an instance until SIGINT or SIGTERM, and then stops it in good order.
///
/// # Errors
/// [`CommandError`], for what keeps it from starting and for what ends it.
pub(super) async fn run(config: &ServeConfig) -> Result<(), CommandError> {
    logging::begin(&config.log_level, config.log_format);
    secret_files::warn_of_exposed(config);
    let shutdown = on_signal()?;
    let sockets = Sockets::bind(config).await?;
    let serving = ServeOptions {
        tls: tls(config)?,
        access_file: config.access_file.clone(),
        insecure: config.insecure,
    };
    let topics = topics(config)?;
    let store = OpenedStore::open(config).await?;
    let served = sockets.serve(&store, config, topics, serving, shutdown).await;
    store.close().await;
    served
}

/// A token that SIGINT or SIGTERM cancels.
fn on_signal() -> Result<CancellationToken, CommandError> {
    let mut interrupt = signal(SignalKind::interrupt()).map_err(CommandError::Signals)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(CommandError::Signals)?;
    let shutdown = CancellationToken::new();
    let cancelled = shutdown.clone();
    tokio::spawn(async move {
        tokio::select! {
            biased;
            // Ctrl-C.
            _ = interrupt.recv() => {}
            // The signal that supervisors send.
            _ = terminate.recv() => {}
        }
        cancelled.cancel();
    });
    Ok(shutdown)
}

/// The sockets of an instance, bound before anything else, so that a taken port changes nothing.
#[derive(Debug)]
struct Sockets {
    grpc: TcpListener,
    http: TcpListener,
    /// The address to which gRPC is bound; the port 0 in the configuration means any.
    address: SocketAddr,
}

impl Sockets {
    async fn bind(config: &ServeConfig) -> Result<Self, CommandError> {
        let (grpc, address) = bind("listen", config.listen).await?;
        let (http, probes) = bind("http_listen", config.http_listen).await?;
        tracing::info!(grpc = %address, http = %probes, "listening");
        Ok(Self { grpc, http, address })
    }

    /// Starts an instance on the store and serves it until `shutdown`.
    async fn serve(
        self,
        store: &OpenedStore,
        config: &ServeConfig,
        topics: Option<Arc<dyn TopicSource>>,
        serving: ServeOptions,
        shutdown: CancellationToken,
    ) -> Result<(), CommandError> {
        let mut registry = Registry::with_prefix("kafka_assigner");
        let options = options(config, self.address);
        tracing::info!(instance = options.id, address = options.address, "starting");
        let starting = Instance::start(store.handle(), options, topics, &mut registry);
        let (listener, probes) = two_handles(self.http).map_err(serve::Error::Http)?;
        let instance = tokio::select! {
            biased;
            // As soon as the store is there.
            started = starting => started?,
            // Nobody waits for it any more.
            () = shutdown.cancelled() => return Ok(()),
            // Answers until then.
            broken = serve::answer_probes(probes) => return Ok(broken.map_err(serve::Error::Http)?),
        };
        tracing::info!("started");
        let http = Http { listener, registry };
        let listeners = Listeners { grpc: self.grpc, http: Some(http) };
        tokio::select! {
            biased;
            // The instance has stopped, and with it the need to compact.
            served = serve::serve(instance, listeners, serving, shutdown) => Ok(served?),
            // Never ends by itself.
            never = store.compact(config) => match never {},
        }
    }
}

/// Two handles of one listener.
fn two_handles(listener: TcpListener) -> io::Result<(TcpListener, TcpListener)> {
    let first = listener.into_std()?;
    let second = first.try_clone()?;
    Ok((TcpListener::from_std(first)?, TcpListener::from_std(second)?))
}

async fn bind(setting: &'static str, address: SocketAddr) -> Result<(TcpListener, SocketAddr), CommandError> {
    let listen = async {
        let listener = TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        Ok((listener, bound))
    };
    listen.await.map_err(|source| CommandError::Listen { setting, address, source })
}

fn options(config: &ServeConfig, bound: SocketAddr) -> Options {
    let id = config.instance.as_ref().map_or_else(random_id, ToString::to_string);
    let scheme = if config.tls_cert.is_some() { "https" } else { "http" };
    let address =
        config.advertise.as_ref().map_or_else(|| format!("{scheme}://{bound}"), ToString::to_string);
    Options {
        prefix: config.prefix.to_string(),
        leader_ttl: config.leader_ttl,
        suspect_after: config.suspect_after,
        stream_patience: config.stream_patience,
        auto_create: config.auto_create,
        quotas: quotas(config),
        group_defaults: config.group_config(),
        ..Options::new(id, address, rand::random())
    }
}

fn quotas(config: &ServeConfig) -> Quotas {
    let size = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    Quotas {
        max_groups: size(config.max_groups),
        max_members: size(config.max_members),
        max_registration_bytes: size(config.max_registration_bytes),
        max_partitions: config.max_partitions.into(),
    }
}

/// Two instances of one store get the same one once in 2^32 pairs.
fn random_id() -> String {
    format!("instance-{:08x}", rand::random::<u32>())
}

fn tls(config: &ServeConfig) -> Result<Option<Tls>, CommandError> {
    let (Some(certificate), Some(key)) = (&config.tls_cert, &config.tls_key) else { return Ok(None) };
    let client_ca =
        config.tls_client_ca.as_deref().map(|path| certificates("tls_client_ca", path)).transpose()?;
    Ok(Some(Tls {
        certificate: certificates("tls_cert", certificate)?,
        key: private_key("tls_key", key)?,
        client_ca,
    }))
}

fn topics(config: &ServeConfig) -> Result<Option<Arc<dyn TopicSource>>, CommandError> {
    if config.kafka.is_empty() {
        return Ok(None);
    }
    secret_files::check_password("kafka_password_file", config.kafka_password_file.as_deref())?;
    let options = config.kafka_options();
    let sends_password_in_clear = options.tls.is_none()
        && options.login.as_ref().is_some_and(|login| login.mechanism == kafka::Mechanism::Plain);
    if sends_password_in_clear {
        tracing::warn!("kafka_sasl_mechanism is PLAIN without kafka_tls: the password is sent in the clear");
    }
    let topics = KafkaTopics::new(&options).map_err(CommandError::Kafka)?;
    Ok(Some(Arc::new(topics)))
}
