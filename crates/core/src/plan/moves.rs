//! Handoffs for what somebody else should have.

use std::collections::BTreeMap;

use super::Planner;
use super::problem::{Desired, Unit};
use crate::action::{Action, Step};
use crate::draft::Draft;
use crate::key::Key;
use crate::reason::{DeferReason, Reason};
use crate::record::{Awaited, Handoff};
use crate::state::Presence;
use kafka_assigner_types::id::{HandoffIds, Member, TopicPartition};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::millis;
use kafka_assigner_types::name::MemberName;

/// The part of a unit that one consumer has and another one should have.
struct MovingPart<'p> {
    unit: &'p Unit,
    partitions: Vec<TopicPartition>,
    owner: Member,
    target: &'p MemberName,
    because: &'p str,
}

impl Planner<'_> {
    /// Begins a handoff for each part of the unit that somebody else works on.
    pub(super) fn move_rest(&mut self, unit: &Unit, desired: &Desired, ids: &mut HandoffIds) {
        if let Some(error) = &unit.unreadable {
            return self.defer(&unit.partitions, None, DeferReason::Unreadable { error: error.clone() });
        }
        // Partitions that this plan grants again move with the next one, and the rest of their set with them.
        if unit.partitions.iter().any(|at| self.renewed.contains(at)) {
            return;
        }
        if let Some(why) = self.stopped(&unit.partitions) {
            return self.defer_kept(unit, why);
        }
        let Some(target) = desired.target(unit) else { return self.keep_in_place(unit, desired) };
        let mut parts: BTreeMap<Member, Vec<TopicPartition>> = BTreeMap::new();
        for at in &unit.partitions {
            if let Some(owner) = self.worker(at).filter(|owner| owner.name != *target) {
                parts.entry(owner).or_default().push(at.clone());
            }
        }
        let because = desired.because(unit);
        for (owner, partitions) in parts {
            self.begin(&MovingPart { unit, partitions, owner, target, because: &because }, ids);
        }
    }

    /// Says why what somebody works on stays there, although no consumer should have the unit.
    fn keep_in_place(&mut self, unit: &Unit, desired: &Desired) {
        if let Some(why) = desired.why_split(unit) {
            return self.defer(&unit.partitions, None, why);
        }
        self.defer_kept(unit, desired.why_nobody(unit));
    }

    /// Defers what somebody works on.
    fn defer_kept(&mut self, unit: &Unit, why: DeferReason) {
        let kept: Vec<TopicPartition> =
            unit.partitions.iter().filter(|at| self.worker(at).is_some()).cloned().collect();
        if !kept.is_empty() {
            self.defer(&kept, None, why);
        }
    }

    /// The live owner of a partition that is not on the move.
    fn worker(&self, at: &TopicPartition) -> Option<Member> {
        let owner = self.state.assignment(at)?.owner.as_ref()?.member();
        let moves = self
            .state
            .handoff_of(at)
            .is_some_and(|handoff| handoff.phase.is_in_flight() && !self.state.only_prepares(handoff));
        (self.state.presence(&owner) == Presence::Here && !moves).then_some(owner)
    }

    fn begin(&mut self, part: &MovingPart<'_>, ids: &mut HandoffIds) {
        let MovingPart { unit, partitions, owner, target, .. } = part;
        let Some(registration) = self.active(target) else {
            let why = DeferReason::TargetUnable { consumer: (*target).clone() };
            return self.defer(partitions, Some(target), why);
        };
        let new = Member { name: (*target).clone(), incarnation: registration.incarnation.clone() };
        let why = self.why_it_moves(part);
        let prepared = self.prepared(partitions);
        // A unit that is prepared for the end of a session that seems to be dead stays so: nobody asks such a process
        // to stop.
        if !prepared.is_empty() && self.waits_for_suspect(owner, self.mode_of_move(unit, partitions)) {
            return;
        }
        if let Some(why) = self.obstacle(&new, part, &prepared) {
            return self.defer(partitions, Some(target), why);
        }
        match prepared.is_empty() {
            false => self.yield_to((partitions, &new), &prepared, &why),
            true => self.begin_handoff((unit, partitions), (owner.clone(), new), why, None, ids),
        }
    }

    fn why_it_moves(&self, part: &MovingPart<'_>) -> Reason {
        let is_late = |at| self.context.memory.is_late(self.state, at, self.context.moment);
        match part.partitions.iter().any(is_late) {
            true => Reason::NotBegun { owner: part.owner.name.clone() },
            false => {
                Reason::Strategy { strategy: self.plan.strategy.clone(), because: part.because.to_owned() }
            }
        }
    }

    /// Writes the handoff of a part of a unit from one consumer to another, which is here.
    pub(super) fn begin_handoff(
        &mut self,
        (unit, part): (&Unit, &[TopicPartition]),
        (owner, new): (Member, Member),
        why: Reason,
        awaits: Option<Awaited>,
        ids: &mut HandoffIds,
    ) {
        let Some(registration) = self.active(&new.name) else { return };
        let (id, mode) = (ids.deal(), self.mode_of_move(unit, part));
        let parties = (owner.clone(), new.clone());
        let handoff = Handoff::new(id.clone(), part.to_vec(), parties, mode, self.context.wall, why.clone());
        let catch_up = handoff.catch_up || (mode == Mode::Exclusive && self.config.catch_up);
        let handoff = Handoff { catch_up, awaits, ..handoff };
        let begun = Draft::on(self.state).registered(&new.name, registration).begin(&handoff);
        let draft = part.iter().fold(begun, |draft, at| draft.unchanged(&Key::Assignment(at.clone())));
        self.count(&handoff);
        let step = Step::Begin { id, from: owner, to: new, why };
        self.plan.actions.push(Action { unit: part.to_vec(), step, write: draft.into_write() });
    }

    /// The mode of a handoff of a part of `unit`: that of the whole unit, however little of it moves, since its grants have
    /// it too.
    pub(super) fn mode_of_move(&self, unit: &Unit, part: &[TopicPartition]) -> Mode {
        let modes = part.iter().map(|at| self.mode_of_grant(at, &unit.partitions));
        modes.min().unwrap_or(Mode::Overlap)
    }

    /// A set that is switched in part waits for the rest: it moves in one mode, and in `overlap` two would work on what
    /// was granted to one alone.
    pub(super) fn half_switched(&self, part: &[TopicPartition]) -> Option<DeferReason> {
        let granted = part.iter().filter_map(|at| Some((at, self.state.assignment(at)?)));
        let (strict, before): (Vec<_>, Vec<_>) =
            granted.partition(|(_, assignment)| assignment.mode.is_strict());
        let left_ms = before.into_iter().map(|(at, _)| self.outlived_ms(at)).max()?;
        (!strict.is_empty()).then_some(DeferReason::Outlived { left_ms })
    }

    /// The reason for which a part of a unit can't move to `target` now, where `prepared` makes room for that move.
    fn obstacle(&self, target: &Member, part: &MovingPart<'_>, prepared: &[&Handoff]) -> Option<DeferReason> {
        let is_prepared = |at| prepared.iter().any(|prepared| prepared.unit.contains(at));
        let goes_on = prepared.iter().any(|prepared| becomes(prepared, &part.partitions, target));
        let consumer = || target.name.clone();
        let (mode, part) = (self.state.mode_of(&part.unit.partitions), &part.partitions);
        if let Some(lacks) = self.active(&target.name).and_then(|c| c.lacks(mode)) {
            return Some(DeferReason::ModeUnkept { consumer: consumer(), lacks: lacks.to_owned() });
        }
        if part.iter().any(|at| self.state.handoffs().contains_key(at) && !is_prepared(at)) {
            return Some(DeferReason::HandoffEnding);
        }
        if let Some(why) = self.half_switched(part) {
            return Some(why);
        }
        if let Some(left) = part.iter().find_map(|at| self.context.memory.backs_off(at, self.context.moment))
        {
            return Some(DeferReason::BackingOff { left_ms: millis(left) });
        }
        // The strategy knows, unless a handoff of another part of the set pins the whole set to this consumer.
        if part.iter().any(|at| self.context.memory.avoids(at, target, self.context.moment)) {
            return Some(DeferReason::FailedLately { consumer: consumer() });
        }
        let limit = self.config.max_moves_in_flight;
        if self.in_flight >= limit {
            return Some(DeferReason::MovesInFlight { limit });
        }
        // It warms already, or is warm.
        let limit = self.config.max_warming;
        let is_full = self.warming.get(&target.name).copied().unwrap_or_default() >= limit;
        (is_full && !goes_on).then(|| DeferReason::Warming { consumer: consumer(), limit })
    }
}

/// True if `prepared` is what a move of `part` to `target` begins with.
pub(super) fn becomes(prepared: &Handoff, part: &[TopicPartition], target: &Member) -> bool {
    prepared.unit == part && prepared.new == *target
}
