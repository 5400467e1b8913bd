//! Sessions whose processes seem to be dead: their ends, and what others prepare for them.

use std::collections::BTreeMap;

use super::Planner;
use super::moves::becomes;
use super::problem::{Desired, Unit};
use crate::action::{Action, Step};
use crate::advance::end_session;
use crate::draft::Draft;
use crate::leader::SuspectFate;
use crate::reason::{CancelReason, DeferReason, FenceReason, Reason};
use crate::record::{Awaited, Handoff, Phase};
use kafka_assigner_types::id::{HandoffId, HandoffIds, Member, TopicPartition};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::millis;
use kafka_assigner_types::name::MemberName;

impl<'a> Planner<'a> {
    /// Ends the sessions of suspects whose time has come, each guarded on the registration with that very mark. What they
    /// own is granted by a later plan, which sees the ends.
    pub(super) fn take_over_suspects(&mut self) {
        let ended: Vec<MemberName> = self.takeovers.ended().cloned().collect();
        for name in ended {
            let Some(registration) = self.state.registration(&name) else { continue };
            let member = Member { name: name.clone(), incarnation: registration.incarnation.clone() };
            let why = FenceReason::Suspected;
            let Some(draft) = end_session(self.state, &member, why.clone()) else { continue };
            let owned =
                self.state.concerned(&name).filter(|at| self.state.owner(at).as_ref() == Some(&member));
            let (unit, step) = (owned.cloned().collect(), Step::EndSession { member: member.clone(), why });
            self.plan.actions.push(Action { unit, step, write: draft.into_write() });
        }
    }

    /// True if the process of some consumer seems to be dead.
    pub(super) fn has_suspects(&self) -> bool {
        self.state.consumers().values().any(|entry| entry.readable().is_some_and(|c| c.suspicion().is_some()))
    }

    /// The partitions that this plan gives, with their consumers, so that what is prepared fits beside them.
    pub(super) fn given(&self) -> BTreeMap<TopicPartition, MemberName> {
        let given = self.plan.actions.iter().filter_map(|action| match &action.step {
            Step::Grant { to, .. } | Step::Begin { to, .. } => Some((action, &to.name)),
            _ => None,
        });
        given.flat_map(|(action, to)| action.unit.iter().map(|at| (at.clone(), to.clone()))).collect()
    }

    /// True if a consumer is there that may have to prepare for the end of a suspect that owns one of `units`.
    pub(super) fn lacks_preparation(
        &self,
        units: &[Unit],
        given: &BTreeMap<TopicPartition, MemberName>,
    ) -> bool {
        let is_open = |unit: &Unit| {
            let owner = self.suspected_owner(&unit.partitions);
            owner.is_some_and(|owner| self.is_unprepared(unit, &owner, given))
        };
        self.state.consumers().keys().any(|name| self.active(name).is_some()) && units.iter().any(is_open)
    }

    /// Has another consumer warm up what a suspect owns, ahead of the end of its session. `desired` is what should be once
    /// all suspects are gone; `None` where nobody asked, or the strategy has no answer.
    pub(super) fn prepare_ahead(
        &mut self,
        unit: &Unit,
        desired: Option<&Desired>,
        given: &BTreeMap<TopicPartition, MemberName>,
        ids: &mut HandoffIds,
    ) {
        let Some(owner) = self.suspected_owner(&unit.partitions) else { return };
        if unit.partitions.iter().any(|at| given.contains_key(at)) {
            return;
        }
        let begun = match desired.filter(|_| self.is_unprepared(unit, &owner, given)) {
            Some(desired) => self.warm_ahead(unit, &owner, desired, ids),
            None => Err(None),
        };
        let why = match begun {
            Ok(()) => return,
            Err(Some(why)) if why.is_for_room() => why,
            Err(_) => self.why_suspected(&owner),
        };
        self.defer(&unit.partitions, None, why);
    }

    /// The suspect that owns all of `unit`.
    fn suspected_owner(&self, unit: &[TopicPartition]) -> Option<Member> {
        let owner = self.state.owner(unit.first()?)?;
        let is_its = |at: &TopicPartition| self.state.owner(at).as_ref() == Some(&owner);
        (self.state.suspicion(&owner).is_some() && unit.iter().all(is_its)).then_some(owner)
    }

    /// The reason for which a suspect still owns what it has.
    fn why_suspected(&self, owner: &Member) -> DeferReason {
        let owner = owner.name.clone();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        match self.takeovers.fate(&owner) {
            Some(SuspectFate::Ended) => DeferReason::OwnerSuspected { owner, left_ms: Some(0) },
            Some(SuspectFate::EndedIn(left)) => {
                DeferReason::OwnerSuspected { owner, left_ms: Some(millis(left)) }
            }
            Some(SuspectFate::OneOfMany { processes, limit }) => {
                DeferReason::ManySuspected { owner, processes: count(processes), limit: count(limit) }
            }
            Some(SuspectFate::LeftToEnd) | None => DeferReason::OwnerSuspected { owner, left_ms: None },
        }
    }

    /// True if nobody prepares for the end of `owner`, which is a suspect, and somebody should. One that drains hands over
    /// in the ordinary way.
    fn is_unprepared(
        &self,
        unit: &Unit,
        owner: &Member,
        given: &BTreeMap<TopicPartition, MemberName>,
    ) -> bool {
        let is_busy = |at: &TopicPartition| {
            self.renewed.contains(at) || given.contains_key(at) || self.state.handoffs().contains_key(at)
        };
        unit.unreadable.is_none()
            && self.stopped(&unit.partitions).is_none()
            && !self.state.drains(owner)
            && self.takeovers.is_prepared_for(&owner.name, self.context.moment)
            && !unit.partitions.iter().any(is_busy)
    }

    /// Begins to prepare; where that can't be, an obstacle that passes, or none.
    fn warm_ahead(
        &mut self,
        unit: &Unit,
        owner: &Member,
        desired: &Desired,
        ids: &mut HandoffIds,
    ) -> Result<(), Option<DeferReason>> {
        let partitions = &unit.partitions;
        let target = desired.target(unit).filter(|target| **target != owner.name).ok_or(None)?;
        let registration = self.active(target).ok_or(None)?;
        let new = Member { name: target.clone(), incarnation: registration.incarnation.clone() };
        let is_avoided = |at| self.context.memory.avoids(at, &new, self.context.moment);
        let lacks = registration.lacks(self.mode_of_move(unit, partitions));
        if lacks.is_some() || partitions.iter().any(is_avoided) || self.half_switched(partitions).is_some() {
            return Err(None);
        }
        self.room_ahead(&new.name)?;
        let why = Reason::OwnerSuspected { owner: owner.name.clone() };
        self.begin_handoff((unit, partitions), (owner.clone(), new), why, Some(Awaited::EndOfSession), ids);
        Ok(())
    }

    /// Half of what a consumer may warm stays for what moves.
    fn room_ahead(&self, target: &MemberName) -> Result<(), DeferReason> {
        let limit = self.config.max_warming;
        let half = limit.div_ceil(2);
        let count = |warming: &BTreeMap<MemberName, u32>| warming.get(target).copied().unwrap_or_default();
        if count(&self.warming_ahead) >= half {
            return Err(DeferReason::Warming { consumer: target.clone(), limit: half });
        }
        match count(&self.warming) >= limit {
            true => Err(DeferReason::Warming { consumer: target.clone(), limit }),
            false => Ok(()),
        }
    }

    /// The handoffs at `partitions` that prepare for the end of a session: several where a set came to be after they began.
    pub(super) fn prepared(&self, partitions: &[TopicPartition]) -> Vec<&'a Handoff> {
        let state = self.state;
        let handoffs = partitions.iter().filter_map(|at| state.handoff_of(at));
        let prepared = handoffs.filter(|handoff| state.only_prepares(handoff));
        let by_id: BTreeMap<&HandoffId, &Handoff> = prepared.map(|handoff| (&handoff.id, handoff)).collect();
        by_id.into_values().collect()
    }

    /// True if what `owner` has in `mode` waits for the end of its session: its process seems to be dead.
    pub(super) fn waits_for_suspect(&self, owner: &Member, mode: Mode) -> bool {
        mode.is_strict() && self.state.suspicion(owner).is_some()
    }

    /// Lets all that is `prepared` for the end of a session yield to a move of `part` to `target`: it becomes that move where
    /// it goes to the same consumer, and is cancelled elsewhere. Then the move begins with a later plan, and its places
    /// are kept in this one.
    pub(super) fn yield_to(
        &mut self,
        (part, target): (&[TopicPartition], &Member),
        prepared: &[&Handoff],
        why: &Reason,
    ) {
        let goes_on = prepared.iter().find(|prepared| becomes(prepared, part, target));
        self.count_yielded(goes_on.copied(), target);
        for prepared in prepared {
            self.give_way(prepared, becomes(prepared, part, target), why.clone());
        }
    }

    fn give_way(&mut self, prepared: &Handoff, goes_on: bool, why: Reason) {
        let id = prepared.id.clone();
        let (step, next) = match goes_on {
            true => {
                let next = Handoff { awaits: None, why, ..prepared.clone() };
                (Step::Advance { id, phase: prepared.phase }, next)
            }
            false => {
                let why = CancelReason::Replanned;
                let next = Handoff { cancelled: Some(why.clone()), ..prepared.in_phase(Phase::Cancelled) };
                (Step::Cancel { id, to: prepared.new.clone(), why }, next)
            }
        };
        let (unit, write) = (prepared.unit.clone(), Draft::on(self.state).rewrite(&next).into_write());
        self.plan.actions.push(Action { unit, step, write });
    }

    fn count_yielded(&mut self, goes_on: Option<&Handoff>, target: &Member) {
        self.in_flight += 1;
        let Some(prepared) = goes_on else {
            *self.warming.entry(target.name.clone()).or_default() += 1;
            return;
        };
        if prepared.phase == Phase::Warming
            && let Some(ahead) = self.warming_ahead.get_mut(&target.name)
        {
            *ahead = ahead.saturating_sub(1);
        }
    }
}
