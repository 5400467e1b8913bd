//! All requests that a router holds: those that may be sent, those that wait, and those that fail at a bound.
//!
//! Pure: requests, routes, answers and the time are its inputs; [`Lanes::next`] returns commands. The claim
//! of the router's session is checked before each one.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;
use rustc_hash::FxHashMap;

use crate::lane::{Lane, RequestId};
use crate::route::RouteTarget;

/// The bounds of what a router holds. A request beyond one fails at once, and may be repeated: nothing was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StashLimits {
    /// The most requests for one partition, those in flight included; at least 1. Default 10 000, so that one busy
    /// partition does not use up what others need.
    pub requests: usize,
    /// The most bytes of all requests together, those in flight included; at least 1. Default 64 MiB.
    pub bytes: usize,
    /// The longest time that a request waits before it is sent; above 0. Default 15 s: a switch takes milliseconds, so
    /// this bounds only requests for an owner that is gone, and callers rarely wait longer.
    pub age: Duration,
    /// The most requests of one partition in flight at once; at least 1. Default 64. With 1 their order is kept
    /// strictly, whatever is refused. With more they are started in order, and one that was refused, for example by an
    /// owner whose claim lapsed for a moment, can be overtaken by those that were in flight together with it.
    pub window: usize,
}

impl Default for StashLimits {
    fn default() -> Self {
        Self { requests: 10_000, bytes: 64 << 20, age: Duration::from_secs(15), window: 64 }
    }
}

/// The reasons for which a request was not sent. Nothing was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unsent {
    /// The router has no table just now: it has not been loaded, or the router's session is over or not confirmed.
    #[error("the routing table is closed")]
    Closed,
    /// No such partition in the group.
    #[error("no such partition")]
    NoPartition,
    /// As many requests for the partition are held as may be.
    #[error("too many requests held for the partition")]
    TooMany,
    /// As many bytes are held as may be.
    #[error("too many bytes held")]
    TooLarge,
    /// It waited for as long as a request may.
    #[error("waited too long for an owner")]
    TooOld,
    /// The router has stopped.
    #[error("the router has stopped")]
    Stopped,
}

/// A command to the dispatching loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LaneCommand {
    /// Send a request.
    Send { id: RequestId, target: RouteTarget },
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

#[derive(Debug)]
struct HeldRequest {
    at: TopicPartition,
    bytes: usize,
    arrived: Moment,
}

/// The lanes of all partitions.
#[derive(Debug)]
pub(crate) struct Lanes {
    limits: StashLimits,
    lanes: FxHashMap<TopicPartition, Lane>,
    held: FxHashMap<RequestId, HeldRequest>,
    bytes: usize,
    last: u64,
    /// All waiting requests of all lanes. Numbers rise with time, so the first is the oldest.
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
        self.held.insert(id, HeldRequest { at: at.clone(), bytes, arrived: now });
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

    /// The outcome of a request that was sent.
    pub(crate) fn settle(&mut self, now: Moment, id: RequestId, outcome: SendOutcome) {
        let Some(at) = self.held.get(&id).map(|held| held.at.clone()) else { return };
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

    /// The caller has cancelled this request. One in flight stays there.
    pub(crate) fn cancel(&mut self, id: RequestId) {
        let Some(held) = self.held.get(&id) else { return };
        if self.lanes.get_mut(&held.at).is_some_and(|lane| lane.unqueue(id)) {
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
            if let Some((id, target)) = lane.start(now, self.limits.window) {
                self.waiting.remove(&id);
                self.enqueue_lane(&at);
                return Some(LaneCommand::Send { id, target });
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
            self.cancel_waiting(id);
            self.give_up(id, Unsent::TooOld);
        }
    }

    fn retry(&mut self, now: Moment) {
        while self.retries.first().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, at)) = self.retries.pop_first() {
                self.enqueue_lane(&at);
            }
        }
    }

    fn cancel_waiting(&mut self, id: RequestId) {
        let at = self.held.get(&id).map(|held| &held.at);
        if let Some(lane) = at.and_then(|at| self.lanes.get_mut(at)) {
            lane.unqueue(id);
        }
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
