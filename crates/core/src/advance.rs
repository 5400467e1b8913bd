//! The next step of a handoff: facts from the state, the row of the [table](crate::rules) that applies, and
//! the guarded write that carries it out.

use std::collections::BTreeSet;

use crate::action::{Action, Step};
use crate::draft::{Draft, next_epoch, owner_of};
use crate::facts::{facts, is_readable};
use crate::fence;
use crate::leader::LeaderContext;
use crate::reason::{CancelReason, FenceReason, Reason};
use crate::record::{Assignment, Consumer, Handoff, Phase, Standing};
use crate::rules::{self, Follow, Rule};
use crate::state::{GroupState, Presence};
use crate::switch_writes::{self, Grant};
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::moment::WallMillis;

/// The next step of the handoff at `lead`; `None` where there is none, where nothing is to be done, and where
/// a record of its unit can't be read (what is unknown is left alone).
#[must_use]
pub fn advance(state: &GroupState, lead: &TopicPartition, context: LeaderContext<'_>) -> Option<Action> {
    let handoff = state.handoff(lead)?;
    advance_by(rules::of_mode(handoff.mode), state, lead, context)
}

/// [`advance`] by another table, for checking what each row is good for.
#[must_use]
pub fn advance_by(
    rules: &[Rule],
    state: &GroupState,
    lead: &TopicPartition,
    context: LeaderContext<'_>,
) -> Option<Action> {
    let handoff = state.handoff(lead)?;
    if !is_readable(state, handoff) {
        return None;
    }
    let facts = facts(state, handoff, context);
    let follow = (rules::first(rules, &facts)?.then)(&facts);
    carry_out(state, handoff, follow, context)
}

fn carry_out(
    state: &GroupState,
    handoff: &Handoff,
    follow: Follow,
    context: LeaderContext<'_>,
) -> Option<Action> {
    let wall = context.wall;
    let id = handoff.id.clone();
    let unit = handoff.unit.clone();
    let (step, draft) = match follow {
        Follow::LeaveToPlan | Follow::Wait => return None,
        Follow::Freeze => freeze(state, handoff, context),
        Follow::Drain => enter(state, handoff, Phase::Draining),
        Follow::Next => next(state, handoff, wall)?,
        Follow::Release => release(state, handoff),
        Follow::Forget => (Step::Forget, forget(state, &unit).clear(handoff)),
        Follow::Clear => (Step::Clear { id }, switch_writes::clear(state, handoff)),
        Follow::Adopt => return adopt(state, handoff, wall),
        Follow::GrantToTarget => {
            let why = Reason::TookOverWarm { owner: handoff.old.name.clone() };
            return regrant(state, handoff, &handoff.new, why, false, wall);
        }
        Follow::GiveBack { avoid } => {
            let why = Reason::GivenBack { from: handoff.new.name.clone() };
            return regrant(state, handoff, &handoff.old, why, avoid, wall);
        }
        Follow::Cancel(why) => cancel(state, handoff, why),
        Follow::Complete => complete(state, handoff, wall)?,
        Follow::FenceOldOwner => fence_old_owner(state, handoff)?,
        Follow::EndOldSession(why) => {
            // Guarded on the handoff, or a release that the view has not seen would cost a session.
            let lead = crate::key::Key::Handoff(handoff.lead().clone());
            let draft = end_session(state, &handoff.old, why.clone())?.unchanged(&lead);
            (Step::EndSession { member: handoff.old.clone(), why }, draft)
        }
    };
    Some(Action { unit, step, write: draft.into_write() })
}

/// Removes the assignments of a unit whose topic is gone. Their epochs go with them: an epoch also rises over
/// the store's revision, so a re-created topic starts above.
pub(crate) fn forget<'a>(state: &'a GroupState, unit: &[TopicPartition]) -> Draft<'a> {
    unit.iter().fold(Draft::on(state), |mut draft, at| {
        let key = crate::key::Key::Assignment(at.clone());
        draft.delete(&key);
        draft.unchanged(&key)
    })
}

fn adopt(state: &GroupState, handoff: &Handoff, wall: WallMillis) -> Option<Action> {
    let registration = state.registration(&handoff.old.name)?;
    let owner = Member { name: handoff.old.name.clone(), incarnation: registration.incarnation.clone() };
    let epoch = next_epoch(state, &handoff.unit);
    let why = Reason::OwnerReturned;
    let grant = Grant { owner: owner_of(&owner, registration), epoch, mode: handoff.mode, why, wall };
    let draft = grant.write(state, Draft::on(state).registered(&owner.name, registration), &handoff.unit);
    // The ended session's word on its records says nothing of those of the new one.
    let next = Handoff { old: owner.clone(), old_said: BTreeSet::new(), ..handoff.clone() };
    let step = Step::Adopt { id: handoff.id.clone(), owner, epoch };
    Some(Action { unit: handoff.unit.clone(), step, write: draft.rewrite(&next).into_write() })
}

/// Grants the unit of a handoff that ends to one of its two parties, as one change.
fn regrant(
    state: &GroupState,
    handoff: &Handoff,
    to: &Member,
    why: Reason,
    avoid: bool,
    wall: WallMillis,
) -> Option<Action> {
    let registration = state.registration(&to.name)?;
    let epoch = next_epoch(state, &handoff.unit);
    let owner = owner_of(to, registration);
    let grant = Grant { owner, epoch, mode: handoff.mode, why: why.clone(), wall };
    let mut draft = Draft::on(state).registered(&to.name, registration);
    for at in &handoff.unit {
        let mut next = grant.next(state, at);
        if avoid && at == handoff.lead() {
            next = next.avoiding(&handoff.new);
        }
        draft = draft.assign(at, &next);
    }
    let from = Some(handoff.old.name.clone());
    let step = Step::Grant { to: to.clone(), from, epoch, why };
    let draft = match switch_writes::given_back(state, handoff, to) {
        Some(awaiting) => draft.rewrite(&awaiting),
        None => draft.clear(handoff),
    };
    Some(Action { unit: handoff.unit.clone(), step, write: draft.into_write() })
}

fn complete<'a>(state: &'a GroupState, handoff: &Handoff, wall: WallMillis) -> Option<(Step, Draft<'a>)> {
    let step = Step::Complete {
        id: handoff.id.clone(),
        from: handoff.old.clone(),
        to: handoff.new.clone(),
        epoch: switch_writes::new_epoch(state, handoff),
    };
    Some((step, switch_writes::complete(state, handoff, wall)?))
}

/// The step that follows once the old owner has stopped, with its writes.
fn next<'a>(state: &'a GroupState, handoff: &Handoff, wall: WallMillis) -> Option<(Step, Draft<'a>)> {
    if handoff.catch_up {
        let step = Step::Advance { id: handoff.id.clone(), phase: Phase::CatchingUp };
        return Some((step, switch_writes::next(state, handoff, wall)?));
    }
    complete(state, handoff, wall)
}

/// Requests are held back from here on. Routers that kept the last freezes from ending are left out: the old owner refuses
/// what they still send to it once it drains.
fn freeze<'a>(state: &'a GroupState, handoff: &Handoff, context: LeaderContext<'_>) -> (Step, Draft<'a>) {
    let without = context.memory.silent_routers(state, context.moment);
    enter(state, &Handoff { without, ..handoff.clone() }, Phase::Freezing)
}

fn enter<'a>(state: &'a GroupState, handoff: &Handoff, phase: Phase) -> (Step, Draft<'a>) {
    let step = Step::Advance { id: handoff.id.clone(), phase };
    (step, Draft::on(state).rewrite(&handoff.in_phase(phase)))
}

/// The attempt ends. Where the old owner was asked to stop, it is granted the unit again with the same write.
fn cancel<'a>(state: &'a GroupState, handoff: &Handoff, why: CancelReason) -> (Step, Draft<'a>) {
    let failed = why.is_failure(handoff.mode).then_some(&handoff.new);
    let draft = match failed.zip(state.assignment(handoff.lead())) {
        _ if handoff.phase.stops_the_old_owner() => switch_writes::renew(state, handoff, failed),
        Some((member, assignment)) => Draft::on(state).assign(handoff.lead(), &assignment.avoiding(member)),
        None => Draft::on(state),
    };
    let cancelled = Handoff { cancelled: Some(why.clone()), ..handoff.in_phase(Phase::Cancelled) };
    let step = Step::Cancel { id: handoff.id.clone(), to: handoff.new.clone(), why };
    (step, draft.rewrite(&cancelled))
}

/// Nobody is left who could be granted it again, and the new owner is stuck: it is an orphan from here on.
fn release<'a>(state: &'a GroupState, handoff: &Handoff) -> (Step, Draft<'a>) {
    let epoch = next_epoch(state, &handoff.unit);
    let draft = handoff.unit.iter().fold(Draft::on(state), |draft, at| match state.assignment(at) {
        Some(assignment) => {
            // The offset at which its last owner once began says nothing of where that stopped.
            let (start, renewed) = (handoff.final_offset(at), assignment.renewed(epoch, None));
            draft.assign(at, &Assignment { owner: None, start, ..renewed.avoiding(&handoff.new) })
        }
        None => draft,
    });
    (Step::Clear { id: handoff.id.clone() }, draft.clear(handoff))
}

/// The old owner never lets go of the unit: it is fenced of it in its registration. In `overlap` the handoff is over with that;
/// in the strict modes its claims are waited for first.
fn fence_old_owner<'a>(state: &'a GroupState, handoff: &Handoff) -> Option<(Step, Draft<'a>)> {
    let lease = state.registration_of(&handoff.old)?.lease;
    let next = fence::of_old_owner(state, handoff)?;
    let draft = match handoff.mode.is_strict() {
        true => Draft::on(state).rewrite(&Handoff { is_fenced: true, ..handoff.clone() }),
        false => switch_writes::clear_fenced(state, handoff, &next),
    };
    Some((Step::Fence { member: handoff.old.clone() }, draft.register(&handoff.old.name, lease, &next)))
}

/// Marks a session as ending: its heartbeats are refused from then on, and its lease is left to run down, since
/// nobody but its consumer knows when it has stopped. `None` where it is over or ending already.
pub(crate) fn end_session<'a>(state: &'a GroupState, member: &Member, why: FenceReason) -> Option<Draft<'a>> {
    let registration = state.registration(&member.name)?;
    if state.presence(member) != Presence::Here {
        return None;
    }
    let next = Consumer { standing: Standing::Ending(why), ..(**registration).clone() };
    Some(Draft::on(state).register(&member.name, registration.lease, &next))
}
