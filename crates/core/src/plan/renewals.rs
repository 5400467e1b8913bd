//! Grants to those who have it already, in another mode or above a reservation that is lost.

use super::Planner;
use super::problem::Unit;
use crate::action::{Action, Step};
use crate::draft::{Draft, next_epoch};
use crate::key::Key;
use crate::reason::{DeferReason, Reason};
use crate::record::{Assignment, Consumer, Owner};
use crate::state::Presence;
use crate::switch_writes::Grant;
use kafka_assigner_types::id::{HandoffIds, TopicPartition};
use kafka_assigner_types::mode::Mode;

impl Planner<'_> {
    /// Grants again to the owner that it has what is granted in another mode than it should be, and what has an epoch
    /// reserved for a handoff that is not there any more: the owner goes on. What was granted before its topic was gone
    /// is granted anew, and what an operator resumes is tried again.
    pub(super) fn renew_grants(&mut self, unit: &Unit, ids: &mut HandoffIds) {
        if unit.unreadable.is_some() {
            return;
        }
        let mode = self.state.mode_of(&unit.partitions);
        for at in &unit.partitions {
            let Some(assignment) = self.state.assignment(at) else { continue };
            let Some(owner) = &assignment.owner else { continue };
            if self.state.presence(&owner.member()) != Presence::Here {
                continue;
            }
            if !self.state.handoffs().contains_key(at) {
                self.renew_grant(at, assignment, mode, ids);
            } else if self.state.is_of_earlier_topic(at) {
                // The handoff is cleared first, and nobody is told of the partition until then.
                self.defer(std::slice::from_ref(at), None, DeferReason::HandoffEnding);
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
        if self.state.is_of_earlier_topic(at) {
            return self.grant_anew(at, assignment, owner);
        }
        if assignment.stop.as_ref().is_some_and(|stop| stop.resumed.is_some()) {
            return self.resume(at, assignment, owner);
        }
        let why = match assignment.mode == mode {
            true if assignment.reserved_epoch().is_none() => return,
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
        // In `overlap` a topic may have been gone for a moment without harm; what is granted now is of the topic as it is.
        let topic_since = self.state.topic_since(&at.topic).or(assignment.topic_since);
        let next = Assignment { since: self.context.wall, why, topic_since, ..next };
        self.grant_again(at, owner, &next);
    }

    /// Grants what its owner stopped at to it again, as an operator has commanded: it goes on in the same run, with what it
    /// has, and another mode comes with a later plan.
    fn resume(&mut self, at: &TopicPartition, assignment: &Assignment, owner: &Owner) {
        let epoch = next_epoch(self.state, std::slice::from_ref(at));
        let next = assignment.going_on().renewed(epoch, None);
        let next = Assignment { since: self.context.wall, why: Reason::Resumed, ..next };
        self.grant_again(at, owner, &next);
    }

    /// Grants what its owner has to it as a new run, and not from where it was: it has forgotten that.
    fn grant_anew(&mut self, at: &TopicPartition, assignment: &Assignment, owner: &Owner) {
        let epoch = next_epoch(self.state, std::slice::from_ref(at));
        let (mode, why) = (assignment.mode, Reason::TopicReturned);
        let grant = Grant { owner: owner.clone(), epoch, mode, why, wall: self.context.wall };
        self.grant_again(at, owner, &grant.next(self.state, at));
    }

    /// Writes the next grant of `at` to the owner that it has. It moves with a later plan.
    fn grant_again(&mut self, at: &TopicPartition, owner: &Owner, next: &Assignment) {
        let Some(registration) = self.state.registration(&owner.name) else { return };
        let draft = Draft::on(self.state)
            .registered(&owner.name, registration)
            .unchanged(&Key::Handoff(at.clone()))
            .assign(at, next);
        let (from, epoch, why) = (Some(owner.name.clone()), next.highest_epoch(), next.why.clone());
        let step = Step::Grant { to: owner.member(), from, epoch, why };
        self.plan.actions.push(Action { unit: vec![at.clone()], step, write: draft.into_write() });
        self.renewed.insert(at.clone());
    }

    /// The reason for which an owner is not granted in `mode` yet what it has.
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
        if let Some(why) = self.restored(mode) {
            return Some(why);
        }
        let left_ms = self.outlived_ms(at);
        (mode.is_strict() && left_ms > 0).then_some(DeferReason::Outlived { left_ms })
    }

    /// For how many milliseconds more, begun ones counted, those who owned `at` before may act beside its owner.
    pub(super) fn outlived_ms(&self, at: &TopicPartition) -> u64 {
        let left = self.context.memory.outlived_for(self.state, at, self.context.moment);
        u64::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}
