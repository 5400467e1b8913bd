//! One world: a store, instances on faulty links, consumers and routers on a faulty network, clients who ask them, and
//! somebody who watches.

mod clients;
mod consumers;
mod instances;
mod minimal;
mod observer;
mod operator;
mod restored;
mod routers;
mod topics;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::key::{DEFAULT_PREFIX, Layout};
use kafka_assigner_core::state::GroupState;
use kafka_assigner_store::MemoryStore;
use kafka_assigner_store::faulty::Outage;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::desk::Desk;
use crate::floor::Floor;
use crate::history::History;
use crate::hole::Hole;
use crate::network::Network;
use crate::shape::Shape;
use clients::Clients;
pub(crate) use consumers::{DRAIN_TIMEOUT, Process};
pub(crate) use instances::{Deletion, LinkCounts, Slot};
pub(crate) use minimal::MinimalProcess;
pub(crate) use observer::{Caught, Observer, Trap};
pub(crate) use operator::Spoiled;
pub(crate) use routers::RouterProcess;
pub(crate) use topics::{Kafka, topic};

/// The one group of a world.
pub(crate) const GROUP: &str = "group";

/// Everything there is.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) shape: Shape,
    pub(crate) layout: Arc<Layout>,
    pub(crate) store: MemoryStore,
    pub(crate) history: History,
    pub(crate) network: Arc<Network>,
    pub(crate) floor: Floor,
    pub(crate) desk: Desk,
    pub(crate) kafka: Arc<Kafka>,
    pub(crate) observer: Observer,
    pub(crate) slots: Vec<Slot>,
    pub(crate) processes: BTreeMap<u32, Process>,
    pub(crate) routers: BTreeMap<u32, RouterProcess>,
    pub(crate) minimal: BTreeMap<u32, MinimalProcess>,
    pub(crate) clients: Clients,
    /// True while the group is to be deleted: nobody comes.
    pub(crate) is_closed: bool,
    /// The way in which the whole store is away, while it is.
    pub(crate) outage: Option<Outage>,
    counts: LinkCounts,
    hole: Option<Hole>,
    dice: StdRng,
    next_process: u32,
    next_name: u32,
    next_router: u32,
}

impl World {
    /// The world `seed`, before anything runs in it; `history` is its record.
    pub(crate) fn new(seed: u64, history: History, hole: Option<Hole>) -> Self {
        let mut shape = Shape::draw(seed);
        if let Some(focus @ [_, ..]) = hole.map(Hole::focus) {
            shape.faults = focus.to_vec();
        }
        let hole = hole.filter(|hole| hole.shows_in(&shape));
        let group = GROUP.parse().expect("a good name");
        let layout = Arc::new(Layout::new(DEFAULT_PREFIX, group));
        let mut dice = StdRng::seed_from_u64(seed ^ 0x5eed);
        let store = MemoryStore::new();
        Self {
            network: Network::new(dice.random(), shape.latency, history.clone(), hole),
            floor: Floor::new(history.clone(), hole),
            desk: Desk::new(dice.random(), history.clone(), hole),
            kafka: Arc::new(Kafka::new(&shape.topics, shape.has_topic_ids, hole)),
            observer: Observer::start(&store, &layout, &history),
            slots: (0..shape.instances).map(Slot::new).collect(),
            processes: BTreeMap::new(),
            routers: BTreeMap::new(),
            minimal: BTreeMap::new(),
            clients: Clients::new(dice.random(), history.clone()),
            is_closed: false,
            outage: None,
            counts: LinkCounts::default(),
            next_process: 0,
            next_name: 0,
            next_router: 0,
            shape,
            layout,
            store,
            history,
            hole,
            dice,
        }
    }

    /// Brings the group, its instances and its first consumers up.
    pub(crate) async fn begin(&mut self) {
        self.write_topics().await;
        for slot in 0..self.slots.len() {
            self.start_instance(slot).await;
        }
        for _ in 0..self.shape.consumers {
            self.join();
        }
    }

    /// A name that nobody had so far joins.
    pub(crate) fn join(&mut self) -> Arc<str> {
        let name: Arc<str> = format!("c{}", self.next_name).into();
        self.next_name += 1;
        self.spawn(&name);
        name
    }

    /// Reads the group as it truly is.
    pub(crate) fn read<R>(&self, reader: impl FnOnce(&GroupState) -> R) -> R {
        self.observer.read(reader)
    }

    /// Counters of what the links did so far.
    pub(crate) fn link_counts(&self) -> LinkCounts {
        let running = self.slots.iter().filter_map(|slot| slot.running.as_ref());
        running.fold(self.counts, |sum, running| sum.and(running.link.counts()))
    }

    /// Looks at every claim, and at who shares a name.
    pub(crate) fn patrol(&self) {
        let frozen = |number| self.processes.get(&number).is_some_and(|p: &Process| p.ice.is_frozen());
        self.floor.patrol(frozen);
        self.excuse_twins();
        self.excuse_stranded();
    }

    /// Forgives those who are cut off from single instances while the others are down: they reach nobody.
    fn excuse_stranded(&self) {
        let running = self.slots.iter().filter(|slot| slot.running.is_some());
        let endpoints: Vec<&str> = running.map(|slot| slot.endpoint.as_str()).collect();
        for member in self.network.stranded(&endpoints) {
            self.history.excuse(&member, Duration::ZERO);
            self.history.excuse_requests(Duration::ZERO);
        }
    }
}
