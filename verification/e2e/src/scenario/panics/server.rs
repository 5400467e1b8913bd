//! An instance with a strategy of a user that panics.

use std::sync::Arc;

use anyhow::Result;
use kafka_assigner_kafka as kafka;
use kafka_assigner_server::serve::{self, Http, Listeners, ServeOptions};
use kafka_assigner_server::{Instance, KafkaTopics, Options};
use kafka_assigner_store::{EtcdOptions, EtcdStore};
use kafka_assigner_strategies::{Placement, Problem, Registry, Strategy};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::scenario::settings::ServerSettings;

/// The name of the strategy.
pub(crate) const PANICKING: &str = "panicking";

/// A strategy that panics.
#[derive(Debug)]
struct PanickingStrategy;

impl Strategy for PanickingStrategy {
    fn name(&self) -> &'static str {
        PANICKING
    }

    fn summary(&self) -> &'static str {
        "panics"
    }

    fn assign(&self, problem: &Problem) -> Placement {
        panic!("{} units are too many", problem.units());
    }
}

/// Serves until SIGTERM.
pub(crate) async fn serve(settings: ServerSettings) -> Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let grpc = TcpListener::bind(settings.listen).await?;
    let http = TcpListener::bind(settings.http_listen).await?;
    tracing::info!(grpc = %grpc.local_addr()?, http = %http.local_addr()?, "listening");
    let options = Options {
        strategies: Registry::builtin().with(&PanickingStrategy),
        ..Options::new(settings.instance, format!("http://{}", settings.listen), 0)
    };
    let store = Arc::new(EtcdStore::new(&EtcdOptions::new([settings.etcd]))?);
    let topics = Arc::new(KafkaTopics::new(&kafka::Options::new(vec![settings.kafka.parse()?]))?);
    let mut registry = prometheus_client::registry::Registry::with_prefix("kafka_assigner");
    let instance = Instance::start(store, options, Some(topics), &mut registry).await?;
    let listeners = Listeners { grpc, http: Some(Http { listener: http, registry }) };
    Ok(serve::serve(instance, listeners, ServeOptions::default(), on_sigterm()?).await?)
}

fn on_sigterm() -> Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate())?;
    let shutdown = CancellationToken::new();
    let cancelled = shutdown.clone();
    tokio::spawn(async move {
        terminate.recv().await;
        cancelled.cancel();
    });
    Ok(shutdown)
}
