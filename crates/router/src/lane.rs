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
//! - *Stashing*: nothing goes out. What is on its way may still be answered, or come back refused.
//! - *Flushing*: one request at a time, the oldest first, until the owner has admitted one; what is on its way to an
//!   owner before has to be answered first. So an owner that was not told yet, or one that is gone, gets a single request
//!   at a time, and no two owners ever have requests of the partition at once.
//! - *Open*: as many as the window lets at once, started in order.
//!
//! A request keeps its place by its number: one that is refused goes back before all that came later.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kafka_assigner_client::Moment;

use crate::route::Target;

/// The first wait after a refusal: an owner that has just been granted the partition hears of it at about the same
/// time as its routers. The longest bounds what a late owner costs once it is there.
const FIRST_WAIT: Duration = Duration::from_millis(5);
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// Numbers requests in the order of their arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct RequestId(pub(crate) u64);

/// The requests for one partition.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    target: Option<Target>,
    is_open: bool,
    /// Counts targets, so that an answer of one says nothing of another.
    era: u64,
    /// Whether the target has admitted a request.
    is_proven: bool,
    queue: BTreeSet<RequestId>,
    /// With the era in which they were sent.
    in_flight: BTreeMap<RequestId, u64>,
    refusals: u32,
    retry_at: Option<Moment>,
    /// Whether it stands in line to be looked at.
    pub(crate) is_in_line: bool,
}

impl Lane {
    /// How many requests there are, those on their way included.
    pub(crate) fn len(&self) -> usize {
        self.queue.len() + self.in_flight.len()
    }

    /// Whether nothing is on its way.
    pub(crate) fn is_drained(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// From now on nothing goes out.
    pub(crate) const fn stop(&mut self) {
        self.is_open = false;
        self.is_proven = false;
    }

    /// From now on requests go to `target`.
    pub(crate) fn switch(&mut self, target: Target) {
        if self.target.as_ref() != Some(&target) {
            self.era += 1;
            self.is_proven = false;
            self.target = Some(target);
        }
        self.is_open = true;
        self.refusals = 0;
        self.retry_at = None;
    }

    /// Takes a request in, at the place of its number.
    pub(crate) fn queue(&mut self, id: RequestId) {
        self.queue.insert(id);
    }

    /// Takes a waiting request out; false = it does not wait.
    pub(crate) fn unqueue(&mut self, id: RequestId) -> bool {
        self.queue.remove(&id)
    }

    /// Everything that waits, in order.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = RequestId> {
        self.queue.iter().copied()
    }

    /// Puts the next request on its way, if one may go.
    pub(crate) fn start(&mut self, now: Moment, window: usize) -> Option<(RequestId, Target)> {
        let window = if self.is_proven { window } else { 1 };
        let waits = self.retry_at.is_some_and(|at| at > now);
        if !self.is_open || waits || self.in_flight.len() >= window {
            return None;
        }
        let target = self.target.clone()?;
        let id = self.queue.pop_first()?;
        self.in_flight.insert(id, self.era);
        Some((id, target))
    }

    /// A request on its way was answered by its owner; false = it is none of this lane's.
    pub(crate) fn admitted(&mut self, id: RequestId) -> bool {
        let Some(era) = self.in_flight.remove(&id) else { return false };
        if era == self.era && self.is_open {
            self.is_proven = true;
            self.refusals = 0;
            self.retry_at = None;
        }
        true
    }

    /// A request failed on its way: nobody knows whether it was executed. Says nothing of the owner.
    pub(crate) fn failed(&mut self, id: RequestId) -> bool {
        self.in_flight.remove(&id).is_some()
    }

    /// A request was refused, so nothing was executed and it waits again, in its place. Refusals of one round count
    /// once. False = it is none of this lane's.
    pub(crate) fn refused(&mut self, now: Moment, id: RequestId) -> bool {
        let Some(era) = self.in_flight.remove(&id) else { return false };
        self.queue.insert(id);
        self.is_proven &= era != self.era;
        if era == self.era && self.retry_at.is_none_or(|at| at <= now) {
            self.retry_at = Some(now + self.wait());
            self.refusals = self.refusals.saturating_add(1);
        }
        true
    }

    /// When it may try again after a refusal.
    pub(crate) const fn retry_at(&self) -> Option<Moment> {
        self.retry_at
    }

    fn wait(&self) -> Duration {
        // 2^10 times the first wait is far beyond the longest one.
        FIRST_WAIT.saturating_mul(1 << self.refusals.min(10)).min(LONGEST_WAIT)
    }
}
