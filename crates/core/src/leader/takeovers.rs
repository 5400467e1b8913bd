//! The sessions that are ended because their processes seem to be dead, and those that are not yet: [`Takeovers`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kafka_assigner_types::claim::span;

use super::LeaderContext;
use super::deaths::process_of;
use super::memory::Memory;
use super::suspicions::{ASK_SUSPECT_AGAIN, MarkSighting};
use crate::claim::{Remaining, margin_of};
use crate::facts::may_gain;
use crate::record::{Consumer, DeathSign, Standing};
use crate::state::{Entry, GroupState, Versioned};
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::kv::LeaseId;
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::name::{MemberName, TopicName};

/// The fate of a session whose process seems to be dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SuspectFate {
    /// It is ended now.
    Ended,
    /// It is ended after that time, unless it is heard; zero: once the store says that a third is left of its lease.
    EndedIn(Duration),
    /// It is not ended: more processes than `limit` seem to be dead, or were taken over lately.
    OneOfMany {
        /// Their number.
        processes: usize,
        /// The most that are taken over within a time to live.
        limit: usize,
    },
    /// Its own end is waited for.
    LeftToEnd,
}

/// The outcome of a plan for a session whose process seems to be dead.
#[derive(Debug, Clone, Copy)]
pub(super) struct SuspectOutcome {
    fate: SuspectFate,
    /// The moment from which others prepare for its end.
    prepared_from: Moment,
    /// True if it owns something in `overlap`.
    pub(super) owns_overlap: bool,
}

impl SuspectOutcome {
    /// The next moment after `now` at which the passing of time alone may change it.
    pub(super) fn due(&self, now: Moment) -> Option<Moment> {
        let ends = match self.fate {
            // Its time came after the store was asked about others, or the store did not say.
            SuspectFate::EndedIn(Duration::ZERO) => Some(now + ASK_SUSPECT_AGAIN),
            SuspectFate::EndedIn(left) => Some(now + left),
            SuspectFate::Ended | SuspectFate::OneOfMany { .. } | SuspectFate::LeftToEnd => None,
        };
        let prepares = Some(self.prepared_from).filter(|from| *from > now);
        ends.into_iter().chain(prepares).min()
    }
}

/// The outcomes for all sessions whose processes seem to be dead.
#[derive(Debug, Default)]
pub(crate) struct Takeovers(BTreeMap<MemberName, SuspectOutcome>);

impl Takeovers {
    /// The outcomes at the moment of `context`. Where there are suspects, it takes time in proportion to the consumers and
    /// to what the suspects own.
    pub(crate) fn of(state: &GroupState, context: LeaderContext<'_>) -> Self {
        let mut suspects = context.memory.suspects(state).peekable();
        if suspects.peek().is_none() {
            return Self::default();
        }
        let mut successors = Successors::of(state);
        let mut budget = Budget::of(state, context.memory, context.moment);
        let outcomes = suspects.map(|suspect| {
            let owned = suspect.owned(state, &mut successors);
            let fate = suspect.fate(suspect.condition(state, owned), &mut budget, state, context);
            let prepared_from = suspect.prepared_from(state, context.memory, context.moment);
            let outcome = SuspectOutcome { fate, prepared_from, owns_overlap: owned.has_overlap };
            (suspect.name.clone(), outcome)
        });
        Self(outcomes.collect())
    }

    pub(super) fn outcome(&self, name: &MemberName) -> Option<&SuspectOutcome> {
        self.0.get(name)
    }

    /// The fate of the session of `name`; `None` where nothing speaks for its death.
    pub(crate) fn fate(&self, name: &MemberName) -> Option<SuspectFate> {
        self.outcome(name).map(|outcome| outcome.fate)
    }

    /// True if others prepare at `now` for the end of the session of `name`: it goes on, and its mark has stood for as long
    /// as that of a name must whose marks did not last.
    pub(crate) fn is_prepared_for(&self, name: &MemberName, now: Moment) -> bool {
        let is_due =
            |outcome: &SuspectOutcome| outcome.fate != SuspectFate::Ended && outcome.prepared_from <= now;
        self.outcome(name).is_some_and(is_due)
    }

    /// The consumers whose sessions are ended now.
    pub(crate) fn ended(&self) -> impl Iterator<Item = &MemberName> {
        self.0.iter().filter(|(_, outcome)| outcome.fate == SuspectFate::Ended).map(|(name, _)| name)
    }
}

/// The number of processes that may be taken over.
struct Budget<'a> {
    limit: usize,
    suspected: BTreeSet<&'a str>,
    /// Those that were, within the time to live of their sessions, and those that are now.
    taken: BTreeSet<String>,
}

impl<'a> Budget<'a> {
    fn of(state: &'a GroupState, memory: &Memory, now: Moment) -> Self {
        let consumers =
            || state.consumers().iter().filter_map(|(name, entry)| Some((name, entry.readable()?)));
        let process =
            |(name, consumer): (&'a MemberName, &'a Versioned<Consumer>)| process_of(name, consumer);
        let active = consumers().filter(|(_, consumer)| consumer.standing == Standing::Active);
        let active: BTreeSet<&str> = active.map(process).collect();
        let suspected = consumers().filter(|(_, consumer)| consumer.suspicion().is_some());
        let suspected = suspected.map(process).collect();
        let taken: BTreeSet<String> = memory.suspicions.taken_over(now).map(str::to_owned).collect();
        // Those that were taken over lately are a part of the group that this counts for.
        let gone = taken.iter().filter(|process| !active.contains(process.as_str())).count();
        let limit = ((active.len() + gone) / 10).max(1);
        Self { limit, suspected, taken }
    }

    /// The fate of the sessions of `process` if it is one too many.
    fn refuses(&self, process: &str) -> Option<SuspectFate> {
        let has_room = self.taken.contains(process) || self.taken.len() < self.limit;
        let refuses = self.suspected.len() > self.limit || !has_room;
        let others = self.taken.iter().filter(|taken| !self.suspected.contains(taken.as_str())).count();
        let (processes, limit) = (self.suspected.len() + others, self.limit);
        refuses.then_some(SuspectFate::OneOfMany { processes, limit })
    }

    fn take(&mut self, process: &str) {
        self.taken.insert(process.to_owned());
    }
}

/// The consumers that may own more than they have, and the topics that one of them takes.
struct Successors<'a> {
    state: &'a GroupState,
    names: Vec<&'a MemberName>,
    known: BTreeMap<&'a TopicName, bool>,
}

impl<'a> Successors<'a> {
    fn of(state: &'a GroupState) -> Self {
        let takes = |consumer: &Versioned<Consumer>| {
            consumer.standing == Standing::Active && consumer.suspicion().is_none()
        };
        let consumers = state.consumers().iter();
        let names = consumers.filter(|(_, entry)| Entry::readable(entry).is_some_and(takes));
        Self { state, names: names.map(|(name, _)| name).collect(), known: BTreeMap::new() }
    }

    /// True if one of them takes partitions of the topic of `at`, with all that moves along.
    fn take(&mut self, at: &'a TopicPartition) -> bool {
        let (state, names) = (self.state, &self.names);
        let takes = || {
            let unit = state.unit_of(at);
            let mode = state.mode_of(&unit);
            names.iter().any(|name| may_gain(state, name, &unit, mode))
        };
        *self.known.entry(&at.topic).or_insert_with(takes)
    }
}

/// The partitions that a suspect owns, in short.
#[derive(Debug, Clone, Copy, Default)]
struct OwnedModes {
    has_overlap: bool,
    has_strict: bool,
    /// True if another consumer takes some of it: else nothing is won by the end of the session.
    has_successor: bool,
}

/// A session whose process seems to be dead.
pub(super) struct SuspectSession<'a> {
    name: &'a MemberName,
    consumer: &'a Versioned<Consumer>,
    seen: &'a MarkSighting,
}

impl Memory {
    /// The sessions whose processes seem to be dead, as this leader has seen them.
    pub(super) fn suspects<'a>(&'a self, state: &'a GroupState) -> impl Iterator<Item = SuspectSession<'a>> {
        self.suspicions.names().filter_map(|name| {
            let consumer = state.registration(name).filter(|consumer| consumer.suspicion().is_some())?;
            Some(SuspectSession { name, consumer, seen: self.suspicions.sighting(name)? })
        })
    }

    /// The leases of suspects of which a third may be left, each with its time to live; none of those whose processes are
    /// too many.
    #[must_use]
    pub fn suspects_to_ask(&self, state: &GroupState, now: Moment) -> BTreeMap<LeaseId, Duration> {
        let condition = EndCondition::Lease;
        let is_due = |suspect: &SuspectSession<'_>| {
            suspect.ends_at(condition, state, self, now).is_some_and(|at| at <= now)
        };
        let mut due = self.suspects(state).filter(is_due).peekable();
        if due.peek().is_none() {
            return BTreeMap::new();
        }
        let (mut successors, budget) = (Successors::of(state), Budget::of(state, self, now));
        let due = due.filter(|suspect| budget.refuses(suspect.process()).is_none());
        let asked = due
            .filter(|suspect| suspect.condition(state, suspect.owned(state, &mut successors)) == condition);
        asked.map(|suspect| (suspect.consumer.lease, suspect.ttl())).collect()
    }
}

/// The condition on which a suspect's session is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndCondition {
    /// The mark has stood for long enough.
    Time,
    /// A third is left of its lease: its claims are over by its own clock.
    Lease,
    /// None.
    Never,
}

impl<'a> SuspectSession<'a> {
    fn process(&self) -> &'a str {
        process_of(self.name, self.consumer)
    }

    fn ttl(&self) -> Duration {
        Duration::from_millis(self.consumer.ttl_ms)
    }

    fn owned(&self, state: &'a GroupState, successors: &mut Successors<'a>) -> OwnedModes {
        let member = Member { name: self.name.clone(), incarnation: self.consumer.incarnation.clone() };
        let mut owned = OwnedModes::default();
        for at in state.concerned(self.name) {
            let assignment = state.assignment(at).filter(|a| a.owner.as_ref().is_some_and(|o| o.is(&member)));
            let Some(assignment) = assignment else { continue };
            owned.has_strict |= assignment.mode.is_strict();
            owned.has_overlap |= !assignment.mode.is_strict();
            owned.has_successor |= successors.take(at);
        }
        owned
    }

    fn condition(&self, state: &GroupState, owned: OwnedModes) -> EndCondition {
        let never = state.configured(|config| config.takeover_after_ms == 0);
        match (owned.has_overlap, owned.has_strict, &self.seen.mark.sign) {
            _ if never || !owned.has_successor => EndCondition::Never,
            (true, _, _) => EndCondition::Time,
            (false, true, DeathSign::Detached) => EndCondition::Lease,
            _ => EndCondition::Never,
        }
    }

    /// The moment from which its session may be ended on `condition`; `None`: it is left to end.
    fn ends_at(
        &self,
        condition: EndCondition,
        state: &GroupState,
        memory: &Memory,
        now: Moment,
    ) -> Option<Moment> {
        let (after_ms, grace_ms) =
            state.configured(|config| (config.takeover_after_ms, config.rejoin_grace_ms));
        let wait = match self.seen.mark.sign {
            DeathSign::Silent => span(self.ttl()),
            _ => Duration::from_millis(after_ms),
        };
        let wait = wait * memory.suspicions.doubling(self.name, now);
        let at = self.seen.since + wait.max(Duration::from_millis(grace_ms));
        match condition {
            EndCondition::Time => Some(at),
            EndCondition::Lease => Some(at.max(self.seen.ask_at)),
            EndCondition::Never => None,
        }
    }

    /// The moment from which others prepare for its end: at once, but for names whose marks did not last.
    fn prepared_from(&self, state: &GroupState, memory: &Memory, now: Moment) -> Moment {
        let after = Duration::from_millis(state.configured(|config| config.takeover_after_ms));
        self.seen.since + after * (memory.suspicions.doubling(self.name, now) - 1)
    }

    /// The fate of its session, which counts against `budget` where that ends.
    fn fate(
        &self,
        condition: EndCondition,
        budget: &mut Budget<'_>,
        state: &GroupState,
        context: LeaderContext<'_>,
    ) -> SuspectFate {
        let now = context.moment;
        let Some(at) = self.ends_at(condition, state, context.memory, now) else {
            return SuspectFate::LeftToEnd;
        };
        if at > now {
            return SuspectFate::EndedIn(at.since(now));
        }
        if let Some(one_of_many) = budget.refuses(self.process()) {
            return one_of_many;
        }
        if condition == EndCondition::Lease && !self.is_at_its_margin(context) {
            return SuspectFate::EndedIn(Duration::ZERO);
        }
        budget.take(self.process());
        SuspectFate::Ended
    }

    /// True if the store says that at most the margin is left of the lease, or nothing.
    fn is_at_its_margin(&self, context: LeaderContext<'_>) -> bool {
        let is_asked = context.memory.suspicions.is_asked(self.consumer.lease);
        match context.leases.remaining(self.consumer.lease).filter(|_| is_asked) {
            Some(Remaining::Left(left)) => left <= margin_of(self.ttl()),
            Some(Remaining::Gone) => true,
            None => false,
        }
    }
}
