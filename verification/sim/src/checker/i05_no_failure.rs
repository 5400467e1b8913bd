//! I5, the waiting: no request fails in a planned move, and each gets an answer.
//!
//! An answer that leaves open what became of a request takes a call that was lost, an owner that stood still or died, or
//! a router that was stopped. One that says that nothing was executed takes a reached bound (the number of requests), a
//! router that was stopped, a topic that vanished, or a fault that overlaps the wait: of the router, of an owner of the
//! partition, or of what all stand on, each with the world's patience after it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::record::Owner;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_router::{StashLimits, Unsent};
use kafka_assigner_types::id::{Member, TopicPartition};

use super::{Findings, Invariant, Step};
use crate::history::{Answer, Entry, Scope, What};

#[derive(Debug)]
pub(super) struct NoFailure {
    patience: Duration,
    limits: StashLimits,
    excuses: Vec<(Duration, Duration, Scope)>,
    /// Those who came to own or to be about to own each partition, each with the time.
    owners: BTreeMap<TopicPartition, Vec<(Duration, Arc<str>)>>,
    open: BTreeMap<u64, Ask>,
    lanes: BTreeMap<(u32, TopicPartition), BTreeSet<u64>>,
    lost: BTreeSet<u64>,
    stopping: BTreeSet<u32>,
    state: Option<Arc<GroupState>>,
}

/// A call without an answer.
#[derive(Debug)]
struct Ask {
    since: Duration,
    router: u32,
    name: Arc<str>,
    of: TopicPartition,
}

impl NoFailure {
    pub(super) const fn new(patience: Duration, limits: StashLimits) -> Self {
        Self {
            patience,
            limits,
            excuses: Vec::new(),
            owners: BTreeMap::new(),
            open: BTreeMap::new(),
            lanes: BTreeMap::new(),
            lost: BTreeSet::new(),
            stopping: BTreeSet::new(),
            state: None,
        }
    }

    fn asked(&mut self, call: u64, ask: Ask) -> Option<String> {
        let lane = self.lanes.entry((ask.router, ask.of.clone())).or_default();
        lane.insert(call);
        // Some answers are on their way to their clients in this very moment.
        let most = self.limits.requests.saturating_add(self.limits.window).saturating_add(1);
        let what = (lane.len() > most)
            .then(|| format!("router {} holds {} calls of {}", ask.router, lane.len(), ask.of));
        self.open.insert(call, ask);
        what
    }

    fn answered(&mut self, now: Duration, call: u64, answer: Answer) -> Option<String> {
        let ask = self.open.remove(&call)?;
        let lane = self.lanes.entry((ask.router, ask.of.clone())).or_default();
        lane.remove(&call);
        let held = lane.len();
        let is_allowed = match answer {
            Answer::Done | Answer::Died => true,
            Answer::Unsent(Unsent::TooMany) => held >= self.limits.requests,
            Answer::Unsent(Unsent::TooLarge) => false,
            Answer::Unsent(Unsent::NoPartition) => !self.exists(&ask.of) || self.is_excused(&ask, now),
            Answer::Unsent(Unsent::Stopped) => {
                self.stopping.contains(&ask.router) || self.is_excused(&ask, now)
            }
            Answer::Unsent(_) => self.is_excused(&ask, now),
            Answer::Unknown => self.is_unknown(call, &ask, now),
        };
        let (name, waited) = (&ask.name, now - ask.since);
        (!is_allowed)
            .then(|| format!("call {call} of {} failed at {name} after {waited:?}: {answer:?}", ask.of))
    }

    fn exists(&self, at: &TopicPartition) -> bool {
        let topic = self.state.as_ref().and_then(|state| state.topics().get(&at.topic)?.last_good());
        topic.is_some_and(|topic| at.partition < topic.partitions)
    }

    fn is_unknown(&self, call: u64, ask: &Ask, now: Duration) -> bool {
        self.lost.contains(&call) || self.stopping.contains(&ask.router) || self.is_excused(ask, now)
    }

    fn is_excused(&self, ask: &Ask, now: Duration) -> bool {
        let overlaps = |(from, until, _): &&(Duration, Duration, Scope)| {
            *from <= now && ask.since <= *until + self.patience
        };
        self.excuses.iter().filter(overlaps).any(|(_, _, scope)| self.concerns(scope, ask))
    }

    fn concerns(&self, scope: &Scope, ask: &Ask) -> bool {
        match scope {
            Scope::Everyone | Scope::Requests => true,
            Scope::Member(name) => *name == ask.name || self.owns(name, ask),
        }
    }

    /// True if the consumer came to own the partition since the call, or was the last to do so before.
    fn owns(&self, consumer: &Arc<str>, ask: &Ask) -> bool {
        let Some(owners) = self.owners.get(&ask.of) else { return false };
        let before = owners.iter().rposition(|(at, _)| *at + self.patience <= ask.since).unwrap_or_default();
        owners[before..].iter().any(|(_, name)| name == consumer)
    }

    fn note_owners(&mut self, now: Duration, state: &GroupState, at: &TopicPartition) {
        let owner = state.assignment(at).and_then(|a| a.owner.as_ref()).map(Owner::member);
        let handoff = state.handoff_of(at);
        let parties = handoff.into_iter().flat_map(|handoff| [&handoff.old, &handoff.new]);
        let names: Vec<Arc<str>> =
            owner.iter().chain(parties).map(|member: &Member| Arc::from(member.name.as_str())).collect();
        let known = self.owners.entry(at.clone()).or_default();
        known.extend(names.into_iter().map(|name| (now, name)));
    }
}

impl Invariant for NoFailure {
    fn step(&mut self, step: &Step<'_>, _findings: &mut Findings) {
        self.state = Some(Arc::clone(step.after));
        for at in step.assignments().chain(step.handoffs()) {
            self.note_owners(step.at, step.after, at);
        }
    }

    fn entry(&mut self, entry: &Entry, findings: &mut Findings) {
        let what = match &entry.what {
            What::Asked { call, router, name, of } => {
                let (since, router, name, of) = (entry.at, *router, Arc::clone(name), of.clone());
                self.asked(call.number, Ask { since, router, name, of })
            }
            What::Answered { call, answer } => self.answered(entry.at, *call, *answer),
            What::Excused { scope, until } => {
                self.excuses.push((entry.at, *until, scope.clone()));
                None
            }
            What::Lost { call } => {
                self.lost.insert(*call);
                None
            }
            What::RouterStops { router } => {
                self.stopping.insert(*router);
                None
            }
            _ => None,
        };
        what.into_iter().for_each(|what| findings.report(entry.at, what));
    }

    fn finish(&mut self, end: Duration, _state: &Arc<GroupState>, findings: &mut Findings) {
        for (call, ask) in &self.open {
            let what = format!("call {call} of {} never got an answer from {}", ask.of, ask.name);
            findings.report(end, what);
        }
    }
}
