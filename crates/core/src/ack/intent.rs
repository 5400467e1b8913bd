//! Intents to stop a handoff. Each lies under a key of its own, and only the leader acts on it.

use super::{Verdict, recorded, refused};
use crate::draft::Draft;
use crate::key::Key;
use crate::record::{Handoff, Intent, IntentKind, Phase, encode};
use crate::state::{Entry, GroupState};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::WallMillis;

/// An operator's intent to stop the handoff at `at`.
#[must_use]
pub fn abort(state: &GroupState, at: &TopicPartition, reason: &str, wall: WallMillis) -> Verdict {
    if let Some(error) = state.handoff_error(at) {
        return Verdict::Unreadable { error: error.to_owned() };
    }
    match state.handoff_of(at) {
        Some(handoff) if handoff.phase.is_in_flight() => {
            intend(state, handoff, IntentKind::Abort { reason: reason.to_owned() }, wall)
        }
        Some(handoff) if handoff.phase == Phase::Complete => {
            refused("it is complete: the new owner has it, and only another move can change that")
        }
        Some(_) | None => Verdict::Over,
    }
}

/// Records an intent, unless one stands.
pub(super) fn intend(state: &GroupState, handoff: &Handoff, kind: IntentKind, wall: WallMillis) -> Verdict {
    if stands(state, handoff) {
        return Verdict::Already;
    }
    let key = Key::Intent(handoff.lead().clone());
    let mut draft = Draft::on(state).unchanged(&Key::Handoff(handoff.lead().clone())).unchanged(&key);
    draft.put(&key, encode(&Intent::new(handoff.id.clone(), kind, wall)));
    recorded(draft.into_write(), handoff)
}

/// True if an intent to stop the handoff stands already.
pub(super) fn stands(state: &GroupState, handoff: &Handoff) -> bool {
    let stands = state.intents().get(handoff.lead()).and_then(Entry::last_good);
    stands.is_some_and(|intent| intent.id == handoff.id)
}
