//! The facts about a handoff and its partitions that rules, plans and views decide by.

use std::time::Duration;

use crate::claim::{self, ClaimEnd};
use crate::fence;
use crate::leader::{LeaderContext, busy_member, phase_bound};
use crate::record::{Assignment, Capability, Consumer, Handoff, IntentKind, Phase, Standing};
use crate::rules::{Extent, Facts};
use crate::state::{GroupState, Presence, Versioned};
use crate::stops::held;
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::millis;
use kafka_assigner_types::name::MemberName;

/// True if all records of the handoff's unit can be read, of partitions too that no longer move with the others.
pub(crate) fn is_readable(state: &GroupState, handoff: &Handoff) -> bool {
    handoff.unit.iter().all(|at| {
        state.assignments().get(at).is_none_or(|entry| entry.readable().is_some())
            && state.handoffs().get(at).is_none_or(|entry| entry.readable().is_some())
            && state.topics().get(&at.topic).is_none_or(|entry| entry.readable().is_some())
    }) && state.intents().get(handoff.lead()).is_none_or(|entry| entry.readable().is_some())
}

/// Everything that the rules ask of a handoff.
pub(crate) fn facts<'a>(
    state: &'a GroupState,
    handoff: &'a Handoff,
    context: LeaderContext<'_>,
) -> Facts<'a> {
    let is_held = held(state, &handoff.unit).is_some();
    Facts {
        handoff,
        restored: !context.memory.history_wait(context.moment).is_zero(),
        extent: extent(state, handoff),
        assignments_agree: assignments_agree(state, handoff),
        old: state.presence(&handoff.old),
        old_suspected: state.suspicion(&handoff.old).is_some(),
        old_drains: state.drains(&handoff.old),
        owners_die: owners_die(state, handoff, context),
        old_awaited: handoff.is_ahead()
            && context.memory.awaits(state, &handoff.old.name, context.moment)
            && !state.consumers().contains_key(&handoff.old.name),
        old_claim: old_claim(state, handoff, context),
        missing: match handoff.phase {
            Phase::Freezing => state.missing_routers(handoff),
            _ => Vec::new(),
        },
        old_returned: !is_held && may_gain(state, &handoff.old.name, &handoff.unit, handoff.mode),
        new: state.presence(&handoff.new),
        new_suspected: state.suspicion(&handoff.new).is_some(),
        new_may_have_it: !is_held && may_have(state, &handoff.new.name, &handoff.unit, handoff.mode),
        rest_awaited: rest_awaited(state, handoff),
        old_can_be_fenced: fence::of_old_owner(state, handoff).is_some(),
        is_busy: busy_member(state, handoff).is_some(),
        called_off_before: context.memory.was_called_off(handoff.lead(), &handoff.old),
        intent: intent(state, handoff),
        overdue: context.memory.is_overdue(state, handoff, context.moment),
        deadline_ms: millis(phase_bound(state, handoff)),
    }
}

/// True if `handoff` waits until no record of the unit is in the works at its old owner, which is able to say so. From
/// then on requests are held back for as long as the switch takes, and no longer.
pub(crate) fn rest_awaited(state: &GroupState, handoff: &Handoff) -> bool {
    handoff.phase == Phase::Ready
        && handoff.asks_for_rest()
        && can_rest(state, &handoff.old)
        && !handoff.old_has_said_all()
}

/// True if `member` is registered and knows that it is to end the record in the works.
pub(crate) fn can_rest(state: &GroupState, member: &Member) -> bool {
    let registration = state.registration_of(member);
    registration.is_some_and(|consumer| consumer.capabilities.contains(&Capability::Rest))
}

/// The end of the old owner's claims of a handoff, over all of its unit.
fn old_claim(state: &GroupState, handoff: &Handoff, context: LeaderContext<'_>) -> ClaimEnd {
    let running = |at| Some(claim_end(state, at, context)).filter(|end| !end.is_over());
    handoff.unit.iter().find_map(running).unwrap_or(ClaimEnd::Over)
}

/// The end of the claim of the owner of `at`, whose session is over, or who was fenced of it. The claim is over where the
/// owner has reported that it stopped, but after the store was put back: then others may have owned it since, whom no record names.
pub(crate) fn claim_end(state: &GroupState, at: &TopicPartition, context: LeaderContext<'_>) -> ClaimEnd {
    let Some(assignment) = state.assignment(at) else { return ClaimEnd::Over };
    if let Some(fenced) = fenced_owner(state, at) {
        return fenced_claim_end(state, fenced, context);
    }
    let restored = context.memory.history_wait(context.moment);
    if !restored.is_zero() && claim::ended_owner(state, at).is_some() {
        return ClaimEnd::Running(restored);
    }
    let has_left = assignment.owner.as_ref().is_some_and(|owner| state.has_left(&owner.member()));
    if has_left || state.handoff_of(at).is_some_and(|handoff| has_stopped(handoff, assignment)) {
        return ClaimEnd::Over;
    }
    let waits = state.configured(|config| config.wait_out_revocations);
    claim::end_of(assignment, waits, context.leases, context.memory, context.moment)
}

/// The handoff by which the owner of `at`, whose session is there, was fenced of it.
fn fenced_owner<'s>(state: &'s GroupState, at: &TopicPartition) -> Option<&'s Handoff> {
    let handoff = state.handoff_of(at).filter(|h| h.is_fenced && h.phase == Phase::Draining)?;
    let is_owner = state.owner(at).is_some_and(|owner| owner == handoff.old);
    (is_owner && !state.presence(&handoff.old).is_over()).then_some(handoff)
}

/// It has said that it dropped the unit, or all the time is over since the fence was seen for which it may act.
fn fenced_claim_end(state: &GroupState, handoff: &Handoff, context: LeaderContext<'_>) -> ClaimEnd {
    if fence::is_obeyed(state, handoff) {
        return ClaimEnd::Over;
    }
    let is_known = state.presence(&handoff.old) != Presence::Unknown;
    let left = context.memory.phase_left(state, handoff, context.moment).filter(|_| is_known);
    match left.unwrap_or_else(|| phase_bound(state, handoff)) {
        Duration::ZERO => ClaimEnd::Over,
        left => ClaimEnd::Running(left),
    }
}

/// The soonest end among the claims that keep everybody else from acting on `partitions`; `None` where there is none,
/// and [`ClaimEnd::Unasked`] where the store has to be asked first. Until then time alone changes nothing of it.
pub(crate) fn soonest_claim_end<'a>(
    state: &GroupState,
    partitions: impl IntoIterator<Item = &'a TopicPartition>,
    context: LeaderContext<'_>,
) -> Option<ClaimEnd> {
    let left = |end: &ClaimEnd| match end {
        ClaimEnd::Over | ClaimEnd::Unasked => Duration::ZERO,
        ClaimEnd::Running(left) => *left,
    };
    let ended = partitions.into_iter().filter(|at| claim::ended_owner(state, at).is_some());
    let ends = ended.map(|at| claim_end(state, at, context));
    ends.filter(|end| !end.is_over()).min_by_key(left)
}

fn has_stopped(handoff: &Handoff, assignment: &Assignment) -> bool {
    let is_owner = assignment.owner.as_ref().is_some_and(|owner| owner.is(&handoff.old));
    let is_said = handoff.phase == Phase::Draining && handoff.old_has_said_all();
    is_owner && (handoff.phase == Phase::CatchingUp || is_said)
}

/// In the strict modes a topic that came back counts as gone until its partitions are granted anew.
fn extent(state: &GroupState, handoff: &Handoff) -> Extent {
    let is_there = |at: &&TopicPartition| state.exists(at) && !state.is_of_earlier_topic(at);
    match handoff.unit.iter().filter(is_there).count() {
        0 => Extent::Gone,
        left if left < handoff.unit.len() => Extent::Part,
        _ => Extent::Whole,
    }
}

/// True if `name` is registered, takes the whole unit, and can keep what `mode` promises.
pub(crate) fn may_have(state: &GroupState, name: &MemberName, unit: &[TopicPartition], mode: Mode) -> bool {
    state.registration(name).is_some_and(|consumer| {
        consumer.standing == Standing::Active
            && consumer.keeps(mode)
            && unit.iter().all(|at| consumer.subscribes(&at.topic))
    })
}

/// The same, and nothing speaks for the death of its process: a suspect is given nothing.
pub(crate) fn may_gain(state: &GroupState, name: &MemberName, unit: &[TopicPartition], mode: Mode) -> bool {
    let is_heard = |consumer: &Versioned<Consumer>| consumer.suspicion().is_none();
    may_have(state, name, unit, mode) && state.registration(name).is_some_and(is_heard)
}

fn owners_die(state: &GroupState, handoff: &Handoff, context: LeaderContext<'_>) -> bool {
    handoff.unit.iter().any(|at| context.memory.owners_die(state, at, context.moment))
}

fn assignments_agree(state: &GroupState, handoff: &Handoff) -> bool {
    let named = if handoff.phase.is_in_flight() { &handoff.old } else { &handoff.new };
    handoff
        .unit
        .iter()
        .all(|at| state.assignment(at).and_then(|a| a.owner.as_ref()).is_some_and(|owner| owner.is(named)))
}

fn intent<'a>(state: &'a GroupState, handoff: &Handoff) -> Option<&'a IntentKind> {
    let intent = state.intents().get(handoff.lead())?.readable()?;
    (intent.id == handoff.id).then_some(&intent.kind)
}
