//! What members say of handoffs, and the write that records it.
//!
//! Any instance records an ack: the write is guarded on the very handoff, phase and session that the ack
//! names, so a late, repeated or foreign one changes nothing (invariant I8). No leader is on its path.

use std::collections::BTreeSet;

use crate::draft::Draft;
use crate::handover;
use crate::id::{HandoffId, Member, Offset, TopicPartition};
use crate::key::Key;
use crate::kv::LeaseId;
use crate::moment::WallMillis;
use crate::record::{Assignment, FinalOffset, Handoff, Intent, Phase, RouterAck, Taken, Wish, encode};
use crate::state::{Entry, GroupState, Presence};
use crate::write::Write;

/// What a member says of a handoff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ack {
    /// The new owner has its state.
    Ready,
    /// The old owner has stopped.
    Drained(Drained),
    /// The new owner has taken its fences and read what was left.
    CaughtUp,
    /// The new owner processes; or the owner goes on under the mode of a new grant.
    Taken(Taken),
    /// The old owner let go.
    Released {
        /// When it handled its last record, by its own clock. In the strict modes it said so when it stopped.
        last_at: Option<WallMillis>,
    },
    /// The new owner can't do it.
    WarmFailed {
        /// What it says.
        reason: String,
    },
}

/// What the old owner says when it has stopped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drained {
    /// The record after the last one that it finished; `None`: it does not know, and the committed offset counts.
    pub offset: Option<Offset>,
    /// When it handled its last record, by its own clock.
    pub last_at: Option<WallMillis>,
}

/// What becomes of an ack.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It counts; this write records it.
    Record {
        /// The write.
        write: Write,
        /// The handoff as it was; `None`: it was about a grant in another mode.
        handoff: Option<Box<Handoff>>,
    },
    /// It took effect before.
    Already,
    /// The handoff that it names is over, or never was.
    Over,
    /// It is not the caller's to say, or not in this phase.
    Refused {
        /// Why.
        because: String,
    },
    /// A record that it depends on can't be read: nothing is known, so nothing is changed.
    Unreadable {
        /// What is wrong.
        error: String,
    },
}

/// Judges what `caller` says of the handoff `id` at `at`; `None` means whichever handoff of that partition concerns the
/// caller, for minimal clients. Those exist in `overlap` only: in the strict modes a word that names no handoff is
/// refused, or one about an earlier attempt would end the next (invariant I8).
#[must_use]
pub fn judge(
    state: &GroupState,
    caller: &Member,
    at: &TopicPartition,
    id: Option<&HandoffId>,
    ack: &Ack,
    wall: WallMillis,
) -> Verdict {
    if let Some(error) = state.handoff_error(at) {
        return Verdict::Unreadable { error: error.to_owned() };
    }
    let Some(handoff) = state.handoff_of(at).filter(|handoff| id.is_none_or(|id| handoff.id == *id)) else {
        return confirmed(state, caller, at, id, ack);
    };
    if id.is_none() && handoff.mode.is_strict() {
        return refused(&format!("a handoff in the mode {} has to be named by its id", handoff.mode));
    }
    match state.presence(caller) {
        Presence::Here => {
            measured(state, (handoff, at), ack, judge_phase(state, caller, (handoff, at), ack, wall))
        }
        Presence::Ending | Presence::Gone => refused("the caller's session is over"),
        Presence::Unknown => {
            Verdict::Unreadable { error: "the caller's registration can't be read".to_owned() }
        }
    }
}

/// The gap that a move leaves in a partition, in milliseconds from the old owner's last record to the new one's first, by
/// their own clocks; known with the word that tells its second edge: in `overlap` the old owner's last, in the strict
/// modes, where that one stopped before, the new one's first. 0: they overlapped. Of partitions that move as one it is
/// not known: they have one pair of edges, which need not be of the same partition.
#[must_use]
pub fn gap_ms(handoff: &Handoff, ack: &Ack) -> Option<u64> {
    if handoff.unit.len() > 1 {
        return None;
    }
    let (last, first) = match ack {
        Ack::Released { last_at } if !handoff.mode.is_strict() => {
            (*last_at, handoff.taken.as_ref()?.first_at)
        }
        Ack::Taken(taken) if handoff.mode.is_strict() => (handoff.last_at, taken.first_at),
        _ => return None,
    };
    Some(first?.0.saturating_sub(last?.0))
}

/// Keeps the gap of the move with the assignment that it made, in the same transaction.
fn measured(
    state: &GroupState,
    (handoff, at): (&Handoff, &TopicPartition),
    ack: &Ack,
    verdict: Verdict,
) -> Verdict {
    let Verdict::Record { write, handoff: before } = verdict else { return verdict };
    let is_moved = |assignment: &Assignment| assignment.owner.as_ref().is_some_and(|o| o.is(&handoff.new));
    // What can't be read is left alone.
    let assignment = state.assignments().get(at).and_then(Entry::readable).filter(|entry| is_moved(entry));
    let next = assignment.zip(gap_ms(handoff, ack)).map(|(assignment, gap_ms)| {
        let next = Assignment { gap_ms: Some(gap_ms), ..Assignment::clone(assignment) };
        Draft::on(state).assign(at, &next).into_write()
    });
    let write = next.into_iter().fold(write, Write::with);
    Verdict::Record { write, handoff: before }
}

fn judge_phase(
    state: &GroupState,
    caller: &Member,
    (handoff, at): (&Handoff, &TopicPartition),
    ack: &Ack,
    wall: WallMillis,
) -> Verdict {
    let is_old_owners = matches!(ack, Ack::Drained(_) | Ack::Released { .. });
    let speaker = if is_old_owners { &handoff.old } else { &handoff.new };
    if speaker != caller {
        return refused(&format!("only {speaker} can say this of handoff {}", handoff.id));
    }
    let strict = handoff.mode.is_strict();
    match (ack, handoff.phase) {
        (_, Phase::Cancelled) | (Ack::WarmFailed { .. }, Phase::Complete) => Verdict::Over,
        (Ack::Ready, Phase::Warming) => said(state, caller, (handoff, at), || {
            record(state, caller, handoff, &handoff.in_phase(Phase::Ready))
        }),
        (Ack::Drained(drained), Phase::Draining) => old_stopped(state, caller, (handoff, at), drained, wall),
        (Ack::CaughtUp, Phase::CatchingUp) => said(state, caller, (handoff, at), || {
            handover::complete(state, handoff, wall)
                .map_or_else(|| refused("the caller's session is over"), |draft| noted(draft, handoff))
        }),
        (Ack::Ready, _)
        | (Ack::Drained(_), Phase::CatchingUp | Phase::Complete)
        | (Ack::CaughtUp, Phase::Complete) => Verdict::Already,
        (Ack::Taken(_), Phase::Complete) if handoff.taken.is_some() => Verdict::Already,
        (Ack::Taken(taken), Phase::Complete) => {
            let next = Handoff { taken: Some(taken.clone()), said: BTreeSet::new(), ..handoff.clone() };
            said(state, caller, (handoff, at), || match handoff.old_has_said_all() {
                true => released(state, handoff),
                false => record(state, caller, handoff, &next),
            })
        }
        (Ack::Released { .. }, Phase::Complete) if strict || handoff.taken.is_some() => {
            old_let_go(state, caller, (handoff, at))
        }
        (Ack::WarmFailed { reason }, _) => failed(state, handoff, reason, wall),
        (Ack::Drained(_) | Ack::CaughtUp | Ack::Taken(_) | Ack::Released { .. }, phase) => {
            refused(&format!("handoff {} is {phase}: it is too early for this", handoff.id))
        }
    }
}

fn refused(because: &str) -> Verdict {
    Verdict::Refused { because: because.to_owned() }
}

/// Notes what the new owner said of one partition of a unit; once it was said of all, `then` follows. Or the old owner
/// would let go of a whole set as soon as the new one works on the first of it.
fn said(
    state: &GroupState,
    caller: &Member,
    (handoff, at): (&Handoff, &TopicPartition),
    then: impl FnOnce() -> Verdict,
) -> Verdict {
    if handoff.unit.iter().all(|of| of == at || handoff.said.contains(of)) {
        return then();
    }
    let mut next = handoff.clone();
    if next.said.insert(at.clone()) { record(state, caller, handoff, &next) } else { Verdict::Already }
}

/// Notes where the old owner stopped in one partition; once it has in all of the unit, what follows is written with
/// it. Where that can't be, the word is kept alone, and a cancel goes on from there.
fn old_stopped(
    state: &GroupState,
    caller: &Member,
    (handoff, at): (&Handoff, &TopicPartition),
    drained: &Drained,
    wall: WallMillis,
) -> Verdict {
    let mut next = handoff.clone();
    if !next.old_said.insert(at.clone()) {
        return Verdict::Already;
    }
    let last = drained.offset.map(|offset| FinalOffset { at: at.clone(), offset });
    next.stopped_at.extend(last);
    next.last_at = next.last_at.max(drained.last_at);
    let follows = next.old_has_said_all().then(|| handover::next(state, &next, wall)).flatten();
    let Some(registration) = state.registration(&caller.name) else {
        return refused("the caller's session is over");
    };
    let draft = follows.unwrap_or_else(|| Draft::on(state).rewrite(&next));
    noted(draft.registered(&caller.name, registration), handoff)
}

/// Notes that the old owner let go of one partition; once it has of all, and the new one works, the handoff is over.
fn old_let_go(state: &GroupState, caller: &Member, (handoff, at): (&Handoff, &TopicPartition)) -> Verdict {
    let mut next = handoff.clone();
    if !next.old_said.insert(at.clone()) {
        return Verdict::Already;
    }
    match next.old_has_said_all() && handoff.taken.is_some() {
        true => released(state, handoff),
        false => record(state, caller, handoff, &next),
    }
}

/// An owner goes on under the mode of a new grant, and says so by that grant's token.
fn confirmed(
    state: &GroupState,
    caller: &Member,
    at: &TopicPartition,
    id: Option<&HandoffId>,
    ack: &Ack,
) -> Verdict {
    if let Some(error) = state.error_at(at) {
        return Verdict::Unreadable { error: error.to_owned() };
    }
    let assignment = state.assignment(at).filter(|a| a.switching.is_some() && a.switching.as_ref() == id);
    let (Some(assignment), Ack::Taken(_)) = (assignment, ack) else { return Verdict::Over };
    if !assignment.owner.as_ref().is_some_and(|owner| owner.is(caller)) {
        return refused("only the owner can say this");
    }
    let next = Assignment { switching: None, ..assignment.clone() };
    Verdict::Record { write: Draft::on(state).assign(at, &next).into_write(), handoff: None }
}

fn record(state: &GroupState, caller: &Member, handoff: &Handoff, next: &Handoff) -> Verdict {
    let Some(registration) = state.registration(&caller.name) else {
        return refused("the caller's session is over");
    };
    noted(Draft::on(state).registered(&caller.name, registration).rewrite(next), handoff)
}

fn released(state: &GroupState, handoff: &Handoff) -> Verdict {
    noted(Draft::on(state).clear(handoff), handoff)
}

fn noted(draft: Draft<'_>, handoff: &Handoff) -> Verdict {
    Verdict::Record { write: draft.into_write(), handoff: Some(Box::new(handoff.clone())) }
}

/// Judges what a router says of the handoff `id` at `at`: that it sends nothing to the old owner any more. The last
/// required word brings the handoff into its next phase with it; where two last words cross, the leader does.
#[must_use]
pub fn judge_router(state: &GroupState, router: &Member, at: &TopicPartition, id: &HandoffId) -> Verdict {
    if let Some(error) = state.handoff_error(at) {
        return Verdict::Unreadable { error: error.to_owned() };
    }
    let Some(handoff) = state.handoff_of(at).filter(|handoff| handoff.id == *id) else {
        return Verdict::Over;
    };
    let Some(registration) = state.routers().get(&router.name).and_then(Entry::readable) else {
        return refused("the router's session is over, or its registration can't be read");
    };
    if registration.incarnation != router.incarnation {
        return refused("another session registered under the router's name");
    }
    match handoff.phase {
        Phase::Freezing => frozen(state, (router, registration.lease), (handoff, at)),
        Phase::Draining | Phase::CatchingUp | Phase::Complete => Verdict::Already,
        Phase::Cancelled => Verdict::Over,
        phase => refused(&format!("handoff {} is {phase}: it is too early for this", handoff.id)),
    }
}

fn frozen(
    state: &GroupState,
    (router, lease): (&Member, LeaseId),
    (handoff, at): (&Handoff, &TopicPartition),
) -> Verdict {
    if state.has_said(handoff, at, &router.name, &router.incarnation) {
        return Verdict::Already;
    }
    let ack = RouterAck::new(handoff.id.clone(), router.incarnation.clone());
    let draft = Draft::on(state).routing(&router.name, lease);
    let mut draft = match state.lacks_only(handoff, &router.name, at) {
        true => draft.rewrite(&handoff.in_phase(Phase::Draining)),
        false => draft.unchanged(&Key::Handoff(handoff.lead().clone())),
    };
    draft.put(&Key::RouterAck(at.clone(), router.name.clone()), encode(&ack));
    noted(draft, handoff)
}

fn failed(state: &GroupState, handoff: &Handoff, reason: &str, wall: WallMillis) -> Verdict {
    let wish = Wish::Failed { reason: reason.to_owned() };
    intend(state, handoff, wish, wall)
}

/// An operator's wish to stop the handoff at `at`.
#[must_use]
pub fn abort(state: &GroupState, at: &TopicPartition, reason: &str, wall: WallMillis) -> Verdict {
    if let Some(error) = state.handoff_error(at) {
        return Verdict::Unreadable { error: error.to_owned() };
    }
    match state.handoff_of(at) {
        Some(handoff) if handoff.phase.is_in_flight() => {
            intend(state, handoff, Wish::Abort { reason: reason.to_owned() }, wall)
        }
        Some(handoff) if handoff.phase == Phase::Complete => {
            refused("it is complete: the new owner has it, and only another move can change that")
        }
        Some(_) | None => Verdict::Over,
    }
}

fn intend(state: &GroupState, handoff: &Handoff, wish: Wish, wall: WallMillis) -> Verdict {
    let key = Key::Intent(handoff.lead().clone());
    let stands = state.intents().get(handoff.lead()).and_then(Entry::last_good);
    if stands.is_some_and(|intent| intent.id == handoff.id) {
        return Verdict::Already;
    }
    let mut draft = Draft::on(state).unchanged(&Key::Handoff(handoff.lead().clone())).unchanged(&key);
    draft.put(&key, encode(&Intent::new(handoff.id.clone(), wish, wall)));
    noted(draft, handoff)
}
