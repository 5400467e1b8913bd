//! The instances of a run: the same code as `serve`, each in a process of its own, all on one embedded store.

use std::io;
use std::sync::Arc;

use kafka_assigner_core::record::GroupConfig;
use kafka_assigner_server::serve::{Listeners, ServeOptions, serve};
use kafka_assigner_server::topics::TopicSource;
use kafka_assigner_server::{Instance, Options as InstanceOptions};
use kafka_assigner_store::MemoryStore;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::millis;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::options::Options;
use crate::process::Process;

/// The number of instances.
const INSTANCES: usize = 2;

/// The reasons for which an instance did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstanceFailure {
    #[error("no runtime or no socket for an instance")]
    Io(#[from] io::Error),
    #[error("an instance can't use the store")]
    Store(#[from] kafka_assigner_store::Error),
    #[error("an instance ended while it started")]
    Ended,
}

/// The running instances.
#[derive(Debug)]
pub(crate) struct Fleet {
    store: MemoryStore,
    topics: Arc<dyn TopicSource>,
    mode: Mode,
    seed: u64,
    started: usize,
    running: Vec<RunningInstance>,
}

#[derive(Debug)]
struct RunningInstance {
    id: String,
    address: String,
    process: Process,
    served: JoinHandle<()>,
}

impl Fleet {
    pub(crate) async fn start(
        store: MemoryStore,
        topics: Arc<dyn TopicSource>,
        mode: Mode,
        seed: u64,
    ) -> Result<Self, InstanceFailure> {
        let mut fleet = Self { store, topics, mode, seed, started: 0, running: Vec::new() };
        for _ in 0..INSTANCES {
            fleet.start_one().await?;
        }
        Ok(fleet)
    }

    async fn start_one(&mut self) -> Result<String, InstanceFailure> {
        self.started += 1;
        let id = format!("instance-{}", self.started);
        let process = Process::new(&id)?;
        let topics = Arc::clone(&self.topics);
        let store = Arc::new(self.store.clone());
        let seed = self.seed.wrapping_add(self.started as u64);
        let (name, mode) = (id.clone(), self.mode);
        let starting = process.spawn(|shutdown| async move {
            let grpc = TcpListener::bind("127.0.0.1:0").await?;
            let address = format!("http://{}", grpc.local_addr()?);
            let options = options(&name, &address, mode, seed);
            let instance = Instance::start(store, options, Some(topics), &mut Registry::default()).await?;
            Ok::<_, InstanceFailure>((address, tokio::spawn(run(instance, grpc, shutdown))))
        });
        let (address, served) = starting.await.map_err(|_| InstanceFailure::Ended)??;
        self.running.push(RunningInstance { id: id.clone(), address, process, served });
        Ok(id)
    }

    /// The addresses of the running instances.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.running.iter().map(|running| running.address.clone()).collect()
    }

    /// Kills the instance `id`.
    pub(crate) fn kill(&mut self, id: &str) -> Option<()> {
        let position = self.running.iter().position(|running| running.id == id)?;
        self.running.remove(position).process.kill();
        Some(())
    }

    /// Starts another instance in place of one that was killed.
    pub(crate) async fn replenish(&mut self) -> Result<String, InstanceFailure> {
        self.start_one().await
    }

    /// Stops all of them in good order.
    pub(crate) async fn stop(self) {
        for running in &self.running {
            running.process.ask_to_end();
        }
        for running in self.running {
            // One that panicked has said so, and is over too.
            let _ended = running.served.await;
        }
    }
}

fn options(id: &str, address: &str, mode: Mode, seed: u64) -> InstanceOptions {
    let session_timeout_ms = millis(Options::session_timeout(mode));
    InstanceOptions {
        leader_ttl: Options::LEADER_TTL,
        group_defaults: GroupConfig { session_timeout_ms, mode, ..GroupConfig::default() },
        ..InstanceOptions::new(id, address, seed)
    }
}

async fn run(instance: Instance, grpc: TcpListener, shutdown: CancellationToken) {
    if let Err(error) =
        serve(instance, Listeners { grpc, http: None }, ServeOptions::default(), shutdown).await
    {
        tracing::error!(%error, "an instance of the demonstration ended");
    }
}
