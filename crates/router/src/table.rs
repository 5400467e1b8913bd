//! The routing table that the whole process reads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use kafka_assigner_session::Clock;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::{Moment, micros};

use crate::lanes::Unsent;
use crate::route::PartitionRoute;
use crate::route_map::RouteMap;
use kafka_assigner_types::key::KeyHash;

/// The routes of all partitions, kept up to date by the router; cheap to clone.
///
/// It fails closed: lookups fail before the router has a session and its table, and when the session has not been
/// confirmed for two thirds of its time to live.
#[derive(Debug, Clone)]
pub struct RoutingTable(Arc<SharedTable>);

#[derive(Debug)]
struct SharedTable {
    routes: RwLock<RouteMap>,
    clock: Clock,
    /// Microseconds after the start of the clock; 0 = closed.
    open_until: AtomicU64,
}

impl Default for RoutingTable {
    fn default() -> Self {
        Self::new()
    }
}

impl RoutingTable {
    /// A table that is closed until a router fills it.
    #[must_use]
    pub fn new() -> Self {
        Self::on_clock(Clock::start())
    }

    /// A table that is closed until a router fills it; the router tells the time by `clock`.
    #[must_use]
    pub fn on_clock(clock: Clock) -> Self {
        let routes = RwLock::default();
        Self(Arc::new(SharedTable { routes, clock, open_until: AtomicU64::new(0) }))
    }

    /// The route of a partition now: one lookup in a hash table, one reading of the clock.
    ///
    /// It may change before the caller acts on it, so a request sent by it alone can meet an owner that gives the
    /// partition up and refuses. A caller that must not send after a stop counts its requests where
    /// [`Cutover`](crate::Cutover) calls come in.
    ///
    /// # Errors
    ///
    /// [`Unsent::Closed`] while the table is closed, [`Unsent::NoPartition`] for one that the group does not have.
    pub fn lookup(&self, at: &TopicPartition) -> Result<PartitionRoute, Unsent> {
        let is_confirmed = self.is_confirmed();
        let routes = self.0.routes.read().unwrap_or_else(PoisonError::into_inner);
        if !is_confirmed || !routes.is_open() {
            return Err(Unsent::Closed);
        }
        routes.get(at).cloned().ok_or(Unsent::NoPartition)
    }

    /// The partition of `topic` that producers with this hash give to records with this key. `None` while the table is closed
    /// and for a topic that the group does not have.
    #[must_use]
    pub fn partition_of(&self, topic: &str, key: &[u8], hash: KeyHash) -> Option<TopicPartition> {
        let routes = self.0.routes.read().unwrap_or_else(PoisonError::into_inner);
        let (name, size) = routes.topic(topic).filter(|_| self.is_confirmed() && routes.is_open())?;
        Some(TopicPartition::new(name.clone(), hash.partition(key, size)))
    }

    /// Returns true if lookups can succeed now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.is_confirmed() && self.0.routes.read().unwrap_or_else(PoisonError::into_inner).is_open()
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut RouteMap) -> R) -> R {
        change(&mut self.0.routes.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Moves the end of the session's claim; `None` closes the table at once.
    pub(crate) fn claim(&self, until: Option<Moment>) {
        self.0.open_until.store(until.map_or(0, |until| micros(until.0)), Ordering::SeqCst);
    }

    pub(crate) fn open_until(&self) -> Option<Moment> {
        let micros = self.0.open_until.load(Ordering::SeqCst);
        (micros > 0).then(|| Moment(Duration::from_micros(micros)))
    }

    fn is_confirmed(&self) -> bool {
        self.open_until().is_some_and(|until| self.0.clock.now() < until)
    }
}
