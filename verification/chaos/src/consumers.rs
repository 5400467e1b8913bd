//! The consumers: processes of this very program.

use std::collections::BTreeMap;
use std::env;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use kafka_assigner_rig::clock::Moment;
use kafka_assigner_rig::instances::urls;
use kafka_assigner_rig::{NamedProcess, consumers};
use kafka_assigner_types::mode::Mode;

use crate::arguments::Settings;
use crate::instances::server;
use crate::network::Network;

/// The group, here and in Kafka.
pub(crate) const GROUP: &str = "chaos";

/// The time for which a dead consumer keeps its partitions.
pub(crate) const SESSION_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest time for a leaving consumer to hand over.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_secs(8);

/// Fewer are never left to be disturbed: somebody must be there to take over.
const FEWEST_OTHERS: usize = 2;

/// All consumers of the run.
#[derive(Debug)]
pub(crate) struct Crew {
    settings: Settings,
    network: Arc<Network>,
    sink: SocketAddr,
    instances: Vec<SocketAddr>,
    shared: Mutex<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Those with whom nothing is done just now, by name.
    idle: BTreeMap<String, Worker>,
    joined: usize,
    lives: Vec<Life>,
}

/// One consumer process, running or not.
#[derive(Debug, Clone)]
pub(crate) struct Life {
    /// The name by which it calls itself.
    pub(crate) process: String,
    /// The file to which it wrote its history.
    pub(crate) history: PathBuf,
    /// The time at which it was killed, or had left.
    pub(crate) died: Option<Moment>,
}

/// A running consumer.
#[derive(Debug)]
pub(crate) struct Worker {
    /// Its name in the group.
    pub(crate) name: String,
    /// The how manieth process of that name it is.
    life: usize,
    /// The process.
    pub(crate) process: NamedProcess,
}

impl Worker {
    /// The name by which the process calls itself.
    pub(crate) fn id(&self) -> &str {
        self.process.name()
    }
}

impl Crew {
    /// Nobody yet. The consumers will write to `sink` and call the instances that listen at these addresses.
    pub(crate) fn new(
        settings: &Settings,
        network: Arc<Network>,
        sink: SocketAddr,
        instances: Vec<SocketAddr>,
    ) -> Self {
        Self { settings: settings.clone(), network, sink, instances, shared: Mutex::default() }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new one joins; returns its name.
    pub(crate) async fn join(&self) -> Result<String> {
        let name = {
            let mut shared = self.shared();
            shared.joined += 1;
            format!("worker-{}", shared.joined)
        };
        let worker = self.start(&name, 1).await?;
        self.put(worker);
        Ok(name)
    }

    async fn start(&self, name: &str, life: usize) -> Result<Worker> {
        let process = format!("{name}.{life}");
        let history = self.settings.folder.join(format!("{process}.jsonl"));
        let mut command = Command::new(env::current_exe()?);
        if self.settings.mode == Mode::Routed {
            command.args(["writer", "--name", name]);
        } else {
            command.args(["consumer", "--name", name, "--process", &process]);
            command.args(["--sink", &self.sink.to_string()]);
        }
        command.args(["--endpoints", &urls(&self.instances), "--links", &urls(&self.links(name).await?)]);
        command.args(["--brokers", &self.settings.kafka]);
        command.arg("--history").arg(&history);
        let log = self.settings.folder.join(format!("{process}.log"));
        let started = NamedProcess::start(&process, command, log)?;
        self.shared().lives.push(Life { process, history, died: None });
        Ok(Worker { name: name.to_owned(), life, process: started })
    }

    async fn links(&self, name: &str) -> Result<Vec<SocketAddr>> {
        let mut links = Vec::new();
        for (place, at) in self.instances.iter().enumerate() {
            links.push(self.network.way(name, &server(place), *at).await?);
        }
        Ok(links)
    }

    /// One of those with whom nothing is done, so that something can be; `None` where too few are left.
    pub(crate) fn take(&self, choice: usize) -> Option<Worker> {
        let mut shared = self.shared();
        if shared.idle.len() <= FEWEST_OTHERS {
            return None;
        }
        let name = shared.idle.keys().nth(choice % shared.idle.len())?.clone();
        shared.idle.remove(&name)
    }

    /// Nothing is done with it any more.
    pub(crate) fn put(&self, worker: Worker) {
        self.shared().idle.insert(worker.name.clone(), worker);
    }

    /// Kills one; its name and life are what is left of it.
    pub(crate) fn kill(&self, worker: Worker) -> (String, usize) {
        let Worker { name, life, process } = worker;
        let id = process.name().to_owned();
        drop(process);
        self.note_end(&id);
        (name, life)
    }

    fn note_end(&self, process: &str) {
        let mut shared = self.shared();
        let dead = shared.lives.iter_mut().find(|dead| dead.process == process);
        dead.expect("every process was noted when it was started").died = Some(Moment::now());
    }

    /// Starts a killed one again, under its name.
    pub(crate) async fn revive(&self, (name, life): (String, usize)) -> Result<()> {
        let worker = self.start(&name, life + 1).await?;
        self.put(worker);
        Ok(())
    }

    /// Asks one to leave, and waits until it has; returns how it ended where that was not in good order.
    pub(crate) async fn leave(&self, mut worker: Worker) -> Result<Option<String>> {
        let status = consumers::leave(&mut worker.process).await?;
        self.network.forget(&worker.name);
        self.note_end(worker.id());
        Ok((!status.success()).then(|| format!("{} left with {status}", worker.id())))
    }

    /// The names of those with whom nothing is done.
    pub(crate) fn names(&self) -> Vec<String> {
        self.shared().idle.keys().cloned().collect()
    }

    /// Those that ended although nobody ended them, with how.
    pub(crate) fn deaths(&self) -> Result<Vec<String>> {
        let mut shared = self.shared();
        shared.idle.values_mut().filter_map(|worker| worker.process.death().transpose()).collect()
    }

    /// Kills all that are left, and returns every process that there was.
    pub(crate) fn end(&self) -> Vec<Life> {
        let left = std::mem::take(&mut self.shared().idle);
        left.into_values().for_each(|worker| drop(self.kill(worker)));
        self.shared().lives.clone()
    }
}
