//! Acks of the old and the new owner of a handoff. A unit of several partitions goes on once each was acknowledged: or
//! the old owner would let go of a whole set as soon as the new one works on the first of it.

use std::collections::BTreeSet;

use super::{Ack, AckSubject, MemberAck, Verdict, gap_ms, intent, over_session, recorded, refused};
use crate::draft::Draft;
use crate::record::{Assignment, FinalOffset, Handoff, IntentKind, Phase};
use crate::state::{Entry, GroupState, Presence};
use crate::switch_writes;
use crate::write::Write;
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::moment::WallMillis;

pub(super) fn subject<'s>(
    state: &'s GroupState,
    caller: &Member,
    handoff: Option<&'s Handoff>,
    ack: &MemberAck,
) -> Result<AckSubject<'s>, Verdict> {
    let Some(handoff) = handoff else { return grant(state, caller, ack).map(AckSubject::Grant) };
    if ack.handoff.is_none() && handoff.mode.is_strict() {
        return Err(refused(&format!("a handoff in the mode {} has to be named by its id", handoff.mode)));
    }
    match state.presence(caller) {
        Presence::Here => changes(state, caller, handoff, ack).map(|()| AckSubject::Handoff(handoff)),
        Presence::Ending | Presence::Gone => Err(over_session()),
        Presence::Unknown => {
            Err(Verdict::Unreadable { error: "the caller's registration can't be read".to_owned() })
        }
    }
}

/// The grant in another mode that `caller` confirms: an owner goes on under it, and says so by the grant's token.
fn grant<'s>(state: &'s GroupState, caller: &Member, ack: &MemberAck) -> Result<&'s Assignment, Verdict> {
    if let Some(error) = state.error_at(&ack.at) {
        return Err(Verdict::Unreadable { error: error.to_owned() });
    }
    let is_asked = |a: &&Assignment| a.switching.is_some() && a.switching == ack.handoff;
    let assignment = state.assignment(&ack.at).filter(is_asked).ok_or(Verdict::Over)?;
    match &assignment.owner {
        _ if !matches!(ack.ack, Ack::Taken(_)) => Err(Verdict::Over),
        Some(owner) if owner.is(caller) => Ok(assignment),
        _ => Err(refused("only the owner can say this")),
    }
}

/// The write that records that the owner goes on under a grant in another mode.
pub(super) fn confirm(state: &GroupState, assignment: &Assignment, acks: &[&MemberAck]) -> Verdict {
    let next = assignment.switch_confirmed();
    let draft = acks.iter().fold(Draft::on(state), |draft, ack| draft.assign(&ack.at, &next));
    Verdict::Record { write: draft.into_write(), handoff: None }
}

/// Judges if `ack` changes the handoff, as it stands.
fn changes(state: &GroupState, caller: &Member, handoff: &Handoff, ack: &MemberAck) -> Result<(), Verdict> {
    let is_old_owners = matches!(ack.ack, Ack::Rested | Ack::Drained(_) | Ack::Released { .. });
    let speaker = if is_old_owners { &handoff.old } else { &handoff.new };
    if speaker != caller {
        return Err(refused(&format!("only {speaker} can say this of handoff {}", handoff.id)));
    }
    let works = handoff.mode.is_strict() || handoff.taken.is_some();
    match (&ack.ack, handoff.phase) {
        (_, Phase::Cancelled) | (Ack::WarmFailed { .. }, Phase::Complete) => Err(Verdict::Over),
        (Ack::Ready, Phase::Warming) | (Ack::CaughtUp, Phase::CatchingUp) => is_new(handoff, ack),
        (Ack::Taken(_), Phase::Complete) if handoff.taken.is_none() => is_new(handoff, ack),
        (Ack::Rested, Phase::Ready) if handoff.asks_for_rest() => is_new_of_old(handoff, ack),
        (Ack::Drained(_), Phase::Draining) => is_new_of_old(handoff, ack),
        (Ack::Released { .. }, Phase::Complete) if works => is_new_of_old(handoff, ack),
        (Ack::WarmFailed { .. }, _) if !intent::stands(state, handoff) => Ok(()),
        (Ack::Ready | Ack::WarmFailed { .. }, _)
        | (Ack::Rested, Phase::Freezing | Phase::Draining | Phase::CatchingUp | Phase::Complete)
        | (Ack::Drained(_), Phase::CatchingUp | Phase::Complete)
        | (Ack::CaughtUp | Ack::Taken(_), Phase::Complete) => Err(Verdict::Already),
        (_, phase) => Err(refused(&format!("handoff {} is {phase}: it is too early for this", handoff.id))),
    }
}

/// Judges if the new owner has not acknowledged the partition in this phase. What lies complete counts once more, since
/// nothing followed from it.
fn is_new(handoff: &Handoff, ack: &MemberAck) -> Result<(), Verdict> {
    let counts = !handoff.said.contains(&ack.at) || has_whole_unit(&handoff.said, handoff);
    if counts { Ok(()) } else { Err(Verdict::Already) }
}

fn is_new_of_old(handoff: &Handoff, ack: &MemberAck) -> Result<(), Verdict> {
    if handoff.old_said.contains(&ack.at) { Err(Verdict::Already) } else { Ok(()) }
}

/// The write that records acks which change the handoff, and with them whatever follows from them.
pub(super) fn record(
    state: &GroupState,
    caller: &Member,
    handoff: &Handoff,
    acks: &[&MemberAck],
    wall: WallMillis,
) -> Verdict {
    // The last one stands for all: they are of one kind.
    let Some(MemberAck { ack, .. }) = acks.last() else { return Verdict::Already };
    if let Ack::WarmFailed { reason } = ack {
        return intent::intend(state, handoff, IntentKind::Failed { reason: reason.clone() }, wall);
    }
    let next = noted(handoff, acks);
    match follows(state, caller, (handoff, &next), ack, wall) {
        Some(draft) => recorded(measured(state, handoff, acks, draft.into_write()), handoff),
        None => over_session(),
    }
}

/// The handoff with what the acks say.
fn noted(handoff: &Handoff, acks: &[&MemberAck]) -> Handoff {
    let mut next = handoff.clone();
    for MemberAck { at, ack, .. } in acks {
        match ack {
            Ack::Ready | Ack::CaughtUp | Ack::Taken(_) => next.said.insert(at.clone()),
            Ack::Rested | Ack::Released { .. } => next.old_said.insert(at.clone()),
            Ack::Drained(drained) => {
                let last = drained.offset.map(|offset| FinalOffset { at: at.clone(), offset });
                next.stopped_at.extend(last);
                next.last_at = next.last_at.max(drained.last_at);
                next.old_said.insert(at.clone())
            }
            Ack::WarmFailed { .. } | Ack::Frozen => false,
        };
    }
    next
}

/// The write of `next`, and of the step that follows where the whole unit was acknowledged; `None` where the caller's
/// session is not there.
fn follows<'s>(
    state: &'s GroupState,
    caller: &Member,
    (handoff, next): (&Handoff, &Handoff),
    ack: &Ack,
    wall: WallMillis,
) -> Option<Draft<'s>> {
    let registration = state.registration(&caller.name)?;
    let said_all = has_whole_unit(&next.said, next);
    let rewritten = |next: &Handoff| Draft::on(state).registered(&caller.name, registration).rewrite(next);
    match ack {
        Ack::Ready if said_all => Some(rewritten(&next.in_phase(Phase::Ready))),
        Ack::CaughtUp if said_all => switch_writes::complete(state, handoff, wall),
        Ack::Taken(_) if said_all && handoff.old_has_said_all() => Some(Draft::on(state).clear(handoff)),
        Ack::Taken(taken) if said_all => {
            let taken = Some(taken.clone());
            Some(rewritten(&Handoff { taken, said: BTreeSet::new(), ..next.clone() }))
        }
        Ack::Released { .. } if next.old_has_said_all() && handoff.taken.is_some() => {
            Some(Draft::on(state).clear(handoff))
        }
        // Where nothing can follow, the ack is kept alone, and a cancel goes on from there.
        Ack::Drained(_) if next.old_has_said_all() => switch_writes::next(state, next, wall)
            .map(|draft| draft.registered(&caller.name, registration))
            .or_else(|| Some(rewritten(next))),
        _ => Some(rewritten(next)),
    }
}

/// Adds the gap of the move to the assignment that it made, in the same transaction.
fn measured(state: &GroupState, handoff: &Handoff, acks: &[&MemberAck], write: Write) -> Write {
    let is_moved = |assignment: &Assignment| assignment.owner.as_ref().is_some_and(|o| o.is(&handoff.new));
    let gap = acks.iter().find_map(|ack| Some((&ack.at, gap_ms(handoff, &ack.ack)?)));
    let Some((at, gap_ms)) = gap else { return write };
    // A record that can't be read is left alone.
    let assignment = state.assignments().get(at).and_then(Entry::readable).filter(|entry| is_moved(entry));
    let Some(assignment) = assignment else { return write };
    let next = Assignment { gap_ms: Some(gap_ms), ..Assignment::clone(assignment) };
    write.with(Draft::on(state).assign(at, &next).into_write())
}

fn has_whole_unit(said: &BTreeSet<TopicPartition>, handoff: &Handoff) -> bool {
    handoff.unit.iter().all(|at| said.contains(at))
}
