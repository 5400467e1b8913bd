//! The fence of single partitions: a session keeps everything but what its owner never lets go.
//!
//! ```text
//!  leader ── registration.fenced += (partition, epoch) ──► store
//!  client ── heartbeat ──► instance reads the registration, confirms ──► the list ──► drops them, claims end
//!  client ── heartbeat with the word ──► instance ── registration.fenced -= (partition, epoch) ──► store
//! ```
//!
//! What keeps a claim valid is the heartbeat of the session, and the registration is the one record that a heartbeat reads
//! linearizably: every heartbeat that is confirmed without the list was sent before the fence was written. So one time to
//! live after that, or its outage grace where the owner may still have one, or with the client's word before, no claim of what is
//! fenced runs. In `overlap` nobody waits.

use crate::record::{Assignment, Capability, Consumer, Handoff, Renewal};
use crate::state::{GroupState, Presence};
use kafka_assigner_types::id::{Epoch, TopicPartition};

impl Consumer {
    /// The most partitions of which one session is fenced at once; with more its client is not well, and the session ends.
    pub const MOST_FENCED: usize = 100;

    /// The epoch up to which grants of `at` are fenced, and not known to be dropped; `None` = none is.
    #[must_use]
    pub fn fenced_epoch(&self, at: &TopicPartition) -> Option<Epoch> {
        self.fenced.get(&at.to_string()).copied()
    }

    /// The registration with `grants` fenced; `None` where its client does not know of fences, or too many stand.
    #[must_use]
    pub fn fencing(&self, grants: impl IntoIterator<Item = (TopicPartition, Epoch)>) -> Option<Self> {
        if !self.capabilities.contains(&Capability::Fence) || self.renewal == Renewal::Server {
            return None;
        }
        let mut next = self.clone();
        for (at, epoch) in grants {
            let highest = next.fenced.entry(at.to_string()).or_default();
            *highest = epoch.max(*highest);
        }
        (next.fenced.len() <= Self::MOST_FENCED).then_some(next)
    }
}

/// The registration of the old owner of `handoff` with the unit fenced under the epochs under which it was granted there;
/// `None` where its session is not there, or can't be fenced in part.
pub(crate) fn of_old_owner(state: &GroupState, handoff: &Handoff) -> Option<Consumer> {
    let registration = state.registration_of(&handoff.old)?;
    if state.presence(&handoff.old) != Presence::Here {
        return None;
    }
    let held = |at: &TopicPartition| Some(state.assignment(at)?.held_epoch());
    let epoch =
        |at: &TopicPartition| if handoff.phase.is_in_flight() { held(at) } else { handoff.old_epoch(at) };
    // One of which no epoch is known can't be fenced, and without it the unit is not.
    let fenced =
        |at: &TopicPartition| Some((at.clone(), epoch(at).filter(|epoch| *epoch > Epoch::default())?));
    let fenced: Vec<_> = handoff.unit.iter().map(fenced).collect::<Option<_>>()?;
    registration.fencing(fenced)
}

/// True if the old owner of `handoff`, whose grants of the unit were fenced for it, has said that it dropped them.
pub(crate) fn is_obeyed(state: &GroupState, handoff: &Handoff) -> bool {
    let Some(registration) = state.registration_of(&handoff.old).filter(|_| handoff.is_fenced) else {
        return false;
    };
    let stands = |at: &TopicPartition| {
        let held = state.assignment(at).map(Assignment::held_epoch);
        registration.fenced_epoch(at).zip(held).is_some_and(|(fenced, held)| fenced >= held)
    };
    !handoff.unit.iter().any(stands)
}
