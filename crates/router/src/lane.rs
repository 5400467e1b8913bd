//! The requests for one partition, in their order.
//!
//! ```text
//!              switch                     the first one was admitted,
//!  Stashing ─────────────► Flushing ────────────────────────────────► Open
//!      ▲ ▲                    │  ▲              all is sent             │ │
//!      │ └──────── stop ──────┘  └──────────── refused ────────────────┘ │
//!      └────────────────────────── stop ─────────────────────────────────┘
//! ```
//!
//! - *Stashing*: nothing goes out. Requests in flight may still be answered or refused.
//! - *Flushing*: one request at a time, the oldest first, until the owner has admitted one; requests in
//!   flight to the owner before have to be answered first. So an owner that has not received its grant yet, or one that
//!   is gone, gets a single request at a time, and no two owners ever have requests of the partition at once.
//! - *Open*: as many as the window lets at once, started in order.
//!
//! A request keeps its place by its number: one that is refused goes back before all that came later.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kafka_assigner_types::moment::Moment;

use crate::route::RouteTarget;

/// The first wait after a refusal: an owner receives its grant at about the same time as its routers the new
/// route. The longest wait bounds the delay that a late owner causes once it is ready.
const FIRST_WAIT: Duration = Duration::from_millis(5);
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// Numbers requests in the order of their arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct RequestId(pub(crate) u64);

/// The requests for one partition.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    target: Option<RouteTarget>,
    is_open: bool,
    /// Counts targets, so that an answer of one is not taken for an answer of another.
    target_number: u64,
    /// The target has admitted a request.
    is_proven: bool,
    queue: BTreeSet<RequestId>,
    /// With the number of the target that they were sent to.
    in_flight: BTreeMap<RequestId, u64>,
    refusals: u32,
    retry_at: Option<Moment>,
    /// The lane is in the queue of lanes that may have something to send.
    pub(crate) is_queued: bool,
}

impl Lane {
    /// The number of requests, those in flight included.
    pub(crate) fn len(&self) -> usize {
        self.queue.len() + self.in_flight.len()
    }

    /// Returns true if no request is in flight.
    pub(crate) fn is_drained(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// From now on nothing goes out.
    pub(crate) const fn stop(&mut self) {
        self.is_open = false;
        self.is_proven = false;
    }

    /// From now on requests go to `target`.
    pub(crate) fn switch(&mut self, target: RouteTarget) {
        if self.target.as_ref() != Some(&target) {
            self.target_number += 1;
            self.is_proven = false;
            self.target = Some(target);
        }
        self.is_open = true;
        self.refusals = 0;
        self.retry_at = None;
    }

    /// Queues a request, at the place of its number.
    pub(crate) fn queue(&mut self, id: RequestId) {
        self.queue.insert(id);
    }

    /// Removes a waiting request; false = it does not wait.
    pub(crate) fn unqueue(&mut self, id: RequestId) -> bool {
        self.queue.remove(&id)
    }

    /// All waiting requests, in order.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = RequestId> {
        self.queue.iter().copied()
    }

    /// Starts the next request, if one may be sent.
    pub(crate) fn start(&mut self, now: Moment, window: usize) -> Option<(RequestId, RouteTarget)> {
        let window = if self.is_proven { window } else { 1 };
        let waits = self.retry_at.is_some_and(|at| at > now);
        if !self.is_open || waits || self.in_flight.len() >= window {
            return None;
        }
        let target = self.target.clone()?;
        let id = self.queue.pop_first()?;
        self.in_flight.insert(id, self.target_number);
        Some((id, target))
    }

    /// A request in flight was answered by its owner; false = it is not of this lane.
    pub(crate) fn admitted(&mut self, id: RequestId) -> bool {
        let Some(target_number) = self.in_flight.remove(&id) else { return false };
        if target_number == self.target_number && self.is_open {
            self.is_proven = true;
            self.refusals = 0;
            self.retry_at = None;
        }
        true
    }

    /// A request in flight failed: its outcome is unknown, and nothing follows for the owner.
    pub(crate) fn failed(&mut self, id: RequestId) -> bool {
        self.in_flight.remove(&id).is_some()
    }

    /// A request was refused, so nothing was executed and it waits again, in its place. Refusals of one round count
    /// once. False = it is none of this lane's.
    pub(crate) fn refused(&mut self, now: Moment, id: RequestId) -> bool {
        let Some(target_number) = self.in_flight.remove(&id) else { return false };
        self.queue.insert(id);
        self.is_proven &= target_number != self.target_number;
        if target_number == self.target_number && self.retry_at.is_none_or(|at| at <= now) {
            self.retry_at = Some(now + self.wait());
            self.refusals = self.refusals.saturating_add(1);
        }
        true
    }

    /// The moment at which the next attempt may start after a refusal.
    pub(crate) const fn retry_at(&self) -> Option<Moment> {
        self.retry_at
    }

    fn wait(&self) -> Duration {
        // 2^10 times the first wait is far beyond the longest one.
        FIRST_WAIT.saturating_mul(1 << self.refusals.min(10)).min(LONGEST_WAIT)
    }
}
