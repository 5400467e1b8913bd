//! Looks for the sessions that this instance heard last, and has not heard for a whole time to live.
//!
//! Their leases should be over by then. They are not where the store gave them their whole time again, as etcd does with
//! each change of its leader.

use std::time::Duration;

use kafka_assigner_core::suspicion::MarkWithheld;
use kafka_assigner_types::id::Member;
use tokio::sync::Semaphore;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use super::{Suspect, SuspectedFor};
use crate::group::ServedGroup;
use crate::instance::Instance;

/// The time between two looks: short against every time to live, 2 s at the least.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The most sessions of a group that one look deals with. Clients that send their heartbeats elsewhere from now on are looked
/// for a few times, which costs a call of the store each.
const MOST_AT_ONCE: usize = 20;

/// The most groups that ask the store about a session at the same time.
const MOST_ASKING: usize = 4;

/// Bounds what all groups of an instance ask the store at the same time.
#[derive(Debug)]
pub(crate) struct SilenceTurns(Semaphore);

impl Default for SilenceTurns {
    fn default() -> Self {
        Self(Semaphore::new(MOST_ASKING))
    }
}

/// Looks at the sessions of one group until `stop`: an instance that leaves sends its clients elsewhere. A task of the group, so
/// that a group whose calls hang, or at which it panics, keeps nobody from the others.
pub(crate) async fn look_for_silence(instance: Instance, group: ServedGroup, stop: CancellationToken) {
    if instance.options().suspect_after.is_zero() {
        return;
    }
    // Groups look one after the other, not all at the same moment.
    let offset = Duration::from_millis(instance.entropy().number() % 1_000);
    let mut looks = interval_at(Instant::now() + offset, LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            _ = looks.tick() => look(&instance, &group).await,
        }
    }
}

/// Looks once. Whoever was not heard while the store could not be reached may have been told so, and gone elsewhere.
async fn look(instance: &Instance, group: &ServedGroup) {
    let Some(in_contact) = instance.store_contact().since() else { return };
    let unheard = group.read(|state| group.sessions().unheard(state, in_contact, MOST_AT_ONCE));
    for (member, since) in unheard {
        let turn = instance.silence_turns().0.acquire().await;
        mark(instance, group, &member, since).await;
        drop(turn);
    }
}

/// Marks a session, and forgets that it was heard here: from now on whoever hears it has heard it last.
///
/// One that was renewed may be heard elsewhere, or the store gave all leases their whole time again: further looks tell.
async fn mark(instance: &Instance, group: &ServedGroup, member: &Member, since: Instant) {
    let sessions = group.sessions();
    match (Suspect { instance, group, member }).suspect(SuspectedFor::Unheard { since }).await {
        Err(MarkWithheld::Undecided) => {}
        Err(MarkWithheld::Renewed) if sessions.look_again(member, since) => {}
        Ok(()) | Err(_) => sessions.forget_heard(member, since),
    }
}
