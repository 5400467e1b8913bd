//! Grants for the partitions that nobody works on.

use std::collections::{BTreeMap, BTreeSet};

use super::Planner;
use super::problem::{Desired, Unit};
use crate::action::{Action, Step};
use crate::claim::ClaimEnd;
use crate::draft::{Draft, next_epoch, owner_of};
use crate::facts::{claim_end, is_readable, may_gain, may_have};
use crate::key::Key;
use crate::reason::{DeferReason, Reason};
use crate::record::{Assignment, Handoff, Phase};
use crate::state::Presence;
use crate::switch_writes::{Grant, awaiting, clear};
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::millis;
use kafka_assigner_types::name::MemberName;

/// The result for a partition in the search for orphans.
enum Claimant {
    Working,
    Grant { to: MemberName, from: Option<MemberName> },
    Wait(DeferReason),
}

impl Planner<'_> {
    /// Grants the partitions of a unit that nobody works on, all that go to the same consumer in the same mode as one
    /// change.
    pub(super) fn grant_orphans(&mut self, unit: &Unit, desired: &Desired) {
        if unit.unreadable.is_some() {
            return;
        }
        let mut grants: BTreeMap<(MemberName, Option<MemberName>, Mode), Vec<TopicPartition>> =
            BTreeMap::new();
        for at in &unit.partitions {
            if let Some(why) = self.owners_die(at, unit).or_else(|| self.prepared_for(at)) {
                if self.state.handoff(at).is_some_and(|handoff| !self.takes(handoff)) {
                    self.clear_dead(at);
                }
                self.defer(std::slice::from_ref(at), None, why);
                continue;
            }
            match self.claimant(at, unit, desired) {
                Claimant::Working => {}
                Claimant::Grant { to, from } => {
                    let mode = self.mode_of_grant(at, &unit.partitions);
                    grants.entry((to, from, mode)).or_default().push(at.clone());
                }
                Claimant::Wait(why) => {
                    self.clear_dead(at);
                    self.defer(std::slice::from_ref(at), None, why);
                }
            }
        }
        for ((to, from, mode), partitions) in grants {
            self.grant(&to, from, mode, partitions);
        }
    }

    /// A handoff of which both parties are gone is cleared with the grant; where there is nobody to grant to, alone,
    /// or it would count against the budgets for ever. Not alone while a part of it can't be read; a grant does not
    /// wait for that, since the part no longer moves with what is granted.
    fn clear_dead(&mut self, at: &TopicPartition) {
        let Some(handoff) = self.state.handoff(at) else { return };
        // The report of the old owner about where it stopped goes into the grant; from Complete on the assignment has
        // it.
        let keeps_offset = handoff.phase.is_in_flight() && !handoff.stopped_at.is_empty();
        // A member that has still to let go says so to the handoff.
        let is_awaited = handoff.phase == Phase::Complete
            && !handoff.mode.is_strict()
            && !self.state.presence(&handoff.old).is_over();
        let is_readable = is_readable(self.state, handoff);
        if handoff.phase == Phase::Cancelled || keeps_offset || is_awaited || !is_readable {
            return;
        }
        let write = clear(self.state, handoff).into_write();
        let step = Step::Clear { id: handoff.id.clone() };
        self.plan.actions.push(Action { unit: handoff.unit.clone(), step, write });
    }

    fn claimant(&self, at: &TopicPartition, unit: &Unit, desired: &Desired) -> Claimant {
        let assignment = self.state.assignment(at);
        let owner = assignment.and_then(|assignment| assignment.owner.as_ref());
        if owner.is_some_and(|o| !self.state.presence(&o.member()).is_over() || self.is_driven(at)) {
            return Claimant::Working;
        }
        if let Some(why) = self.stopped(&unit.partitions) {
            return Claimant::Wait(why);
        }
        let was_granted_in = assignment.filter(|_| owner.is_some()).map(|assignment| assignment.mode);
        let modes = [Some(self.mode_of_grant(at, &unit.partitions)), was_granted_in];
        if let Some(why) = modes.into_iter().flatten().find_map(|mode| self.restored(mode)) {
            return Claimant::Wait(why);
        }
        let Some(owner) = owner else { return self.for_target(None, unit, desired) };
        if let Some(why) = self.claim_runs(&owner.name, at) {
            return Claimant::Wait(why);
        }
        if self.returned(&owner.name, unit) {
            return Claimant::Grant { to: owner.name.clone(), from: Some(owner.name.clone()) };
        }
        if self.context.memory.awaits(self.state, &owner.name, self.context.moment)
            && !self.state.consumers().contains_key(&owner.name)
        {
            return Claimant::Wait(DeferReason::AwaitingRejoin { owner: owner.name.clone() });
        }
        self.for_target(Some(owner.name.clone()), unit, desired)
    }

    /// Nobody acts in an owner's place before its claim is over.
    fn claim_runs(&self, owner: &MemberName, at: &TopicPartition) -> Option<DeferReason> {
        let left_ms = match claim_end(self.state, at, self.context) {
            ClaimEnd::Over => return None,
            ClaimEnd::Running(left) => Some(millis(left)),
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

    /// True if the partition's handoff finds it an owner by a rule of its own.
    fn is_driven(&self, at: &TopicPartition) -> bool {
        self.state.handoff_of(at).is_some_and(|handoff| match handoff.phase {
            Phase::Complete if handoff.mode.is_strict() => false,
            Phase::Complete => handoff.taken.is_none() && !self.state.presence(&handoff.old).is_over(),
            Phase::Cancelled => false,
            _ => self.takes(handoff),
        })
    }

    /// A record that kills its owners must not do so faster than by the ends of their sessions. What moves with its
    /// partition waits too.
    fn owners_die(&self, at: &TopicPartition, unit: &Unit) -> Option<DeferReason> {
        let owner = self.state.owner(at).filter(|owner| self.state.is_taken_over(owner))?.name;
        let kills = |at| self.context.memory.owners_die(self.state, at, self.context.moment);
        unit.partitions.iter().any(kills).then_some(DeferReason::OwnersDie { owner })
    }

    /// A handoff that was prepared for the end of a session is kept while its owner may come back.
    fn prepared_for(&self, at: &TopicPartition) -> Option<DeferReason> {
        let handoff = self.state.handoff_of(at).filter(|handoff| handoff.is_ahead())?;
        let owner = self.state.owner(at).filter(|owner| *owner == handoff.old)?.name;
        let is_absent = !self.state.consumers().contains_key(&owner);
        let awaits = is_absent && self.context.memory.awaits(self.state, &owner, self.context.moment);
        (awaits && self.takes(handoff)).then_some(DeferReason::AwaitingRejoin { owner })
    }

    /// A suspect that has not begun is given nothing; what is further goes on.
    fn takes(&self, handoff: &Handoff) -> bool {
        let is_early = matches!(handoff.phase, Phase::Warming | Phase::Ready);
        let is_heard = || self.state.suspicion(&handoff.new).is_none();
        self.state.presence(&handoff.new) == Presence::Here
            && (!is_early || is_heard())
            && self.stopped(&handoff.unit).is_none()
            && may_have(self.state, &handoff.new.name, &handoff.unit, handoff.mode)
    }

    /// True if the vanished owner's name is here again and may have the unit.
    fn returned(&self, name: &MemberName, unit: &Unit) -> bool {
        may_gain(self.state, name, &unit.partitions, self.state.mode_of(&unit.partitions))
    }

    fn grant(&mut self, to: &MemberName, from: Option<MemberName>, mode: Mode, unit: Vec<TopicPartition>) {
        let Some(registration) = self.active(to) else { return };
        let member = Member { name: to.clone(), incarnation: registration.incarnation.clone() };
        let why = match &from {
            None => Reason::Unowned,
            Some(name) if name == to => Reason::OwnerReturned,
            Some(name) => Reason::OwnerGone { owner: name.clone() },
        };
        if let Some(lacks) = registration.lacks(mode) {
            let why = DeferReason::ModeUnkept { consumer: to.clone(), lacks: lacks.to_owned() };
            return self.defer(&unit, Some(to), why);
        }
        let epoch = next_epoch(self.state, &unit);
        let owner = owner_of(&member, registration);
        let grant = Grant { owner, epoch, mode, why: why.clone(), wall: self.context.wall };
        let draft = unit.iter().fold(Draft::on(self.state).registered(to, registration), |draft, at| {
            draft.assign(at, &self.starting(at, grant.next(self.state, at)))
        });
        let draft = self.clear_or_guard(draft, &unit, &member);
        if draft.is_too_large() {
            self.clear_parts(&unit);
            return self.defer(&unit, Some(to), DeferReason::HandoffEnding);
        }
        let step = Step::Grant { to: member, from, epoch, why };
        self.plan.actions.push(Action { unit, step, write: draft.into_write() });
    }

    /// Parts of a set that have handoffs of their own make one write with the grant too large for a store. Then these are
    /// cleared in writes of their own, and the set is granted with the next plan. Nobody may act on it any more.
    fn clear_parts(&mut self, unit: &[TopicPartition]) {
        let mut leads: Vec<&TopicPartition> = Vec::new();
        for handoff in unit.iter().filter_map(|at| self.state.handoff_of(at)) {
            if leads.contains(&handoff.lead()) {
                continue;
            }
            leads.push(handoff.lead());
            let step = Step::Clear { id: handoff.id.clone() };
            let write = self.without_owner(handoff).into_write();
            self.plan.actions.push(Action { unit: handoff.unit.clone(), step, write });
        }
    }

    /// The end of a handoff of which both parties are gone: its partitions have no owner, and keep where the last one
    /// stopped.
    fn without_owner(&self, handoff: &Handoff) -> Draft<'_> {
        let epoch = next_epoch(self.state, &handoff.unit);
        let is_stopped = handoff.phase.stops_the_old_owner();
        let draft = handoff.unit.iter().fold(Draft::on(self.state), |draft, at| {
            let Some(before) = self.state.assignment(at) else { return draft };
            let start = handoff.final_offset(at).filter(|_| is_stopped);
            draft.assign(at, &Assignment { owner: None, start, ..before.renewed(epoch, None) })
        });
        draft.clear(handoff)
    }

    /// The grant hands on where the last owner stopped: by the handoff that ends with it, or by the assignment where that
    /// handoff ended without an owner. That this one has committed an offset is known to the leader alone, once its session is
    /// over.
    fn starting(&self, at: &TopicPartition, next: Assignment) -> Assignment {
        let handoff = self.state.handoff_of(at).filter(|handoff| handoff.phase.stops_the_old_owner());
        let released = self.state.assignment(at).filter(|assignment| assignment.owner.is_none());
        let stopped_at = handoff.and_then(|handoff| handoff.final_offset(at));
        let start = stopped_at.or_else(|| released.and_then(|assignment| assignment.start));
        let start = start.filter(|_| !self.state.is_of_earlier_topic(at));
        let committed_in = self.context.memory.committed_in(self.state, at).or(next.committed_in);
        Assignment { start: start.or(next.start), committed_in, ..next }
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
}
