//! All requests that a router holds: those that may be sent, those that wait, and those that fail at a bound.
//!
//! Pure: requests, routes, answers and the time are its inputs; [`Lanes::next`] returns commands. The claim
//! of the router's session is checked before each one.

mod bounds;

use std::collections::{BTreeSet, VecDeque};

use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;
use rustc_hash::FxHashMap;

use crate::lane::{Lane, LaneTurn, RequestId};
use crate::route::RouteTarget;

pub use self::bounds::{StashLimits, Unsent};

/// A command to the dispatching loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LaneCommand {
    /// Begin a task that sends a request at its turn: it has to [`depart`](Lanes::depart) then.
    Start { id: RequestId, turn: LaneTurn },
    /// Fail a request: it won't be sent.
    Fail { id: RequestId, why: Unsent },
}

/// The outcome of a request that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendOutcome {
    /// The owner answered it.
    Answered,
    /// The owner refused it: nothing was executed.
    Refused,
    /// The outcome is unknown.
    Failed,
}

/// The first poll of the request before, which a turn waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstPoll {
    /// It was made, or will not be, since that request was taken back.
    Made,
    /// Its task was dropped before.
    Lost,
}

#[derive(Debug)]
struct HeldRequest {
    at: TopicPartition,
    bytes: usize,
    arrived: Moment,
    /// The turn that sent it, while it is in flight.
    departed: Option<LaneTurn>,
}

/// The lanes of all partitions.
#[derive(Debug)]
pub(crate) struct Lanes {
    limits: StashLimits,
    lanes: FxHashMap<TopicPartition, Lane>,
    held: FxHashMap<RequestId, HeldRequest>,
    bytes: usize,
    last: u64,
    last_turn: u64,
    /// All requests of all lanes that are not sent. Numbers rise with time, so the first is the oldest.
    waiting: BTreeSet<RequestId>,
    retries: BTreeSet<(Moment, TopicPartition)>,
    /// Lanes that may have something to send, each of them once, so that they take turns.
    ready: VecDeque<TopicPartition>,
    failures: VecDeque<(RequestId, Unsent)>,
    /// Nothing goes out, and nothing is taken in, from then on.
    open_until: Option<Moment>,
    is_stopped: bool,
}

impl Lanes {
    pub(crate) fn new(limits: StashLimits) -> Self {
        Self {
            limits,
            lanes: FxHashMap::default(),
            held: FxHashMap::default(),
            bytes: 0,
            last: 0,
            last_turn: 0,
            waiting: BTreeSet::new(),
            retries: BTreeSet::new(),
            ready: VecDeque::new(),
            failures: VecDeque::new(),
            open_until: None,
            is_stopped: false,
        }
    }

    /// Sets the moment up to which requests may go out; `None` = not at all.
    pub(crate) const fn claim(&mut self, until: Option<Moment>) {
        self.open_until = until;
    }

    /// Accepts a request, at the end of its partition's order.
    pub(crate) fn admit(
        &mut self,
        now: Moment,
        at: &TopicPartition,
        bytes: usize,
    ) -> Result<RequestId, Unsent> {
        self.check(now, at, bytes)?;
        self.last += 1;
        let id = RequestId(self.last);
        self.bytes += bytes;
        self.held.insert(id, HeldRequest { at: at.clone(), bytes, arrived: now, departed: None });
        self.wait(at, id);
        Ok(id)
    }

    /// Lets requests for a partition wait whose first switch is on the way.
    pub(crate) fn expect(&mut self, at: &TopicPartition) {
        self.lanes.entry(at.clone()).or_default();
    }

    /// Nothing of the partition goes out from now on.
    pub(crate) fn stop(&mut self, at: &TopicPartition) {
        self.lanes.entry(at.clone()).or_default().stop();
    }

    /// From now on requests for the partition go to `target`, those that already wait included.
    pub(crate) fn switch(&mut self, at: &TopicPartition, target: RouteTarget) {
        self.lanes.entry(at.clone()).or_default().switch(target);
        self.enqueue_lane(at);
    }

    /// The partition is gone, and its waiting requests fail.
    pub(crate) fn remove(&mut self, at: &TopicPartition) {
        let Some(lane) = self.lanes.remove(at) else { return };
        for id in lane.waiting() {
            self.give_up(id, Unsent::NoPartition);
        }
    }

    /// Returns the target to which this turn sends its request now. `None` = its task must not send it: the lane has taken it back
    /// or given it up, or takes it back now, with all that wait behind it.
    pub(crate) fn depart(
        &mut self,
        now: Moment,
        id: RequestId,
        turn: LaneTurn,
        before: FirstPoll,
    ) -> Option<RouteTarget> {
        self.expire(now);
        // The process may have been suspended since the request was started.
        let may_go = self.is_open(now) && before == FirstPoll::Made;
        let held = self.held.get_mut(&id)?;
        let lane = self.lanes.get_mut(&held.at)?;
        if !may_go {
            lane.recall();
            return None;
        }
        let target = lane.depart(id, turn)?;
        held.departed = Some(turn);
        self.waiting.remove(&id);
        Some(target)
    }

    /// The task of a turn has ended without having sent its request.
    pub(crate) fn ended(&mut self, at: &TopicPartition, id: RequestId, turn: LaneTurn) {
        if let Some(lane) = self.lanes.get_mut(at) {
            lane.ended(id, turn);
            self.enqueue_lane(at);
        }
    }

    /// Returns true if this turn has sent the request, which has no outcome yet.
    pub(crate) fn is_in_flight(&self, id: RequestId, turn: LaneTurn) -> bool {
        self.held.get(&id).is_some_and(|held| held.departed == Some(turn))
    }

    /// The outcome of a request that was sent.
    pub(crate) fn settle(&mut self, now: Moment, id: RequestId, outcome: SendOutcome) {
        let Some(held) = self.held.get_mut(&id) else { return };
        let at = held.at.clone();
        held.departed = None;
        let lane = self.lanes.get_mut(&at);
        match (lane, outcome) {
            (Some(lane), SendOutcome::Refused) => {
                if lane.refused(now, id) {
                    self.retries.extend(lane.retry_at().map(|retry| (retry, at.clone())));
                    self.waiting.insert(id);
                } else {
                    self.give_up(id, Unsent::NoPartition);
                }
            }
            (None, SendOutcome::Refused) => self.give_up(id, Unsent::NoPartition),
            (Some(lane), SendOutcome::Answered) => {
                lane.admitted(id);
                self.forget(id);
            }
            (Some(lane), SendOutcome::Failed) => {
                lane.failed(id);
                self.forget(id);
            }
            (None, SendOutcome::Answered | SendOutcome::Failed) => self.forget(id),
        }
        self.enqueue_lane(&at);
    }

    /// The caller has cancelled this request. One in flight stays there; one that waits for its turn is not sent.
    pub(crate) fn cancel(&mut self, id: RequestId) {
        let Some(held) = self.held.get(&id) else { return };
        if self.lanes.get_mut(&held.at).is_some_and(|lane| lane.remove(id)) {
            self.forget(id);
        }
    }

    /// Refuses new requests from now on.
    pub(crate) const fn refuse_all(&mut self) {
        self.is_stopped = true;
    }

    /// Fails everything that waits.
    pub(crate) fn give_up_all(&mut self) {
        self.refuse_all();
        for id in std::mem::take(&mut self.waiting) {
            self.cancel_waiting(id);
            self.give_up(id, Unsent::Stopped);
        }
    }

    /// The next command; `None` = none before an event, or [`next_wake`](Self::next_wake) has come.
    pub(crate) fn next(&mut self, now: Moment) -> Option<LaneCommand> {
        self.expire(now);
        self.retry(now);
        if let Some((id, why)) = self.failures.pop_front() {
            return Some(LaneCommand::Fail { id, why });
        }
        if !self.is_open(now) {
            return None;
        }
        while let Some(at) = self.ready.pop_front() {
            let Some(lane) = self.lanes.get_mut(&at) else { continue };
            lane.is_queued = false;
            let turn = LaneTurn(self.last_turn + 1);
            if let Some(id) = lane.start(now, self.limits.window, turn) {
                self.last_turn = turn.0;
                self.enqueue_lane(&at);
                return Some(LaneCommand::Start { id, turn });
            }
        }
        None
    }

    /// The moment at which [`next`](Self::next) has to be called again, unless an event comes before.
    pub(crate) fn next_wake(&self) -> Option<Moment> {
        let oldest = self.waiting.first().and_then(|id| self.held.get(id));
        let expiry = oldest.map(|held| held.arrived + self.limits.age);
        let retry = self.retries.first().map(|(at, _)| *at);
        expiry.into_iter().chain(retry).min()
    }

    /// Returns true if no request of the partition is in flight.
    pub(crate) fn is_drained(&self, at: &TopicPartition) -> bool {
        self.lanes.get(at).is_none_or(Lane::is_drained)
    }

    /// The number of requests that wait, and the number of those in flight.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.waiting.len(), self.held.len() - self.waiting.len())
    }

    /// The partition of a held request.
    pub(crate) fn partition(&self, id: RequestId) -> Option<&TopicPartition> {
        self.held.get(&id).map(|held| &held.at)
    }

    fn check(&self, now: Moment, at: &TopicPartition, bytes: usize) -> Result<(), Unsent> {
        if self.is_stopped {
            return Err(Unsent::Stopped);
        }
        if !self.is_open(now) {
            return Err(Unsent::Closed);
        }
        let lane = self.lanes.get(at).ok_or(Unsent::NoPartition)?;
        if lane.len() >= self.limits.requests {
            return Err(Unsent::TooMany);
        }
        let fits = self.bytes.checked_add(bytes).is_some_and(|all| all <= self.limits.bytes);
        if fits { Ok(()) } else { Err(Unsent::TooLarge) }
    }

    fn is_open(&self, now: Moment) -> bool {
        self.open_until.is_some_and(|until| now < until)
    }

    fn wait(&mut self, at: &TopicPartition, id: RequestId) {
        if let Some(lane) = self.lanes.get_mut(at) {
            lane.queue(id);
            self.waiting.insert(id);
            self.enqueue_lane(at);
        }
    }

    fn enqueue_lane(&mut self, at: &TopicPartition) {
        if let Some(lane) = self.lanes.get_mut(at).filter(|lane| !lane.is_queued) {
            lane.is_queued = true;
            self.ready.push_back(at.clone());
        }
    }

    fn expire(&mut self, now: Moment) {
        while let Some(id) = self.waiting.first().copied() {
            let is_old = |held: &HeldRequest| held.arrived + self.limits.age <= now;
            if !self.held.get(&id).is_none_or(is_old) {
                return;
            }
            let why = if self.cancel_waiting(id) { Unsent::NoTurn(self.limits.age) } else { Unsent::TooOld };
            self.give_up(id, why);
        }
    }

    fn retry(&mut self, now: Moment) {
        while self.retries.first().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, at)) = self.retries.pop_first() {
                self.enqueue_lane(&at);
            }
        }
    }

    /// Takes a request out of its lane; true = it waited for its turn.
    fn cancel_waiting(&mut self, id: RequestId) -> bool {
        let at = self.held.get(&id).map(|held| &held.at);
        let Some(lane) = at.and_then(|at| self.lanes.get_mut(at)) else { return false };
        let has_turn = lane.has_turn(id);
        lane.remove(id);
        has_turn
    }

    fn give_up(&mut self, id: RequestId, why: Unsent) {
        self.forget(id);
        self.failures.push_back((id, why));
    }

    fn forget(&mut self, id: RequestId) {
        self.waiting.remove(&id);
        if let Some(held) = self.held.remove(&id) {
            self.bytes -= held.bytes;
        }
    }
}

#[cfg(test)]
#[path = "lanes_test.rs"]
mod lanes_test;
