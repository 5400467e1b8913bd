//! All requests that a router holds: which may go out, which wait, and which fail because a bound is reached.
//!
//! Pure: requests, routes, answers and the time go in; orders come out of [`Lanes::next`]. The claim of the router's
//! session is checked before each one.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use kafka_assigner_client::{Moment, TopicPartition};
use rustc_hash::FxHashMap;

use crate::lane::{Lane, RequestId};
use crate::route::Target;

/// The bounds of what a router holds. A request beyond one fails at once, and may be repeated: nothing was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StashLimits {
    /// The most requests for one partition, those on their way included; at least 1. Default 10 000, so that one busy
    /// partition does not use up what others need.
    pub requests: usize,
    /// The most bytes of all requests together, those on their way included; at least 1. Default 64 MiB.
    pub bytes: usize,
    /// How long a request waits at most before it is sent; above 0. Default 15 s: a switch takes milliseconds, so this
    /// bounds only what waits for an owner that is gone, and callers rarely wait longer.
    pub age: Duration,
    /// The most requests of one partition on their way at once; at least 1. Default 64. With 1 their order is kept
    /// strictly, whatever is refused. With more they are started in order, and one that was refused, for example by an
    /// owner whose claim lapsed for a moment, can be overtaken by those that were on their way together with it.
    pub window: usize,
}

impl Default for StashLimits {
    fn default() -> Self {
        Self { requests: 10_000, bytes: 64 << 20, age: Duration::from_secs(15), window: 64 }
    }
}

/// Why a request was not sent. Nothing was executed.
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

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    /// Send a request.
    Send { id: RequestId, target: Target },
    /// Tell its caller that it won't be sent.
    Fail { id: RequestId, why: Unsent },
}

/// What became of a request that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The owner answered it.
    Answered,
    /// The owner refused it: nothing was executed.
    Refused,
    /// Nobody knows.
    Failed,
}

#[derive(Debug)]
struct Held {
    at: TopicPartition,
    bytes: usize,
    arrived: Moment,
}

/// The lanes of all partitions.
#[derive(Debug)]
pub(crate) struct Lanes {
    limits: StashLimits,
    lanes: FxHashMap<TopicPartition, Lane>,
    held: FxHashMap<RequestId, Held>,
    bytes: usize,
    last: u64,
    /// What waits in any lane. Numbers rise with time, so the first is the oldest.
    waiting: BTreeSet<RequestId>,
    retries: BTreeSet<(Moment, TopicPartition)>,
    /// Lanes that may have something to send, each of them once, so that they take turns.
    line: VecDeque<TopicPartition>,
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
            line: VecDeque::new(),
            failures: VecDeque::new(),
            open_until: None,
            is_stopped: false,
        }
    }

    /// Until when requests may go out; `None` = not at all.
    pub(crate) const fn claim(&mut self, until: Option<Moment>) {
        self.open_until = until;
    }

    /// Takes a request in, at the end of its partition's order.
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
        self.held.insert(id, Held { at: at.clone(), bytes, arrived: now });
        self.wait(at, id);
        Ok(id)
    }

    /// Nothing of the partition goes out from now on.
    pub(crate) fn stop(&mut self, at: &TopicPartition) {
        self.lanes.entry(at.clone()).or_default().stop();
    }

    /// What waits for the partition, and what comes, goes to `target`.
    pub(crate) fn switch(&mut self, at: &TopicPartition, target: Target) {
        self.lanes.entry(at.clone()).or_default().switch(target);
        self.line_up(at);
    }

    /// The partition is gone, and what waits for it fails.
    pub(crate) fn remove(&mut self, at: &TopicPartition) {
        let Some(lane) = self.lanes.remove(at) else { return };
        for id in lane.waiting() {
            self.give_up(id, Unsent::NoPartition);
        }
    }

    /// What became of a request that was sent.
    pub(crate) fn settle(&mut self, now: Moment, id: RequestId, outcome: Outcome) {
        let Some(at) = self.held.get(&id).map(|held| held.at.clone()) else { return };
        let lane = self.lanes.get_mut(&at);
        match (lane, outcome) {
            (Some(lane), Outcome::Refused) => {
                if lane.refused(now, id) {
                    self.retries.extend(lane.retry_at().map(|retry| (retry, at.clone())));
                    self.waiting.insert(id);
                } else {
                    self.give_up(id, Unsent::NoPartition);
                }
            }
            (None, Outcome::Refused) => self.give_up(id, Unsent::NoPartition),
            (Some(lane), Outcome::Answered) => {
                lane.admitted(id);
                self.forget(id);
            }
            (Some(lane), Outcome::Failed) => {
                lane.failed(id);
                self.forget(id);
            }
            (None, Outcome::Answered | Outcome::Failed) => self.forget(id),
        }
        self.line_up(&at);
    }

    /// Nobody waits for this request any more. One on its way stays there.
    pub(crate) fn cancel(&mut self, id: RequestId) {
        let Some(held) = self.held.get(&id) else { return };
        if self.lanes.get_mut(&held.at).is_some_and(|lane| lane.unqueue(id)) {
            self.forget(id);
        }
    }

    /// Takes nothing in any more.
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

    /// The next thing to do; `None` = nothing before something happens, or [`next_wake`](Self::next_wake) has come.
    pub(crate) fn next(&mut self, now: Moment) -> Option<Order> {
        self.expire(now);
        self.retry(now);
        if let Some((id, why)) = self.failures.pop_front() {
            return Some(Order::Fail { id, why });
        }
        if !self.is_open(now) {
            return None;
        }
        while let Some(at) = self.line.pop_front() {
            let Some(lane) = self.lanes.get_mut(&at) else { continue };
            lane.is_in_line = false;
            if let Some((id, target)) = lane.start(now, self.limits.window) {
                self.waiting.remove(&id);
                self.line_up(&at);
                return Some(Order::Send { id, target });
            }
        }
        None
    }

    /// When [`next`](Self::next) has to be asked again, unless something happens before.
    pub(crate) fn next_wake(&self) -> Option<Moment> {
        let oldest = self.waiting.first().and_then(|id| self.held.get(id));
        let expiry = oldest.map(|held| held.arrived + self.limits.age);
        let retry = self.retries.first().map(|(at, _)| *at);
        expiry.into_iter().chain(retry).min()
    }

    /// Whether nothing of the partition is on its way.
    pub(crate) fn is_drained(&self, at: &TopicPartition) -> bool {
        self.lanes.get(at).is_none_or(Lane::is_drained)
    }

    /// How many requests wait, and how many are on their way.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.waiting.len(), self.held.len() - self.waiting.len())
    }

    /// The partition that a held request is for.
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
            self.line_up(at);
        }
    }

    fn line_up(&mut self, at: &TopicPartition) {
        if let Some(lane) = self.lanes.get_mut(at).filter(|lane| !lane.is_in_line) {
            lane.is_in_line = true;
            self.line.push_back(at.clone());
        }
    }

    fn expire(&mut self, now: Moment) {
        while let Some(id) = self.waiting.first().copied() {
            let is_old = |held: &Held| held.arrived + self.limits.age <= now;
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
                self.line_up(&at);
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
