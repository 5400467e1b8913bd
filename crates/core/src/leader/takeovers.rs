//! The sessions that are ended because their processes seem to be dead, and those that are not yet: [`Takeovers`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kafka_assigner_types::claim::span;

use super::LeaderContext;
use super::deaths::process_of;
use super::memory::Memory;
use super::suspicions::MarkSighting;
use crate::claim::{Remaining, margin_of};
use crate::record::{Consumer, DeathSign, Standing};
use crate::state::{Entry, GroupState, Versioned};
use kafka_assigner_types::id::Member;
use kafka_assigner_types::kv::LeaseId;
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::name::MemberName;

/// The outcome for a session whose process seems to be dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SuspectFate {
    /// It is ended now.
    Ended,
    /// It is ended after that time, unless it is heard.
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

/// The outcomes for all sessions whose processes seem to be dead.
#[derive(Debug, Default)]
pub(crate) struct Takeovers(BTreeMap<MemberName, SuspectFate>);

impl Takeovers {
    /// The outcomes at the moment of `context`. Takes time in proportion to the consumers, where there are any.
    pub(crate) fn of(state: &GroupState, context: LeaderContext<'_>) -> Self {
        let suspects = || context.memory.suspects(state);
        if suspects().next().is_none() {
            return Self::default();
        }
        let budget = Budget::of(state, context.memory, context.moment);
        let mut taken = budget.taken.clone();
        let fates = suspects().map(|suspect| {
            let fate = match suspect.fate(state, context) {
                SuspectFate::Ended => budget.grant(suspect.process(), &mut taken),
                waits => waits,
            };
            (suspect.name.clone(), fate)
        });
        Self(fates.collect())
    }

    /// The outcome for the session of `name`; `None` where nothing speaks for its death.
    pub(crate) fn fate(&self, name: &MemberName) -> Option<SuspectFate> {
        self.0.get(name).copied()
    }

    /// The consumers whose sessions are ended now.
    pub(crate) fn ended(&self) -> impl Iterator<Item = &MemberName> {
        self.0.iter().filter(|(_, fate)| **fate == SuspectFate::Ended).map(|(name, _)| name)
    }
}

/// The number of processes that may be taken over.
struct Budget {
    limit: usize,
    suspected: usize,
    /// Those that were, within the time to live of their sessions.
    taken: BTreeSet<String>,
}

impl Budget {
    fn of(state: &GroupState, memory: &Memory, now: Moment) -> Self {
        let consumers =
            || state.consumers().iter().filter_map(|(name, entry)| Some((name, entry.readable()?)));
        let active = consumers().filter(|(_, consumer)| consumer.standing == Standing::Active);
        let active: BTreeSet<&str> = active.map(|(name, consumer)| process_of(name, consumer)).collect();
        let suspected = consumers().filter(|(_, consumer)| consumer.suspicion().is_some());
        let suspected: BTreeSet<&str> =
            suspected.map(|(name, consumer)| process_of(name, consumer)).collect();
        let taken: BTreeSet<String> = memory.suspicions.taken_over(now).map(str::to_owned).collect();
        // Those that were taken over lately are a part of the group that this counts for.
        let gone = taken.iter().filter(|process| !active.contains(process.as_str())).count();
        let limit = ((active.len() + gone) / 10).max(1);
        Self { limit, suspected: suspected.len(), taken }
    }

    fn grant(&self, process: &str, taken: &mut BTreeSet<String>) -> SuspectFate {
        let has_room = taken.contains(process) || taken.len() < self.limit;
        if self.suspected <= self.limit && has_room {
            taken.insert(process.to_owned());
            return SuspectFate::Ended;
        }
        SuspectFate::OneOfMany { processes: self.suspected + self.taken.len(), limit: self.limit }
    }
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

    /// The leases of suspects of which a third may be left, each with its time to live.
    #[must_use]
    pub fn suspects_to_ask(&self, state: &GroupState, now: Moment) -> BTreeMap<LeaseId, Duration> {
        let is_due = |suspect: &SuspectSession<'_>| {
            suspect.condition(state) == EndCondition::Lease
                && suspect.ends_at(state, self, now).is_some_and(|at| at <= now)
        };
        let due = self.suspects(state).filter(is_due);
        due.map(|suspect| (suspect.consumer.lease, suspect.ttl())).collect()
    }

    /// The moments at which something may become of a suspect.
    pub(super) fn takeover_times<'a>(
        &'a self,
        state: &'a GroupState,
        now: Moment,
    ) -> impl Iterator<Item = Moment> + 'a {
        let due = self.suspects(state).filter_map(move |suspect| suspect.ends_at(state, self, now));
        let has_suspects = self.suspicions.names().next().is_some();
        due.chain(self.suspicions.forgotten().filter(move |_| has_suspects))
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

impl SuspectSession<'_> {
    fn process(&self) -> &str {
        process_of(self.name, self.consumer)
    }

    fn ttl(&self) -> Duration {
        Duration::from_millis(self.consumer.ttl_ms)
    }

    fn condition(&self, state: &GroupState) -> EndCondition {
        let never = state.configured(|config| config.takeover_after_ms == 0);
        if never || !has_successor(state, self.name) {
            return EndCondition::Never;
        }
        let member = Member { name: self.name.clone(), incarnation: self.consumer.incarnation.clone() };
        let owned = state.concerned(self.name).filter_map(|at| state.assignment(at));
        let owned = owned.filter(|a| a.owner.as_ref().is_some_and(|owner| owner.is(&member)));
        let (mut has_strict, mut has_overlap) = (false, false);
        for assignment in owned {
            has_strict |= assignment.mode.is_strict();
            has_overlap |= !assignment.mode.is_strict();
        }
        match (has_overlap, has_strict, &self.seen.mark.sign) {
            (true, _, _) => EndCondition::Time,
            (false, true, DeathSign::Detached) => EndCondition::Lease,
            _ => EndCondition::Never,
        }
    }

    /// The moment from which its session may be ended; `None`: it is left to end.
    fn ends_at(&self, state: &GroupState, memory: &Memory, now: Moment) -> Option<Moment> {
        let condition = self.condition(state);
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

    fn fate(&self, state: &GroupState, context: LeaderContext<'_>) -> SuspectFate {
        let now = context.moment;
        let Some(at) = self.ends_at(state, context.memory, now) else { return SuspectFate::LeftToEnd };
        let is_due =
            at <= now && (self.condition(state) == EndCondition::Time || self.is_at_its_margin(context));
        if is_due { SuspectFate::Ended } else { SuspectFate::EndedIn(at.since(now)) }
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

/// True if a consumer other than `name` takes partitions: else nothing is won by the end of its session.
fn has_successor(state: &GroupState, name: &MemberName) -> bool {
    let takes = |consumer: &Consumer| consumer.standing == Standing::Active && consumer.suspicion().is_none();
    let mut others = state.consumers().iter().filter(|(other, _)| *other != name);
    others.any(|(_, entry)| Entry::readable(entry).is_some_and(|consumer| takes(consumer)))
}
