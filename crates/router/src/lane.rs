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
//! ```text
//!            start           depart            answered, failed
//!  queued ─────────► waiting ────────► in flight ──────────────►
//!     ▲               its turn             │
//!     ├── recall ───────┘                  │
//!     └───────────── refused ──────────────┘
//! ```
//!
//! A request that was started has a turn: a task that sends it once the one before it is on its way. Until it departs, it is
//! not sent, and the lane can take it back. It takes back all that wait for their turns, the later ones with the earlier ones,
//! where they must not be sent as they were started: at a stop, at another target, after a refusal, without a claim.
//!
//! A request keeps its place by its number: one that is refused or taken back goes before all that came later.

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

/// Numbers the turns of all requests. One that is started again has another turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LaneTurn(pub(crate) u64);

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
    /// Started, and not sent: the turns of the requests that come before all queued ones.
    turns: BTreeMap<RequestId, LaneTurn>,
    /// The turns whose requests were taken back or gave up; their tasks have not ended yet.
    left: BTreeSet<LaneTurn>,
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
        self.queue.len() + self.turns.len() + self.in_flight.len()
    }

    /// Returns true if no request is in flight or waits for its turn.
    pub(crate) fn is_drained(&self) -> bool {
        self.in_flight.is_empty() && self.turns.is_empty()
    }

    /// From now on nothing goes out.
    pub(crate) fn stop(&mut self) {
        self.is_open = false;
        self.is_proven = false;
        self.recall();
    }

    /// From now on requests go to `target`.
    pub(crate) fn switch(&mut self, target: RouteTarget) {
        if self.target.as_ref() != Some(&target) {
            self.target_number += 1;
            self.is_proven = false;
            self.target = Some(target);
            self.recall();
        }
        self.is_open = true;
        self.refusals = 0;
        self.retry_at = None;
    }

    /// Queues a request, at the place of its number.
    pub(crate) fn queue(&mut self, id: RequestId) {
        self.queue.insert(id);
    }

    /// Removes a request that is not sent yet; false = there is none.
    pub(crate) fn remove(&mut self, id: RequestId) -> bool {
        let turn = self.turns.remove(&id);
        self.left.extend(turn);
        turn.is_some() || self.queue.remove(&id)
    }

    /// All requests that are not sent yet, in order.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = RequestId> {
        self.turns.keys().chain(&self.queue).copied()
    }

    /// Returns true if the request was started and is not sent yet.
    pub(crate) fn has_turn(&self, id: RequestId) -> bool {
        self.turns.contains_key(&id)
    }

    /// Starts the next request, if one may be sent. Its task has the turn until [`ended`](Self::ended).
    pub(crate) fn start(&mut self, now: Moment, window: usize, turn: LaneTurn) -> Option<RequestId> {
        let window = if self.is_proven { window } else { 1 };
        let waits = self.retry_at.is_some_and(|at| at > now);
        if !self.is_open || waits || self.tasks() >= window {
            return None;
        }
        let id = self.queue.pop_first()?;
        self.turns.insert(id, turn);
        Some(id)
    }

    /// Returns the target to which this turn sends its request now. `None` = its task must not send it. Where an earlier request waits
    /// still, its task was dropped, and all are taken back.
    pub(crate) fn depart(&mut self, id: RequestId, turn: LaneTurn) -> Option<RouteTarget> {
        let target = self.target.clone().filter(|_| self.turns.get(&id) == Some(&turn))?;
        if self.turns.range(..id).next().is_some() {
            self.recall();
            return None;
        }
        self.turns.remove(&id);
        self.in_flight.insert(id, self.target_number);
        Some(target)
    }

    /// Takes back all requests that wait for their turns, each to its place.
    pub(crate) fn recall(&mut self) {
        for (id, turn) in std::mem::take(&mut self.turns) {
            self.queue.insert(id);
            self.left.insert(turn);
        }
    }

    /// The task of a turn has ended without sending. If the lane did not take its request back, something has dropped the
    /// task: it was not sent, so neither are the later ones before it.
    pub(crate) fn ended(&mut self, id: RequestId, turn: LaneTurn) {
        if self.turns.get(&id) == Some(&turn) {
            self.recall();
        }
        self.left.remove(&turn);
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
        self.recall();
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

    /// The number of tasks: those whose requests are in flight or wait for their turns, and those that are about to end.
    fn tasks(&self) -> usize {
        self.in_flight.len() + self.turns.len() + self.left.len()
    }

    fn wait(&self) -> Duration {
        // 2^10 times the first wait is far beyond the longest one.
        FIRST_WAIT.saturating_mul(1 << self.refusals.min(10)).min(LONGEST_WAIT)
    }
}
