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
use std::time::Duration;

use kafka_assigner_strategies::{Registry, Strategy};

use crate::action::{Action, Step};
use crate::advance::{Now, claim_end, exists, forget, may_have};
use crate::claim::ClaimEnd;
use crate::draft::{Draft, next_epoch, owner_of};
use crate::handover::{Grant, awaiting};
use crate::id::{HandoffIds, Member, TopicPartition};
use crate::key::Key;
use crate::kv::Revision;
use crate::name::MemberName;
use crate::reason::{DeferReason, Reason};
use crate::record::{Assignment, Consumer, GroupConfig, Handoff, HandoffRecord, Mode, Phase, Standing};
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

impl Plan {
    /// After how long the first partition can be granted in the stricter mode that it should have; `None` where none
    /// waits for that.
    #[must_use]
    pub fn soonest_switch(&self) -> Option<Duration> {
        let left = |deferral: &Deferral| match deferral.why {
            DeferReason::Outlived { left_ms } => Some(Duration::from_millis(left_ms)),
            _ => None,
        };
        self.deferred.iter().filter_map(left).min()
    }
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
    planner.end_stuck_routers();
    for unit in &desired.units {
        planner.grant_orphans(unit, &desired);
    }
    for unit in &desired.units {
        planner.renew_grants(unit, ids);
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
    /// Granted again by this plan: they move with the next one.
    renewed: BTreeSet<TopicPartition>,
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
            renewed: BTreeSet::new(),
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

    /// Assignments that no topic has any more; those with a handoff are forgotten by the handoff's own rule. In the
    /// strict modes they stay while their owner may act: the topic may come back before.
    fn forget_gone_topics(&mut self) {
        for (at, entry) in self.state.assignments() {
            let is_free = entry.readable().is_some() && !self.state.handoffs().contains_key(at);
            if is_free && !exists(self.state, at) && self.nobody_may_act(at) {
                let unit = vec![at.clone()];
                let write = forget(self.state, &unit).into_write();
                self.plan.actions.push(Action { unit, step: Step::Forget, write });
            }
        }
    }

    fn nobody_may_act(&self, at: &TopicPartition) -> bool {
        let Some(assignment) = self.state.assignment(at) else { return true };
        let Some(owner) = assignment.owner.as_ref().filter(|_| assignment.mode.is_strict()) else {
            return true;
        };
        is_over(self.state.presence(&owner.member())) && claim_end(self.state, at, self.now).is_over()
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

    /// Routers for which freezes waited in vain: without a registration nobody waits for them.
    fn end_stuck_routers(&mut self) {
        for router in self.now.memory.stuck_routers(self.state) {
            let key = Key::Router(router.name.clone());
            let mut draft = Draft::on(self.state).unchanged(&key);
            draft.delete(&key);
            let step = Step::EndRouter { router };
            self.plan.actions.push(Action { unit: Vec::new(), step, write: draft.into_write() });
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
        // What the old owner said of where it stopped goes into the grant; from Complete on the assignment has it.
        let keeps_offset = handoff.phase.is_in_flight() && !handoff.stopped_at.is_empty();
        // Whoever has still to let go says so to the handoff.
        let is_awaited = handoff.phase == Phase::Complete
            && !handoff.mode.is_strict()
            && !is_over(self.state.presence(&handoff.old));
        if handoff.phase == Phase::Cancelled || keeps_offset || is_awaited {
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
        if let Some(why) = self.claim_runs(&owner.name, at) {
            return Claimant::Wait(why);
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

    /// Nobody acts in an owner's place before its claim is over.
    fn claim_runs(&self, owner: &MemberName, at: &TopicPartition) -> Option<DeferReason> {
        let left_ms = match claim_end(self.state, at, self.now) {
            ClaimEnd::Over => return None,
            ClaimEnd::Running(left) => Some(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
            ClaimEnd::Unasked => None,
        };
        Some(DeferReason::ClaimRunning { owner: owner.clone(), left_ms })
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
            Phase::Complete if handoff.mode.is_strict() => false,
            Phase::Complete => handoff.taken.is_none() && !is_over(self.state.presence(&handoff.old)),
            Phase::Cancelled => false,
            _ => self.takes(handoff),
        })
    }

    fn takes(&self, handoff: &Handoff) -> bool {
        self.state.presence(&handoff.new) == Presence::Here
            && may_have(self.state, &handoff.new.name, &handoff.unit, handoff.mode)
    }

    /// Whether the vanished owner's name is here again and may have the unit.
    fn returned(&self, name: &MemberName, unit: &Unit) -> bool {
        may_have(self.state, name, &unit.partitions, self.state.mode_of(&unit.partitions))
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
        let mode = self.mode_of_grant(&unit);
        if let Some(lacks) = registration.lacks(mode) {
            let why = DeferReason::ModeUnkept { consumer: to.clone(), lacks: lacks.to_owned() };
            return self.defer(&unit, Some(to), why);
        }
        let epoch = next_epoch(self.state, &unit);
        let owner = owner_of(&member, registration);
        let grant = Grant { owner, epoch, mode, why: why.clone(), wall: self.now.wall };
        let draft = unit.iter().fold(Draft::on(self.state).registered(to, registration), |draft, at| {
            draft.assign(at, &self.starting(at, grant.next(self.state, at)))
        });
        let draft = self.clear_or_guard(draft, &unit, &member);
        let step = Step::Grant { to: member, from, epoch, why };
        self.plan.actions.push(Action { unit, step, write: draft.into_write() });
    }

    /// What somebody owned in `overlap` goes to another owner in that mode: nobody waits for the claims of those before.
    /// The owner is granted it again in the stricter mode once they are over.
    fn mode_of_grant(&self, unit: &[TopicPartition]) -> Mode {
        let is_outlived =
            |at| self.state.assignment(at).is_some_and(|a| a.owner.is_some() && !a.mode.is_strict());
        if unit.iter().any(is_outlived) { Mode::Overlap } else { self.state.mode_of(unit) }
    }

    /// The grant that ends a handoff hands on where the old owner stopped.
    fn starting(&self, at: &TopicPartition, next: Assignment) -> Assignment {
        let handoff = self.state.handoff_of(at).filter(|handoff| handoff.phase.stops_the_old_owner());
        let start = handoff.and_then(|handoff| handoff.final_offset(at));
        Assignment { start, ..next }
    }

    /// Grants again to the owner that it has what is granted in another mode than it should be, and what has an epoch
    /// reserved for a handoff that is not there any more. The owner goes on.
    fn renew_grants(&mut self, unit: &Unit, ids: &mut HandoffIds) {
        if unit.unreadable.is_some() {
            return;
        }
        let mode = self.state.mode_of(&unit.partitions);
        for at in &unit.partitions {
            let Some(assignment) = self.state.assignment(at) else { continue };
            let Some(owner) = &assignment.owner else { continue };
            let is_free = !self.state.handoffs().contains_key(at);
            if is_free && self.state.presence(&owner.member()) == Presence::Here {
                self.renew_grant(at, assignment, mode, ids);
            }
        }
    }

    fn renew_grant(
        &mut self,
        at: &TopicPartition,
        assignment: &Assignment,
        mode: Mode,
        ids: &mut HandoffIds,
    ) {
        let Some(owner) = &assignment.owner else { return };
        let why = match assignment.mode == mode {
            true if assignment.held.is_none() => return,
            true => Reason::ReservationLost,
            false => Reason::ModeChanged { mode },
        };
        let Some(registration) = self.state.registration(&owner.name) else { return };
        if let Some(why) = self.keeps_its_mode(at, assignment, mode, registration) {
            return self.defer(std::slice::from_ref(at), None, why);
        }
        let epoch = next_epoch(self.state, std::slice::from_ref(at));
        let next = match assignment.mode == mode {
            true => assignment.renewed(epoch, None),
            false => assignment.switched(mode, epoch, ids.deal()),
        };
        let next = Assignment { since: self.now.wall, why: why.clone(), ..next };
        let draft = Draft::on(self.state)
            .registered(&owner.name, registration)
            .unchanged(&Key::Handoff(at.clone()))
            .assign(at, &next);
        let step = Step::Grant { to: owner.member(), from: Some(owner.name.clone()), epoch, why };
        self.plan.actions.push(Action { unit: vec![at.clone()], step, write: draft.into_write() });
        self.renewed.insert(at.clone());
    }

    /// Why an owner is not granted what it has in `mode` for now.
    fn keeps_its_mode(
        &self,
        at: &TopicPartition,
        assignment: &Assignment,
        mode: Mode,
        owner: &Consumer,
    ) -> Option<DeferReason> {
        if let Some(lacks) = owner.lacks(mode) {
            let consumer = assignment.owner.as_ref()?.name.clone();
            return Some(DeferReason::ModeUnkept { consumer, lacks: lacks.to_owned() });
        }
        let left_ms = self.outlived_ms(at, assignment);
        (mode.is_strict() && left_ms > 0).then_some(DeferReason::Outlived { left_ms })
    }

    /// For how many milliseconds more, begun ones counted, those who owned `at` before may act beside its owner.
    fn outlived_ms(&self, at: &TopicPartition, assignment: &Assignment) -> u64 {
        let left = self.now.memory.outlived_for(at, assignment, self.now.moment);
        u64::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }

    /// A grant replaces a handoff that is over, but for one whose old owner has still to let go, and stands back where
    /// one came up meanwhile.
    fn clear_or_guard<'d>(&self, draft: Draft<'d>, unit: &[TopicPartition], to: &Member) -> Draft<'d> {
        let mut cleared: BTreeSet<TopicPartition> = BTreeSet::new();
        let mut draft = draft;
        for at in unit {
            match self.state.handoff_of(at) {
                Some(handoff) => {
                    if cleared.insert(handoff.lead().clone()) {
                        draft = match awaiting(self.state, handoff, to).filter(|next| next.unit == unit) {
                            Some(next) => draft.rewrite(&next),
                            None => draft.clear(handoff),
                        };
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
        // What is granted again by this plan moves with the next one, and the rest of its set with it.
        if unit.partitions.iter().any(|at| self.renewed.contains(at)) {
            return;
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
        let mode = self.mode_of_grant(part);
        let handoff = Handoff::new(id.clone(), part.to_vec(), parties, mode, self.now.wall, why.clone());
        let catch_up = handoff.catch_up || (mode == Mode::Exclusive && self.config.catch_up);
        let handoff = Handoff { catch_up, ..handoff };
        let mut draft = Draft::on(self.state).registered(target, registration).begin(&handoff);
        for at in part {
            draft = draft.unchanged(&Key::Assignment(at.clone()));
        }
        self.count(Phase::Warming, target);
        let step = Step::Begin { id, from: owner.clone(), to: new, why };
        self.plan.actions.push(Action { unit: part.to_vec(), step, write: draft.into_write() });
    }

    /// A set that is switched in part waits for the rest: it moves in one mode, and in `overlap` two would work on what
    /// was granted to one alone.
    fn half_switched(&self, part: &[TopicPartition]) -> Option<DeferReason> {
        let granted = part.iter().filter_map(|at| Some((at, self.state.assignment(at)?)));
        let (strict, before): (Vec<_>, Vec<_>) =
            granted.partition(|(_, assignment)| assignment.mode.is_strict());
        let left_ms = before.into_iter().map(|(at, assignment)| self.outlived_ms(at, assignment)).max()?;
        (!strict.is_empty()).then_some(DeferReason::Outlived { left_ms })
    }

    fn obstacle(&self, target: &Member, part: &[TopicPartition]) -> Option<DeferReason> {
        let consumer = || target.name.clone();
        if let Some(lacks) = self.active(&target.name).and_then(|c| c.lacks(self.state.mode_of(part))) {
            return Some(DeferReason::ModeUnkept { consumer: consumer(), lacks: lacks.to_owned() });
        }
        if part.iter().any(|at| self.state.handoffs().contains_key(at)) {
            return Some(DeferReason::HandoffEnding);
        }
        if let Some(why) = self.half_switched(part) {
            return Some(why);
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
