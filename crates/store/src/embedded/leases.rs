//! Leases and their deadlines.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_types::kv::{Lease, LeaseId};
use tokio::time::Instant;

use crate::error::Error;

/// The shortest time to live; what is asked below it is rounded up. The timers of the runtime are no finer.
pub const SHORTEST_TTL: Duration = Duration::from_millis(1);

/// The longest time to live; longer ones are cut. A deadline beyond it could overflow the clock.
pub const LONGEST_TTL: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

#[derive(Debug)]
struct Held {
    ttl: Duration,
    deadline: Instant,
    keys: BTreeSet<Bytes>,
}

/// All leases that have not ended.
#[derive(Debug)]
pub(crate) struct LeaseTable {
    next: i64,
    held: BTreeMap<LeaseId, Held>,
    deadlines: BTreeSet<(Instant, LeaseId)>,
}

impl LeaseTable {
    /// No lease; the ids of new ones start at `next`.
    pub(crate) const fn starting_at(next: i64) -> Self {
        Self { next, held: BTreeMap::new(), deadlines: BTreeSet::new() }
    }

    /// The id that the next lease will get.
    pub(crate) const fn next_id(&self) -> i64 {
        self.next
    }

    /// Grants a lease with a new id.
    pub(crate) fn grant(&mut self, ttl: Duration, now: Instant) -> Lease {
        let lease = Lease { id: LeaseId(self.next), ttl: ttl.clamp(SHORTEST_TTL, LONGEST_TTL) };
        self.next += 1;
        self.insert(lease, now);
        lease
    }

    /// Brings back a lease from before a restart, with its whole time to live.
    pub(crate) fn insert(&mut self, lease: Lease, now: Instant) {
        let deadline = now + lease.ttl;
        self.held.insert(lease.id, Held { ttl: lease.ttl, deadline, keys: BTreeSet::new() });
        self.deadlines.insert((deadline, lease.id));
    }

    /// Starts the time to live afresh.
    pub(crate) fn keep_alive(&mut self, id: LeaseId, now: Instant) -> Result<Duration, Error> {
        let held = self.held.get_mut(&id).ok_or(Error::LeaseNotFound(id))?;
        self.deadlines.remove(&(held.deadline, id));
        held.deadline = now + held.ttl;
        self.deadlines.insert((held.deadline, id));
        Ok(held.ttl)
    }

    /// The remaining time of a lease.
    pub(crate) fn remaining(&self, id: LeaseId, now: Instant) -> Option<Duration> {
        self.held.get(&id).map(|held| held.deadline.saturating_duration_since(now))
    }

    /// All leases, by their ids.
    pub(crate) fn all(&self) -> impl Iterator<Item = Lease> + '_ {
        self.held.iter().map(|(id, held)| Lease { id: *id, ttl: held.ttl })
    }

    /// Returns true if the lease exists.
    pub(crate) fn contains(&self, id: LeaseId) -> bool {
        self.held.contains_key(&id)
    }

    /// Hangs a key on a lease; [`LeaseId::NONE`] and ended leases are ignored.
    pub(crate) fn attach(&mut self, key: &Bytes, id: LeaseId) {
        if let Some(held) = self.held.get_mut(&id) {
            held.keys.insert(key.clone());
        }
    }

    /// Takes a key off a lease.
    pub(crate) fn detach(&mut self, key: &Bytes, id: LeaseId) {
        if let Some(held) = self.held.get_mut(&id) {
            held.keys.remove(key);
        }
    }

    /// Ends a lease and hands out its keys; `None` when it had ended before.
    pub(crate) fn end(&mut self, id: LeaseId) -> Option<BTreeSet<Bytes>> {
        let held = self.held.remove(&id)?;
        self.deadlines.remove(&(held.deadline, id));
        Some(held.keys)
    }

    /// The earliest lease whose time is over.
    pub(crate) fn due(&self, now: Instant) -> Option<LeaseId> {
        let (deadline, id) = self.deadlines.first()?;
        (*deadline <= now).then_some(*id)
    }

    /// The moment at which the next lease expires, unless it is kept alive.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }
}
