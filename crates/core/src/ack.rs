//! What members say of handoffs, and the write that records it.
//!
//! Any instance records an ack: the write is guarded on the very handoff, phase and session that the ack
//! names, so a late, repeated or foreign one changes nothing (invariant I8). No leader is on its path.

use crate::draft::Draft;
use crate::id::{HandoffId, Member, TopicPartition};
use crate::key::Key;
use crate::moment::WallMillis;
use crate::record::{Handoff, Intent, Phase, Taken, Wish, encode};
use crate::state::{Entry, GroupState, Presence};
use crate::write::Write;

/// What a member says of a handoff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ack {
    /// The new owner has its state.
    Ready,
    /// The new owner processes.
    Taken(Taken),
    /// The old owner let go.
    Released,
    /// The new owner can't do it.
    WarmFailed {
        /// What it says.
        reason: String,
    },
}

/// What becomes of an ack.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It counts; this write records it.
    Record {
        /// The write.
        write: Write,
        /// The handoff as it was.
        handoff: Box<Handoff>,
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

/// Judges what `caller` says of the handoff `id` at `at`; an empty `id` means whichever handoff of that partition
/// concerns the caller, for minimal clients.
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
        return Verdict::Over;
    };
    match state.presence(caller) {
        Presence::Here => judge_phase(state, caller, (handoff, at), ack, wall),
        Presence::Ending | Presence::Gone => refused("the caller's session is over"),
        Presence::Unknown => {
            Verdict::Unreadable { error: "the caller's registration can't be read".to_owned() }
        }
    }
}

fn judge_phase(
    state: &GroupState,
    caller: &Member,
    (handoff, at): (&Handoff, &TopicPartition),
    ack: &Ack,
    wall: WallMillis,
) -> Verdict {
    let speaker = if matches!(ack, Ack::Released) { &handoff.old } else { &handoff.new };
    if speaker != caller {
        return refused(&format!("only {speaker} can say this of handoff {}", handoff.id));
    }
    match (ack, handoff.phase) {
        (_, Phase::Cancelled) | (Ack::WarmFailed { .. }, Phase::Complete) => Verdict::Over,
        (Ack::Ready, Phase::Warming) => said(state, caller, (handoff, at), || {
            record(state, caller, handoff, &handoff.in_phase(Phase::Ready))
        }),
        (Ack::Ready, Phase::Ready | Phase::Complete) => Verdict::Already,
        (Ack::Taken(_), Phase::Complete) if handoff.taken.is_some() => Verdict::Already,
        (Ack::Taken(taken), Phase::Complete) => {
            let next = Handoff { taken: Some(taken.clone()), ..handoff.in_phase(Phase::Complete) };
            said(state, caller, (handoff, at), || record(state, caller, handoff, &next))
        }
        (Ack::Released, Phase::Complete) if handoff.taken.is_some() => {
            said(state, caller, (handoff, at), || released(state, handoff))
        }
        (Ack::WarmFailed { reason }, Phase::Warming | Phase::Ready) => failed(state, handoff, reason, wall),
        (Ack::Taken(_) | Ack::Released, phase) => {
            refused(&format!("handoff {} is {phase}: it is too early for this", handoff.id))
        }
    }
}

fn refused(because: &str) -> Verdict {
    Verdict::Refused { because: because.to_owned() }
}

/// Notes what was said of one partition of a unit; once it was said of all, `then` follows. Or the old owner would
/// let go of a whole set as soon as the new one works on the first of it.
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

fn record(state: &GroupState, caller: &Member, handoff: &Handoff, next: &Handoff) -> Verdict {
    let Some(registration) = state.registration(&caller.name) else {
        return refused("the caller's session is over");
    };
    let draft = Draft::on(state).registered(&caller.name, registration).rewrite(next);
    Verdict::Record { write: draft.into_write(), handoff: Box::new(handoff.clone()) }
}

fn released(state: &GroupState, handoff: &Handoff) -> Verdict {
    let draft = Draft::on(state).clear(handoff);
    Verdict::Record { write: draft.into_write(), handoff: Box::new(handoff.clone()) }
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
    Verdict::Record { write: draft.into_write(), handoff: Box::new(handoff.clone()) }
}
