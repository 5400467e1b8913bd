//! Invariants of a plan as a whole: the consumers to which it brings the partitions.

use std::collections::{BTreeMap, BTreeSet};

use super::Invariant;
use crate::action::{Action, Step};
use crate::facts::may_have;
use crate::plan::Plan;
use crate::reason::Reason;
use crate::record::{Handoff, Phase};
use crate::state::{GroupState, Presence};
use kafka_assigner_types::id::{HandoffId, TopicPartition};
use kafka_assigner_types::name::MemberName;

/// A plan beside the state that it was made on.
pub(super) struct Outlook<'a> {
    state: &'a GroupState,
    plan: &'a Plan,
    /// The consumer to which the plan brings a partition, now or once there is room.
    given: BTreeMap<&'a TopicPartition, &'a MemberName>,
    /// The partitions about which the plan leaves open where they go: those that stay with a name whatever the strategy
    /// wants, and those that wait.
    open: BTreeSet<TopicPartition>,
}

impl<'a> Outlook<'a> {
    pub(super) fn new(state: &'a GroupState, plan: &'a Plan) -> Self {
        let mut outlook = Self { state, plan, given: BTreeMap::new(), open: BTreeSet::new() };
        for Action { unit, step, .. } in &plan.actions {
            match step {
                Step::Grant { to, from, .. } if from.as_ref() == Some(&to.name) => outlook.leave_open(unit),
                // Its owner may be heard again: then it stays.
                Step::Begin { why: Reason::OwnerSuspected { .. }, .. } => {}
                Step::Grant { to, .. } | Step::Begin { to, .. } => outlook.give(unit, &to.name),
                _ => {}
            }
        }
        for handoff in outlook.converted() {
            outlook.give(&handoff.unit, &handoff.new.name);
        }
        for deferral in &plan.deferred {
            match &deferral.to {
                Some(to) => outlook.give(&deferral.unit, to),
                None => outlook.open.extend(deferral.unit.iter().cloned()),
            }
        }
        outlook
    }

    /// Partitions that are granted again move with a later plan, and with them the rest of their co-partitioned unit.
    fn leave_open(&mut self, unit: &[TopicPartition]) {
        let rest: Vec<TopicPartition> = unit.iter().flat_map(|at| self.unit_of(at)).collect();
        self.open.extend(unit.iter().cloned().chain(rest));
    }

    /// The invariants that the plan breaks, each with the values that contradict it.
    pub(super) fn broken(&self) -> Vec<(Invariant, String)> {
        let found = [
            (Invariant::OneDecision, self.one_decision()),
            (Invariant::MovesWithinBudget, self.moves_within_budget()),
            (Invariant::WarmUpsWithinBudget, self.warm_ups_within_budget()),
            (Invariant::LimitsHold, self.limits_hold()),
            (Invariant::SetsStayTogether, self.sets_stay_together()),
        ];
        found.into_iter().filter_map(|(invariant, detail)| Some((invariant, detail?))).collect()
    }

    fn give(&mut self, unit: &'a [TopicPartition], to: &'a MemberName) {
        self.given.extend(unit.iter().map(|at| (at, to)));
    }

    /// The targets of the handoffs that begin, and whether they only prepare for the end of a session.
    fn begun(&self) -> impl Iterator<Item = (&'a MemberName, bool)> {
        self.plan.actions.iter().filter_map(|action| match &action.step {
            Step::Begin { to, why, .. } => Some((&to.name, matches!(why, Reason::OwnerSuspected { .. }))),
            _ => None,
        })
    }

    /// The handoffs that only prepared for the end of a session, and are moves from now on.
    fn converted(&self) -> Vec<&'a Handoff> {
        let advanced = self.plan.actions.iter().filter(|action| matches!(action.step, Step::Advance { .. }));
        let handoffs = advanced.filter_map(|action| self.state.handoff_of(action.unit.first()?));
        handoffs.filter(|handoff| handoff.is_ahead()).collect()
    }

    fn one_decision(&self) -> Option<String> {
        let decides = |step: &Step| matches!(step, Step::Grant { .. } | Step::Begin { .. } | Step::Forget);
        let decided = self.plan.actions.iter().filter(|action| decides(&action.step));
        let mut seen = BTreeSet::new();
        let again = decided.flat_map(|action| &action.unit).find(|at| !seen.insert(*at))?;
        Some(format!("{again}: two actions decide about it"))
    }

    fn moves_within_budget(&self) -> Option<String> {
        let limit = self.state.configured(|config| config.max_moves_in_flight) as usize;
        let moving = self.in_flight().filter(|handoff| self.state.takes_a_place(handoff)).count();
        let begun = self.begun().filter(|(_, is_ahead)| !is_ahead).count() + self.converted().len();
        (begun > 0 && moving + begun > limit)
            .then(|| format!("{begun} begin beside {moving} in flight, at most {limit}"))
    }

    fn warm_ups_within_budget(&self) -> Option<String> {
        let limit = self.state.configured(|config| config.max_warming) as usize;
        let mut warming: BTreeMap<&MemberName, (usize, usize)> = BTreeMap::new();
        let mut add = |to, is_ahead| {
            let (count, ahead) = warming.entry(to).or_default();
            (*count, *ahead) = (*count + 1, *ahead + usize::from(is_ahead));
            (*count, *ahead)
        };
        let converted: BTreeSet<&HandoffId> =
            self.converted().into_iter().map(|handoff| &handoff.id).collect();
        for handoff in self.in_flight().filter(|handoff| handoff.phase == Phase::Warming) {
            add(&handoff.new.name, handoff.is_ahead() && !converted.contains(&handoff.id));
        }
        self.begun().find_map(|(to, is_ahead)| {
            let (count, ahead) = add(to, is_ahead);
            let exceeds = count > limit || (is_ahead && ahead > limit.div_ceil(2));
            exceeds.then(|| format!("{to} warms {count}, {ahead} of them ahead, at most {limit}"))
        })
    }

    fn in_flight(&self) -> impl Iterator<Item = &'a Handoff> {
        let state = self.state;
        let handoffs = state.handoffs().keys().filter_map(|at| state.handoff(at));
        handoffs.filter(|handoff| handoff.phase.is_in_flight())
    }

    /// Only a consumer that gains by the plan is counted: a limit that was lowered is reached in time. One that gets a
    /// part of a set which has grown meanwhile gets the rest too; what it has beside stays where nobody else has room.
    fn limits_hold(&self) -> Option<String> {
        let outgrown: BTreeSet<&MemberName> = self.outgrown().collect();
        let gaining: BTreeSet<&MemberName> =
            self.given.values().copied().filter(|name| !outgrown.contains(name)).collect();
        let limit = |name: &MemberName| self.state.registration(name)?.max_partitions;
        let limits: BTreeMap<&MemberName, u32> =
            gaining.into_iter().filter_map(|name| Some((name, limit(name)?))).collect();
        if limits.is_empty() {
            return None;
        }
        let mut loads: BTreeMap<&MemberName, u32> = BTreeMap::new();
        for name in self.state.assignments().keys().chain(self.unassigned()).filter_map(|at| self.owner(at)) {
            *loads.entry(name).or_default() += 1;
        }
        let over = limits.into_iter().find(|(name, limit)| loads.get(name).is_some_and(|load| load > limit));
        over.map(|(name, limit)| format!("{name} gets {}, at most {limit}", loads[name]))
    }

    /// The new owner of each handoff in flight whose co-partitioned unit has more partitions than the handoff moves.
    fn outgrown(&self) -> impl Iterator<Item = &'a MemberName> {
        let has_grown = |handoff: &&Handoff| {
            let rest = self.unit_of(handoff.lead());
            rest.iter().any(|at| self.state.exists(at) && !handoff.unit.contains(at))
        };
        self.in_flight().filter(has_grown).map(|handoff| &handoff.new.name)
    }

    /// The partitions that the plan gives and that have no assignment yet.
    fn unassigned(&self) -> impl Iterator<Item = &'a TopicPartition> {
        self.given.keys().copied().filter(|at| !self.state.assignments().contains_key(*at))
    }

    /// The consumer that has `at` once everything is done; `None` where that is open.
    fn owner(&self, at: &TopicPartition) -> Option<&MemberName> {
        if self.open.contains(at) {
            return None;
        }
        if let Some(to) = self.given.get(at) {
            return Some(to);
        }
        if !self.state.exists(at) {
            return None;
        }
        let moves = |handoff: &&Handoff| handoff.phase.is_in_flight() && !self.state.leaves_open(handoff);
        let moving = self.state.handoff_of(at).filter(moves);
        if let Some(handoff) = moving {
            let arrives = self.state.presence(&handoff.new) == Presence::Here
                && may_have(self.state, &handoff.new.name, &handoff.unit, handoff.mode);
            return arrives.then_some(&handoff.new.name);
        }
        let owner = self.state.assignment(at)?.owner.as_ref()?;
        (self.state.presence(&owner.member()) == Presence::Here).then_some(&owner.name)
    }

    fn sets_stay_together(&self) -> Option<String> {
        self.given.iter().find_map(|(at, to)| {
            let other = self.unit_of(at).into_iter().find_map(|other| {
                let owner = self.owner(&other).filter(|_| !self.state.handoffs().contains_key(&other))?;
                (owner != *to).then(|| format!("{at} goes to {to}, and {other} to {owner}"))
            });
            other.filter(|_| !self.state.handoffs().contains_key(*at))
        })
    }

    /// The partitions that move as one with `at`, but for itself.
    fn unit_of(&self, at: &TopicPartition) -> Vec<TopicPartition> {
        self.state.unit_of(at).into_iter().filter(|other| other != at).collect()
    }
}
