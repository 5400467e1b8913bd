//! The difference between what is and what the strategy wants, as guarded writes with a reason each.
//!
//! ```text
//!  state ─► [problem] ─► strategy ─► placement ─► per unit: grant | begin a handoff | defer
//! ```
//!
//! A plan changes nothing. The leader carries it out, dry-run prints it, explain looks one unit up in it.

mod problem;
mod sets;

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_strategies::{Registry, Strategy};

use crate::action::{Action, Step};
use crate::advance::{Grant, Now, exists, forget};
use crate::draft::{Draft, next_epoch, owner_of};
use crate::id::{HandoffIds, Member, TopicPartition};
use crate::key::Key;
use crate::kv::Revision;
use crate::name::MemberName;
use crate::reason::{DeferReason, Reason};
use crate::record::{Consumer, GroupConfig, Handoff, HandoffRecord, Phase, Standing};
use crate::state::{Entry, GroupState, Presence, Versioned};
use problem::{Desired, Unit};

pub use sets::{SetTooLarge, check_sets};

/// What is to be done for who should own what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The revision of the state that it was made on.
    pub revision: Revision,
    /// The strategy that was asked.
    pub strategy: String,
    /// The steps, grants before handoffs.
    pub actions: Vec<Action>,
    /// What was left as it is though something is wanted of it.
    pub deferred: Vec<Deferral>,
}

/// A unit that is left as it is, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deferral {
    /// The partitions.
    pub unit: Vec<TopicPartition>,
    /// Who would get it, where that is known.
    pub to: Option<MemberName>,
    /// Why it has to wait.
    pub why: DeferReason,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoPlan {
    /// The group's configuration can't be read, and no good one was ever seen.
    #[error("the group's configuration can't be read")]
    UnreadableConfig,
    /// The configured strategy is none of those that this instance has.
    #[error("the strategy {0:?} is unknown to this version")]
    UnknownStrategy(String),
    /// The strategy can't be asked about this group.
    #[error("the group can't be planned")]
    Invalid(#[source] kafka_assigner_strategies::InvalidProblem),
}

/// Inputs that differ from what is, for a plan that is only looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WhatIf {
    /// Consumers that are taken for draining.
    pub without: BTreeSet<MemberName>,
    /// The strategy to ask in place of the configured one.
    pub strategy: Option<String>,
}

/// Plans for the whole group.
///
/// # Errors
/// [`NoPlan`] where nothing may be decided; then everything stays as it is.
pub fn plan(
    state: &GroupState,
    now: Now<'_>,
    ids: &mut HandoffIds,
    what_if: &WhatIf,
) -> Result<Plan, NoPlan> {
    let config = state.config().ok_or(NoPlan::UnreadableConfig)?;
    let strategy = strategy(&config, now.strategies, what_if)?;
    let desired = problem::solve(state, now, strategy, what_if).map_err(NoPlan::Invalid)?;
    let mut planner = Planner::new(state, now, &config, strategy.name());
    planner.forget_gone_topics();
    planner.clear_dangling();
    for unit in &desired.units {
        planner.grant_orphans(unit, &desired);
    }
    for unit in &desired.units {
        planner.move_rest(unit, &desired, ids);
    }
    Ok(planner.plan)
}

fn strategy(
    config: &GroupConfig,
    strategies: &Registry,
    what_if: &WhatIf,
) -> Result<&'static dyn Strategy, NoPlan> {
    let name = what_if.strategy.as_ref().unwrap_or(&config.strategy);
    strategies.named(name).ok_or_else(|| NoPlan::UnknownStrategy(name.clone()))
}

struct Planner<'a> {
    state: &'a GroupState,
    now: Now<'a>,
    config: &'a GroupConfig,
    in_flight: u32,
    warming: BTreeMap<MemberName, u32>,
    plan: Plan,
}

impl<'a> Planner<'a> {
    fn new(state: &'a GroupState, now: Now<'a>, config: &'a GroupConfig, strategy: &str) -> Self {
        let mut planner = Self {
            state,
            now,
            config,
            in_flight: 0,
            warming: BTreeMap::new(),
            plan: Plan {
                revision: state.revision(),
                strategy: strategy.to_owned(),
                actions: Vec::new(),
                deferred: Vec::new(),
            },
        };
        for handoff in state.handoffs().keys().filter_map(|at| state.handoff(at)) {
            planner.count(handoff.phase, &handoff.new.name);
        }
        planner
    }

    fn count(&mut self, phase: Phase, to: &MemberName) {
        self.in_flight += u32::from(phase.is_in_flight());
        if phase == Phase::Warming {
            *self.warming.entry(to.clone()).or_default() += 1;
        }
    }

    fn defer(&mut self, unit: &[TopicPartition], to: Option<&MemberName>, why: DeferReason) {
        self.plan.deferred.push(Deferral { unit: unit.to_vec(), to: to.cloned(), why });
    }

    /// Assignments that no topic has any more; those with a handoff are forgotten by the handoff's own rule.
    fn forget_gone_topics(&mut self) {
        for (at, entry) in self.state.assignments() {
            let is_free = entry.readable().is_some() && !self.state.handoffs().contains_key(at);
            if is_free && !exists(self.state, at) {
                let unit = vec![at.clone()];
                let write = forget(self.state, &unit).into_write();
                self.plan.actions.push(Action { unit, step: Step::Forget, write });
            }
        }
    }

    /// References to a handoff that somebody else removed would keep their partitions from ever moving.
    fn clear_dangling(&mut self) {
        for at in self.state.dangling() {
            let Some(HandoffRecord::Reference(to)) = self.state.handoffs()[at].last_good() else { continue };
            let key = Key::Handoff(at.clone());
            let mut draft = Draft::on(self.state).unchanged(&key);
            draft.delete(&key);
            let step = Step::Clear { id: to.id.clone() };
            self.plan.actions.push(Action { unit: vec![at.clone()], step, write: draft.into_write() });
        }
    }

    /// Grants the partitions of a unit that nobody works on, all that go to the same consumer as one change.
    fn grant_orphans(&mut self, unit: &Unit, desired: &Desired) {
        if unit.unreadable.is_some() {
            return;
        }
        let mut grants: BTreeMap<(MemberName, Option<MemberName>), Vec<TopicPartition>> = BTreeMap::new();
        for at in &unit.partitions {
            match self.claimant(at, unit, desired) {
                Claimant::Working => {}
                Claimant::Grant { to, from } => grants.entry((to, from)).or_default().push(at.clone()),
                Claimant::Wait(why) => {
                    self.clear_dead(at);
                    self.defer(std::slice::from_ref(at), None, why);
                }
            }
        }
        for ((to, from), partitions) in grants {
            self.grant(&to, from, partitions);
        }
    }

    /// A handoff of which both parties are gone is cleared with the grant; where there is nobody to grant to, alone,
    /// or it would count against the budgets for ever.
    fn clear_dead(&mut self, at: &TopicPartition) {
        let Some(handoff) = self.state.handoff(at) else { return };
        if handoff.phase == Phase::Cancelled {
            return;
        }
        let write = Draft::on(self.state).clear(handoff).into_write();
        let step = Step::Clear { id: handoff.id.clone() };
        self.plan.actions.push(Action { unit: handoff.unit.clone(), step, write });
    }

    fn claimant(&self, at: &TopicPartition, unit: &Unit, desired: &Desired) -> Claimant {
        let Some(owner) = self.state.assignment(at).and_then(|a| a.owner.as_ref()) else {
            return self.for_target(None, unit, desired);
        };
        if !is_over(self.state.presence(&owner.member())) || self.is_driven(at) {
            return Claimant::Working;
        }
        if self.returned(&owner.name, unit) {
            return Claimant::Grant { to: owner.name.clone(), from: Some(owner.name.clone()) };
        }
        if self.now.memory.awaits(self.state, &owner.name, self.now.moment)
            && !self.state.consumers().contains_key(&owner.name)
        {
            return Claimant::Wait(DeferReason::AwaitingRejoin { owner: owner.name.clone() });
        }
        self.for_target(Some(owner.name.clone()), unit, desired)
    }

    fn for_target(&self, from: Option<MemberName>, unit: &Unit, desired: &Desired) -> Claimant {
        match desired.target(unit).cloned() {
            Some(to) if self.active(&to).is_some() => Claimant::Grant { to, from },
            // A draining consumer, or one that is not here, holds the rest of its set.
            Some(consumer) => Claimant::Wait(DeferReason::TargetUnable { consumer }),
            None => Claimant::Wait(desired.why_nobody(unit)),
        }
    }

    /// Whether the partition's handoff finds it an owner by a rule of its own.
    fn is_driven(&self, at: &TopicPartition) -> bool {
        self.state.handoff_of(at).is_some_and(|handoff| match handoff.phase {
            Phase::Warming | Phase::Ready => self.takes(&handoff.new, &handoff.unit),
            Phase::Complete => handoff.taken.is_none() && !is_over(self.state.presence(&handoff.old)),
            Phase::Cancelled => false,
        })
    }

    fn takes(&self, member: &Member, unit: &[TopicPartition]) -> bool {
        self.state.presence(member) == Presence::Here
            && self.active(&member.name).is_some_and(|c| unit.iter().all(|at| c.subscribes(&at.topic)))
    }

    /// Whether the vanished owner's name is here again and may have the unit.
    fn returned(&self, name: &MemberName, unit: &Unit) -> bool {
        self.active(name).is_some_and(|c| unit.partitions.iter().all(|at| c.subscribes(&at.topic)))
    }

    fn active(&self, name: &MemberName) -> Option<&'a Versioned<Consumer>> {
        self.state.registration(name).filter(|consumer| consumer.standing == Standing::Active)
    }

    fn grant(&mut self, to: &MemberName, from: Option<MemberName>, unit: Vec<TopicPartition>) {
        let Some(registration) = self.active(to) else { return };
        let member = Member { name: to.clone(), incarnation: registration.incarnation.clone() };
        let why = match &from {
            None => Reason::Unowned,
            Some(name) if name == to => Reason::OwnerReturned,
            Some(name) => Reason::OwnerGone { owner: name.clone() },
        };
        let epoch = next_epoch(self.state, &unit);
        let owner = owner_of(&member, registration);
        let grant = Grant { owner, epoch, mode: self.config.mode, why: why.clone(), wall: self.now.wall };
        let draft = Draft::on(self.state).registered(to, registration);
        let draft = self.clear_or_guard(grant.write(self.state, draft, &unit), &unit);
        let step = Step::Grant { to: member, from, epoch, why };
        self.plan.actions.push(Action { unit, step, write: draft.into_write() });
    }

    /// A grant replaces a handoff that is over, and stands back where one came up meanwhile.
    fn clear_or_guard<'d>(&self, draft: Draft<'d>, unit: &[TopicPartition]) -> Draft<'d> {
        let mut cleared: BTreeSet<TopicPartition> = BTreeSet::new();
        let mut draft = draft;
        for at in unit {
            match self.state.handoff_of(at) {
                Some(handoff) => {
                    if cleared.insert(handoff.lead().clone()) {
                        draft = draft.clear(&handoff.clone());
                    }
                }
                None => draft = draft.unchanged(&Key::Handoff(at.clone())),
            }
        }
        draft
    }

    /// Begins a handoff for each part of the unit that somebody else works on.
    fn move_rest(&mut self, unit: &Unit, desired: &Desired, ids: &mut HandoffIds) {
        if let Some(error) = &unit.unreadable {
            return self.defer(&unit.partitions, None, DeferReason::Unreadable { error: error.clone() });
        }
        let Some(target) = desired.target(unit) else { return };
        let mut parts: BTreeMap<Member, Vec<TopicPartition>> = BTreeMap::new();
        for at in &unit.partitions {
            if let Some(owner) = self.worker(at).filter(|owner| owner.name != *target) {
                parts.entry(owner).or_default().push(at.clone());
            }
        }
        let because = desired.because(unit);
        for (owner, part) in parts {
            self.begin(&owner, target, &part, &because, ids);
        }
    }

    /// The live owner of a partition that is not on the move.
    fn worker(&self, at: &TopicPartition) -> Option<Member> {
        let owner = self.state.assignment(at)?.owner.as_ref()?.member();
        let moves = self.state.handoff_of(at).is_some_and(|handoff| handoff.phase.is_in_flight());
        (self.state.presence(&owner) == Presence::Here && !moves).then_some(owner)
    }

    fn begin(
        &mut self,
        owner: &Member,
        target: &MemberName,
        part: &[TopicPartition],
        because: &str,
        ids: &mut HandoffIds,
    ) {
        let Some(registration) = self.active(target) else {
            return self.defer(part, Some(target), DeferReason::TargetUnable { consumer: target.clone() });
        };
        let new = Member { name: target.clone(), incarnation: registration.incarnation.clone() };
        if let Some(why) = self.obstacle(&new, part) {
            return self.defer(part, Some(target), why);
        }
        let id = ids.deal();
        let why = Reason::Strategy { strategy: self.plan.strategy.clone(), because: because.to_owned() };
        let parties = (owner.clone(), new.clone());
        let handoff =
            Handoff::new(id.clone(), part.to_vec(), parties, self.config.mode, self.now.wall, why.clone());
        let mut draft = Draft::on(self.state).registered(target, registration).begin(&handoff);
        for at in part {
            draft = draft.unchanged(&Key::Assignment(at.clone()));
        }
        self.count(Phase::Warming, target);
        let step = Step::Begin { id, from: owner.clone(), to: new, why };
        self.plan.actions.push(Action { unit: part.to_vec(), step, write: draft.into_write() });
    }

    fn obstacle(&self, target: &Member, part: &[TopicPartition]) -> Option<DeferReason> {
        let consumer = || target.name.clone();
        if part.iter().any(|at| self.state.handoffs().contains_key(at)) {
            return Some(DeferReason::HandoffEnding);
        }
        // The strategy knows, unless a handoff of another part of the set pins the whole set to this consumer.
        if part.iter().any(|at| self.now.memory.avoids(at, target, self.now.moment)) {
            return Some(DeferReason::FailedLately { consumer: consumer() });
        }
        let limit = self.config.max_moves_in_flight;
        if self.in_flight >= limit {
            return Some(DeferReason::MovesInFlight { limit });
        }
        let limit = self.config.max_warming;
        (self.warming.get(&target.name).copied().unwrap_or_default() >= limit)
            .then(|| DeferReason::Warming { consumer: consumer(), limit })
    }
}

/// What becomes of a partition in the search for orphans.
enum Claimant {
    Working,
    Grant { to: MemberName, from: Option<MemberName> },
    Wait(DeferReason),
}

/// In `overlap` nobody waits for a session that is being ended.
const fn is_over(presence: Presence) -> bool {
    matches!(presence, Presence::Gone | Presence::Ending)
}

/// What can't be read of the group's configuration, topics, registrations and wishes, for reports; one line each.
#[must_use]
pub fn unreadable_settings(state: &GroupState) -> Vec<String> {
    let config = state.config_entry().and_then(Entry::error).map(|e| format!("config/group: {e}"));
    let topics = state
        .topics()
        .iter()
        .filter_map(|(topic, entry)| Some(format!("config/topics/{topic}: {}", entry.error()?)));
    let consumers = state
        .consumers()
        .iter()
        .filter_map(|(name, entry)| Some(format!("consumers/{name}: {}", entry.error()?)));
    let intents = state
        .intents()
        .iter()
        .filter_map(|(at, entry)| Some(format!("handoff_intents/{at}: {}", entry.error()?)));
    config.into_iter().chain(topics).chain(consumers).chain(intents).collect()
}
