//! The consumers of a world: each process runs the client library as it is.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kafka_assigner_client::{Consumer, ConsumerError, ConsumerHandle, ConsumerOptions, OnStop, Stopped};
use kafka_assigner_session::Clock;
use rand::RngExt as _;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{GROUP, World};
use crate::desk::address;
use crate::history::{What, Why};
use crate::hole::Hole;
use crate::ice::Ice;
use crate::network::Wire;
use crate::shift::Shift;
use crate::worker::{Temper, Worker};

/// The time for which a leaving consumer hands over before it leaves alone.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// The most partitions that a consumer takes where nobody asks for that; 0, elsewhere, is any number.
const FEW: u32 = 4;

/// One process.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) number: u32,
    pub(crate) consumer: Arc<str>,
    pub(crate) ice: Ice,
    pub(crate) temper: Arc<Temper>,
    pub(crate) on_stop: OnStop,
    /// True if it was told to stop.
    pub(crate) leaves: bool,
    handle: ConsumerHandle,
    shutdown: CancellationToken,
    task: JoinHandle<Result<Stopped, ConsumerError>>,
    frozen_at: Option<Instant>,
}

impl World {
    /// Starts a process for `consumer`, whoever else runs under that name.
    pub(crate) fn spawn(&mut self, consumer: &Arc<str>) -> u32 {
        self.next_process += 1;
        let number = self.next_process;
        let on_stop = if self.dice.random_bool(0.4) { OnStop::Restart } else { OnStop::Drain };
        let process = self.process(number, Arc::clone(consumer), on_stop);
        self.processes.insert(number, process);
        number
    }

    fn process(&mut self, number: u32, consumer: Arc<str>, on_stop: OnStop) -> Process {
        let (ice, temper) = (Ice::default(), Arc::new(Temper::new(self.dice.random())));
        let wire = self.wire(number, &consumer, &ice);
        self.desk.open(number, &consumer, &ice);
        let most = self.shape.drift_ppm;
        let clock = Clock::drifting(self.dice.random_range(-most..=most));
        let options = self.options(number, &consumer, on_stop);
        let client = Consumer::on_clock(options, wire, clock).expect("good options");
        let shift = (self.shape.routers > 0).then(|| Shift {
            process: number,
            consumer: Arc::clone(&consumer),
            ice: ice.clone(),
            temper: Arc::clone(&temper),
            history: self.history.clone(),
            hole: self.hole,
            loops: Mutex::default(),
        });
        let worker = Worker {
            shift,
            process: number,
            consumer: Arc::clone(&consumer),
            ice: ice.clone(),
            floor: self.floor.clone(),
            desk: self.desk.clone(),
            temper: Arc::clone(&temper),
            history: self.history.clone(),
        };
        let (handle, shutdown) = (client.handle(), CancellationToken::new());
        let task = tokio::spawn({
            let (ice, shutdown) = (ice.clone(), shutdown.clone());
            async move { ice.run(client.run_in_place(worker, shutdown)).await }
        });
        Process {
            number,
            consumer,
            ice,
            temper,
            on_stop,
            leaves: false,
            handle,
            shutdown,
            task,
            frozen_at: None,
        }
    }

    /// A process's way into the network.
    pub(super) fn wire(&self, process: u32, member: &Arc<str>, ice: &Ice) -> Wire {
        let (network, member) = (Arc::clone(&self.network), Arc::clone(member));
        Wire { network, process, member, ice: ice.clone() }
    }

    /// The addresses of all instances.
    pub(super) fn endpoints(&self) -> Vec<String> {
        self.slots.iter().map(|slot| slot.endpoint.clone()).collect()
    }

    fn options(&mut self, number: u32, consumer: &str, on_stop: OnStop) -> ConsumerOptions {
        let max_partitions = if self.hole == Some(Hole::LimitsOverlooked) { FEW } else { 0 };
        ConsumerOptions {
            max_partitions,
            endpoint: address(number),
            group: GROUP.to_owned(),
            topics: self.shape.topics.iter().map(|(topic, _)| (*topic).to_owned()).collect(),
            session_timeout: Some(self.shape.ttl()),
            on_stop,
            drain_timeout: DRAIN_TIMEOUT,
            close_timeout: Duration::from_secs(3),
            outage_grace: self.shape.ttl() * 2,
            seed: Some(self.dice.random()),
            ..ConsumerOptions::new(consumer, self.endpoints())
        }
    }

    /// Ends a process without a word.
    pub(crate) fn kill(&mut self, number: u32) -> Option<Arc<str>> {
        let process = self.processes.remove(&number)?;
        process.task.abort();
        self.desk.close(number);
        self.floor.vacate(number, Why::Killed);
        Some(process.consumer)
    }

    /// Tells a process to stop as its options say.
    pub(crate) fn shut_down(&mut self, number: u32) {
        if let Some(process) = self.processes.get_mut(&number) {
            process.leaves = true;
            if process.on_stop == OnStop::Restart {
                process.temper.leave_alone();
            }
            process.shutdown.cancel();
        }
    }

    /// From now on a process makes no step.
    pub(crate) fn freeze(&mut self, number: u32) {
        if let Some(process) = self.processes.get_mut(&number) {
            process.ice.freeze();
            process.frozen_at = Some(Instant::now());
        }
        self.patrol();
    }

    /// A frozen process goes on.
    pub(crate) fn thaw(&mut self, number: u32) {
        let ttl = self.shape.ttl();
        if let Some(process) = self.processes.get_mut(&number)
            && let Some(since) = process.frozen_at.take()
        {
            let (frozen, claims) = (since.elapsed(), process.handle.claim_is_valid());
            let consumer = Arc::clone(&process.consumer);
            process.ice.thaw();
            self.history.note(What::Thawed { consumer, frozen, ttl, claims });
        }
    }

    /// Forgets processes that have ended by themselves.
    pub(crate) fn bury(&mut self) {
        let ended = self.processes.iter().filter(|(_, process)| process.task.is_finished());
        let ended: Vec<u32> = ended.map(|(number, _)| *number).collect();
        for number in ended {
            // Partitions that were not given up in time are dropped with the process.
            self.desk.close(number);
            self.floor.vacate(number, Why::Killed);
            self.processes.remove(&number);
        }
    }

    /// Two processes under one name take it from each other, again and again, and in the strict modes each waits for
    /// the claim of the other.
    pub(super) fn excuse_twins(&self) {
        let consumers = self.processes.values().map(|process| &process.consumer);
        for twin in shared(consumers) {
            self.history.excuse(twin, Duration::ZERO);
        }
        for twin in shared(self.routers.values().map(|process| &process.name)) {
            self.history.excuse(twin, Duration::ZERO);
            self.history.excuse_requests(Duration::ZERO);
        }
    }

    /// The processes that are up, not frozen, and stay.
    pub(crate) fn staying(&self) -> Vec<u32> {
        let stays = |process: &Process| !process.leaves && !process.ice.is_frozen();
        self.processes.iter().filter(|(_, process)| stays(process)).map(|(number, _)| *number).collect()
    }

    /// The latest process that runs under `consumer`.
    pub(crate) fn process_of(&self, consumer: &str) -> Option<u32> {
        self.processes.iter().rev().find(|(_, p)| *p.consumer == *consumer).map(|(number, _)| *number)
    }
}

/// The names that come more than once. There are few of them, and this is asked at each look at the world.
fn shared<'a>(names: impl Iterator<Item = &'a Arc<str>> + Clone) -> impl Iterator<Item = &'a Arc<str>> {
    names
        .clone()
        .enumerate()
        .filter(move |(place, name)| names.clone().take(*place).any(|other| other == *name))
        .map(|(_, name)| name)
}
