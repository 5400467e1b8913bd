//! The instances of a world.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kafka_assigner_core::lint::Violation;
use kafka_assigner_proto::v1::{DeleteGroupRequest, GroupConfig, SetGroupConfigRequest};
use kafka_assigner_server::grpc::{Consumers, Routers};
use kafka_assigner_server::{
    Access, AdminService, ConsumerService, Instance, Options, RouterService, ViolationListener, WallClock,
};
use kafka_assigner_store::faulty::{Counts, FaultyStore, Outage, Rates};
use kafka_assigner_strategies::Registry;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::{WallMillis, millis};
use prometheus_client::registry::Registry as Metrics;
use rand::RngExt as _;
use tokio::time::{Instant, sleep};
use tonic::Code;

use super::{GROUP, World};
use crate::history::What;
use crate::hole::{Hole, Spendthrift};
use crate::store::Recorder;

/// The time at which worlds begin, by their wall clocks.
pub(super) const EPOCH_MS: u64 = 1_700_000_000_000;

/// The number of tries to start an instance before whoever starts it comes back later.
const START_ATTEMPTS: usize = 5;

/// An address with whatever instance runs there.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) endpoint: String,
    pub(crate) running: Option<Running>,
    /// The time by which its wall clock is ahead of the beginning of the world, in milliseconds.
    ahead_ms: Arc<AtomicU64>,
    number: usize,
    generation: u32,
}

/// An instance that runs.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) id: Arc<str>,
    pub(crate) link: FaultyStore<Recorder>,
    instance: Instance,
}

/// The outcome of an operator's wish to delete the group, as far as the operator learns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deletion {
    /// It is deleted.
    Done,
    /// Nothing was done: somebody is there, or may act.
    Refused,
    /// Nobody knows.
    Unknown,
}

/// Counters of what all links did, as far as it is told.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LinkCounts {
    /// Carried out, and the caller never learned of it.
    pub(crate) applied_unknown: u64,
    /// Not carried out, and the caller never learned of it.
    pub(crate) lost_unknown: u64,
    /// Watches that ended early.
    pub(crate) watches_cut: u64,
}

impl LinkCounts {
    pub(crate) const fn and(self, link: Counts) -> Self {
        Self {
            applied_unknown: self.applied_unknown + link.answers_lost + link.applied_late,
            lost_unknown: self.lost_unknown + link.requests_lost,
            watches_cut: self.watches_cut + link.watches_cut,
        }
    }
}

impl Slot {
    pub(crate) fn new(number: usize) -> Self {
        let endpoint = format!("http://i{number}");
        Self { endpoint, running: None, ahead_ms: Arc::default(), number, generation: 0 }
    }

    /// Sets the wall clock of the machine.
    pub(crate) fn set_clock(&self, ahead: Duration) {
        self.ahead_ms.store(millis(ahead), Ordering::SeqCst);
    }
}

impl World {
    /// The link's everyday behaviour: it takes a moment.
    fn everyday() -> Rates {
        let (delay, watch_delay) = (Duration::from_millis(3), Duration::from_millis(10));
        Rates { delay, watch_delay, ..Rates::default() }
    }

    /// Starts an instance at a free slot; false where the store does not let it.
    pub(crate) async fn start_instance(&mut self, slot: usize) -> bool {
        if self.slots[slot].running.is_some() {
            return true;
        }
        self.slots[slot].generation += 1;
        let (number, generation) = (self.slots[slot].number, self.slots[slot].generation);
        let id: Arc<str> = format!("i{number}-{generation}").into();
        let link = self.link(&id);
        let Some(instance) = self.try_start(slot, &id, &link).await else { return false };
        let endpoint = self.slots[slot].endpoint.clone();
        let consumers = Consumers::new(ConsumerService::new(instance.clone()), Access::open(&instance));
        let routers = Routers::new(RouterService::new(instance.clone()), Access::open(&instance));
        self.network.open(&endpoint, consumers, routers);
        self.slots[slot].running = Some(Running { id, link, instance });
        true
    }

    fn link(&mut self, id: &Arc<str>) -> FaultyStore<Recorder> {
        let recorder = Recorder {
            inner: self.store.clone(),
            instance: Arc::clone(id),
            history: self.history.clone(),
            layout: Arc::clone(&self.layout),
            hole: self.hole,
        };
        let link = FaultyStore::new(recorder, self.dice.random());
        link.set_rates(Self::everyday());
        if let Some(outage) = self.outage {
            link.begin_outage(outage);
        }
        link
    }

    async fn try_start(&mut self, slot: usize, id: &str, link: &FaultyStore<Recorder>) -> Option<Instance> {
        for _ in 0..START_ATTEMPTS {
            let options = self.instance_options(slot, id);
            let (store, kafka) = (Arc::new(link.clone()), Arc::clone(&self.kafka));
            match Instance::start(store, options, Some(kafka), &mut Metrics::default()).await {
                Ok(instance) => return Some(instance),
                Err(_) => sleep(Duration::from_millis(200)).await,
            }
        }
        None
    }

    fn instance_options(&mut self, slot: usize, id: &str) -> Options {
        let (start, ahead) = (Instant::now() - self.history.now(), Arc::clone(&self.slots[slot].ahead_ms));
        let wall = move || {
            let since = millis(start.elapsed()) + ahead.load(Ordering::SeqCst);
            WallMillis(EPOCH_MS + since)
        };
        let (history, instance) = (self.history.clone(), Arc::<str>::from(id));
        let linted = move |violation: &Violation| {
            history.note(What::Linted { instance: Arc::clone(&instance), violation: violation.to_string() });
        };
        Options {
            leader_ttl: self.shape.leader_ttl,
            group_defaults: self.shape.config.clone(),
            topic_refresh: Duration::from_secs(2),
            view_patience: Duration::from_secs(2),
            clock_drift_ppm: self.shape.drift_of(self.slots[slot].number),
            wall: WallClock::new(wall),
            strategies: self.strategies(),
            on_violation: Some(ViolationListener::new(linted)),
            ..Options::new(id, self.slots[slot].endpoint.clone(), self.dice.random())
        }
    }

    fn strategies(&self) -> Registry {
        match self.hole {
            Some(Hole::LimitsOverlooked) => Registry::builtin().with(&Spendthrift),
            _ => Registry::builtin().clone(),
        }
    }

    /// Deletes the group as an operator does, by the instance at that slot.
    pub(crate) async fn delete_group(&self, slot: usize) -> Deletion {
        let Some(operators) = self.operators(slot) else { return Deletion::Refused };
        let request = DeleteGroupRequest { group: GROUP.to_owned(), owners_stopped: false };
        match operators.delete_group(request).await {
            Ok(_) => Deletion::Done,
            Err(refused) if refused.code() == Code::FailedPrecondition => Deletion::Refused,
            Err(_) => Deletion::Unknown,
        }
    }

    /// Makes the group in that mode as an operator does, by the instance at that slot; false where it is refused.
    pub(crate) async fn make_group(&self, slot: usize, mode: Mode) -> bool {
        let Some(operators) = self.operators(slot) else { return false };
        let config = GroupConfig { mode: Some(mode.to_string()), ..GroupConfig::default() };
        let request = SetGroupConfigRequest {
            group: GROUP.to_owned(),
            config: Some(config),
            ..SetGroupConfigRequest::default()
        };
        operators.set_group_config(request).await.is_ok()
    }

    fn operators(&self, slot: usize) -> Option<AdminService> {
        let running = self.slots[slot].running.as_ref()?;
        Some(AdminService::new(running.instance.clone()))
    }

    /// Ends an instance without a word: nothing it does from here on reaches anybody.
    pub(crate) fn kill_instance(&mut self, slot: usize) -> Option<Arc<str>> {
        let running = self.slots[slot].running.take()?;
        running.link.begin_outage(Outage::Silent);
        self.counts = self.counts.and(running.link.counts());
        self.network.close(&self.slots[slot].endpoint);
        tokio::spawn(async move { running.instance.stop(Duration::ZERO).await });
        Some(running.id)
    }

    /// Stops an instance in good order; its address is free at once.
    pub(crate) fn stop_instance(&mut self, slot: usize, patience: Duration) -> Option<Arc<str>> {
        let running = self.slots[slot].running.take()?;
        self.counts = self.counts.and(running.link.counts());
        let (network, endpoint) = (Arc::clone(&self.network), self.slots[slot].endpoint.clone());
        tokio::spawn(async move {
            running.instance.stop(patience).await;
            network.close(&endpoint);
        });
        Some(running.id)
    }

    /// The slots where an instance runs.
    pub(crate) fn running(&self) -> Vec<usize> {
        (0..self.slots.len()).filter(|slot| self.slots[*slot].running.is_some()).collect()
    }

    /// The slot of the instance that leads the group, as the store has it.
    pub(crate) fn leader(&self) -> Option<usize> {
        let id = self.read(|state| Some(state.leader()?.last_good()?.instance.clone()))?;
        self.slots.iter().position(|slot| slot.running.as_ref().is_some_and(|r| *r.id == *id))
    }

    /// Every link of a running instance.
    pub(crate) fn links(&self) -> impl Iterator<Item = &FaultyStore<Recorder>> {
        self.slots.iter().filter_map(|slot| Some(&slot.running.as_ref()?.link))
    }

    /// Lets a link lose what it may, or be as on other days.
    pub(crate) fn set_losses(&self, slot: usize, losses: Rates) {
        if let Some(running) = &self.slots[slot].running {
            let Rates { delay, watch_delay, .. } = Self::everyday();
            running.link.set_rates(Rates { delay, watch_delay, ..losses });
        }
    }
}
