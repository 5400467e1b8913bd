//! The parts of a run, and the operations on it.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_audit::requests::{Requests, put_right, to_handle};
use kafka_assigner_audit::watcher::Observer;
use kafka_assigner_audit::{Audit, FinalState, Incident, Ledger, Micros};
use kafka_assigner_core::key::{DEFAULT_PREFIX, Layout};
use kafka_assigner_store::MemoryStore;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::millis;
use kafka_assigner_types::name::MemberName;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::consumers::{GROUP, Worker, now_micros};
use crate::error::Error;
use crate::instances::Fleet;
use crate::kafka::Kafka;
use crate::options::Options;
use crate::producer::Produced;
use crate::report::RunReport;
use crate::routing::{Answered, Routing};
use crate::screen::Screen;
use crate::screen_state::{KILLED, ScreenState};
use crate::workload::Workload;

/// Consumers at the start.
const CONSUMERS: usize = 3;

/// The longest time without progress after production ended: beyond it the last records won't be handled.
const STANDSTILL: Duration = Duration::from_secs(12);

/// The interval of the checks that they are handled.
const LOOK: Duration = Duration::from_millis(50);

/// An instance that was killed.
pub(crate) struct Killed {
    pub(crate) id: String,
    at: Micros,
    /// The partitions that were on the move.
    moving: usize,
}

/// A consumer that was killed.
pub(crate) struct KilledConsumer {
    name: MemberName,
    at: Instant,
}

/// The parts of a run.
pub(crate) struct World {
    options: Options,
    seed: u64,
    rng: StdRng,
    kafka: Arc<Kafka>,
    produced: Produced,
    /// In the mode routed.
    routing: Option<Routing>,
    pub(crate) observer: Observer,
    fleet: Fleet,
    workers: Vec<Worker>,
    names: usize,
    watching: JoinHandle<Result<(), kafka_assigner_store::Error>>,
    screen_state: ScreenState,
    incidents: Vec<Incident>,
    moving_at_leader_kills: usize,
}

impl World {
    pub(crate) async fn start(
        options: &Options,
        kafka: Arc<Kafka>,
        screen: Arc<Screen>,
        seed: u64,
    ) -> Result<Self, Error> {
        let store = MemoryStore::new();
        let group = GROUP.parse().expect("the demonstration's group has a valid name");
        let observer = Observer::new(Layout::new(DEFAULT_PREFIX, group));
        let watching = tokio::spawn(observer.clone().run(store.clone()));
        let fleet = Fleet::start(store, Arc::clone(&kafka.topics), options.mode, seed).await?;
        let produced = Produced::default();
        let routing = (options.mode == Mode::Routed).then(|| Routing::new(options, &kafka));
        let records = || Workload::Records(produced.clone());
        let load = routing.as_ref().map_or_else(records, |routing| Workload::Requests(routing.meter()));
        let screen_state = ScreenState::new(options.partitions, observer.clone(), load, screen);
        let mut world = Self {
            options: options.clone(),
            seed,
            rng: StdRng::seed_from_u64(seed),
            kafka,
            produced,
            routing,
            observer,
            fleet,
            workers: Vec::new(),
            names: 0,
            watching,
            screen_state,
            incidents: Vec::new(),
            moving_at_leader_kills: 0,
        };
        world.show_address();
        world.show_topic();
        for _ in 0..CONSUMERS {
            world.join()?;
        }
        Ok(world)
    }

    fn show_address(&self) {
        let address = self.fleet.addresses().first().cloned().unwrap_or_default();
        self.note("listening", format!("try: kafka-assigner consumers {GROUP} --server {address}"));
        self.screen_state.show_address(address);
    }

    /// Says what stays behind where the cluster is not our own.
    fn show_topic(&self) {
        if let Some(brokers) = &self.options.brokers {
            let topic = &self.kafka.topic;
            self.note(
                "topic",
                format!("topic and Kafka group {topic} at {brokers}; both stay there afterwards"),
            );
        }
    }

    pub(crate) fn note(&self, event: &'static str, text: String) {
        self.screen_state.note(event, text);
    }

    /// A new consumer joins.
    pub(crate) fn join(&mut self) -> Result<(), Error> {
        self.names += 1;
        let name = format!("worker-{}", self.names);
        let endpoints = self.fleet.addresses();
        let worker = Worker::start(&name, 1, endpoints, &self.kafka, self.options.mode)?;
        self.screen_state.add(Arc::clone(&worker.book));
        self.workers.push(worker);
        self.note("consumer_joined", format!("{name} joins"));
        Ok(())
    }

    fn pick(&mut self) -> usize {
        self.rng.random_range(0..self.workers.len())
    }

    /// Some consumer leaves in good order.
    pub(crate) async fn let_one_leave(&mut self) -> Result<(), Error> {
        let index = self.pick();
        let worker = self.workers.remove(index);
        let name = worker.name.clone();
        self.note("consumer_leaving", format!("{name} is asked to stop, and hands everything over first"));
        self.screen_state.mark(&worker.book, "leaving");
        worker.ask_to_leave();
        worker.left().await?;
        self.screen_state.mark_gone(&name);
        self.note("consumer_left", format!("{name} is gone"));
        Ok(())
    }

    /// Some consumer is killed; returns which.
    pub(crate) fn kill_a_consumer(&mut self) -> KilledConsumer {
        let index = self.pick();
        let worker = self.workers.remove(index);
        let name = worker.name.clone();
        let at = now_micros();
        if let Some(routing) = &mut self.routing {
            routing.harm(at);
        }
        let book = worker.kill();
        self.incidents.push(Incident::ConsumerKilled { process: book.process.clone(), at });
        self.screen_state.mark(&book, KILLED);
        self.note("consumer_killed", format!("{name} is killed"));
        KilledConsumer { name: name.parse().expect("it has joined under it"), at: Instant::now() }
    }

    /// True once an instance has seen the connection of a dead process end, and suspects it.
    pub(crate) fn is_suspected(&self, killed: &KilledConsumer) -> bool {
        let seen = self.observer.look();
        seen.state.registration(&killed.name).is_none_or(|session| session.suspected.is_some())
    }

    /// True once the session of a dead process is over.
    pub(crate) fn is_session_over(&self, killed: &KilledConsumer) -> bool {
        let seen = self.observer.look();
        seen.state.registration(&killed.name).is_none_or(|session| session.is_ending())
    }

    pub(crate) fn note_suspected(&self, killed: &KilledConsumer) {
        let (name, after) = (&killed.name, killed.at.elapsed().as_secs_f64());
        let text = format!("{name} seems to be dead after {after:.1}s: its connection has ended");
        self.note("consumer_suspected", text);
    }

    pub(crate) fn note_session_over(&self, killed: &KilledConsumer) {
        let (name, after) = (&killed.name, killed.at.elapsed().as_secs_f64());
        let timeout = Options::session_timeout(self.options.mode).as_secs();
        let text = format!("the session of {name} is over after {after:.1}s; its timeout is {timeout}s");
        self.note("consumer_over", text);
    }

    /// The leading instance is killed.
    pub(crate) fn kill_leader(&mut self) -> Option<Killed> {
        let leader = self.observer.look().leader()?;
        let (at, moving) = (now_micros(), self.moving());
        self.fleet.kill(&leader)?;
        self.moving_at_leader_kills += moving;
        self.note(
            "leader_killed",
            format!("{leader}, which leads, is killed while {moving} partitions move"),
        );
        Some(Killed { id: leader, at, moving })
    }

    pub(crate) fn note_leader(&mut self, killed: &Killed) {
        self.incidents.push(Incident::LeaderKilled { at: killed.at, led_again: now_micros() });
        let leader = self.observer.look().leader().unwrap_or_default();
        let moving = killed.moving;
        self.note("leader_elected", format!("{leader} leads, and goes on with the {moving} moves"));
        self.show_address();
    }

    /// An instance takes the place of the one that was killed.
    pub(crate) async fn replace_killed_instance(&mut self) -> Result<(), Error> {
        let id = self.fleet.replenish().await?;
        self.note("instance_started", format!("{id} starts"));
        Ok(())
    }

    /// The number of partitions that are on the move.
    pub(crate) fn moving(&self) -> usize {
        let seen = self.observer.look();
        let state = &seen.state;
        let is_under_way =
            |at: &&TopicPartition| state.handoff_of(at).is_some_and(|handoff| handoff.phase.is_in_flight());
        state.assignments().keys().filter(is_under_way).count()
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.observer.look().is_settled(self.workers.len(), self.options.partitions)
    }

    pub(crate) fn note_settled(&mut self) {
        if let Some(routing) = &mut self.routing {
            routing.calm();
        }
        let owned = self.observer.look().owned();
        let shares: Vec<String> = owned.iter().map(|(name, count)| format!("{name} {count}")).collect();
        self.note("settled", format!("settled: {}", shares.join(", ")));
    }

    /// Lets requests in, in the mode routed; false in the others, where records come without.
    pub(crate) async fn let_requests_in(&mut self) -> Result<bool, Error> {
        let (endpoints, topic) = (self.fleet.addresses(), self.kafka.topic.clone());
        let Some(routing) = &mut self.routing else { return Ok(false) };
        routing.open(&endpoints, &topic).await?;
        self.note("routers_joined", "routers join, and requests come in".into());
        Ok(true)
    }

    /// Waits until every produced record was handled and every owner has caught up, for as long as records are handled.
    pub(crate) async fn handle_the_rest(&self) {
        let finished = async {
            let produced = self.produced.records(&self.kafka.topic);
            self.wait_for_ids(produced.values().flatten().map(|record| record.id).collect()).await;
            // The last owner of a partition may still be on its way there, though another handled its records.
            let mut ledger = Ledger { produced, ..Ledger::default() };
            while !self.is_settled() || ledger.audit().state_mismatches > 0 {
                sleep(LOOK).await;
                ledger.states = self.states();
            }
        };
        let mut finished = pin!(finished);
        loop {
            let before = self.handled_count();
            let waited = timeout(STANDSTILL, &mut finished).await;
            // A record that is missing after a standstill is lost, and counted so.
            if waited.is_ok() || self.handled_count() == before {
                return;
            }
        }
    }

    fn handled_count(&self) -> usize {
        self.screen_state.books().iter().map(|book| book.count()).sum()
    }

    async fn wait_for_ids(&self, mut missing: BTreeSet<u64>) {
        let books = self.screen_state.books();
        let mut seen = vec![0; books.len()];
        while !missing.is_empty() {
            for (book, seen) in books.iter().zip(&mut seen) {
                let ids = book.ids_since(*seen);
                *seen += ids.len();
                missing = &missing - &ids.into_iter().collect();
            }
            sleep(LOOK).await;
        }
    }

    fn states(&self) -> Vec<FinalState> {
        self.workers.iter().flat_map(|worker| worker.book.states()).collect()
    }

    pub(crate) fn screen_state(&self) -> ScreenState {
        self.screen_state.clone()
    }

    pub(crate) const fn kafka(&self) -> &Arc<Kafka> {
        &self.kafka
    }

    pub(crate) const fn produced(&self) -> &Produced {
        &self.produced
    }

    /// Holds what was produced, or acknowledged, against what consumers have written down.
    fn add_up(&mut self, answered: Option<Answered>) -> (Audit, Option<Requests>) {
        let topic = &self.kafka.topic;
        let mut ledger = Ledger {
            handled: self.screen_state.books().iter().flat_map(|book| book.handled()).collect(),
            incidents: std::mem::take(&mut self.incidents),
            ..Ledger::default()
        };
        let Some(Answered { asked, log, crashes }) = answered else {
            (ledger.produced, ledger.states) = (self.produced.records(topic), self.states());
            return (ledger.audit(), None);
        };
        ledger.produced = to_handle(&asked, &log, topic).expect("the log has the partitions of a topic");
        let mut audit = ledger.audit();
        let requests = put_right(&mut audit, &asked, &log, &crashes);
        (audit, Some(requests))
    }

    /// Ends everything, and adds it up.
    pub(crate) async fn end(mut self) -> Result<RunReport, Error> {
        let answered = match self.routing.take() {
            Some(routing) => Some(routing.end(&self.kafka, self.options.partitions).await?),
            None => None,
        };
        let (audit, requests) = self.add_up(answered);
        let (completed, cancelled, leader_changes) = {
            let seen = self.observer.look();
            (seen.completed(), seen.cancelled(), seen.leader_changes())
        };
        stop_all(self.workers).await?;
        self.fleet.stop().await;
        self.watching.abort();
        let events = self.screen_state.events();
        Ok(RunReport {
            mode: self.options.mode.to_string(),
            audit,
            requests,
            handoffs_completed: completed,
            handoffs_cancelled: cancelled,
            leader_changes,
            moving_at_leader_kills: self.moving_at_leader_kills,
            record_interval_ms: millis(self.options.record_interval()),
            session_timeout_ms: millis(Options::session_timeout(self.options.mode)),
            seed: self.seed,
            events,
        })
    }
}

/// Asks the last consumers to leave. Nobody is left to take what they own, so that is not waited for.
async fn stop_all(workers: Vec<Worker>) -> Result<(), Error> {
    for worker in workers {
        if worker.is_over() {
            worker.left().await?;
        } else {
            drop(worker.kill());
        }
    }
    Ok(())
}
