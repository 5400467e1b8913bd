//! Looks for the sessions that this instance heard last, and has not heard for a whole time to live.
//!
//! Their leases should be over by then. They are not where the store gave them their whole time again, as etcd does with
//! each change of its leader.

use std::time::Duration;

use kafka_assigner_core::suspicion::MarkWithheld;
use kafka_assigner_types::id::Member;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::{Suspect, SuspectedFor};
use crate::group::ServedGroup;
use crate::instance::Instance;

/// The time between two looks: short against every time to live, 2 s at the least.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The most sessions that are looked for at once. Clients that send their heartbeats elsewhere from now on are looked for a
/// few times, which costs a call of the store each: so many a second burden none.
const MOST_AT_ONCE: usize = 20;

/// Looks until the instance leaves: it sends its clients elsewhere then.
pub(crate) async fn look_for_silence(instance: Instance) {
    if instance.options().suspect_after.is_zero() {
        return;
    }
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = instance.leaving().cancelled() => return,
            _ = looks.tick() => look(&instance).await,
        }
    }
}

/// Looks at every group. Whoever was not heard while the store could not be reached may have been told so, and gone elsewhere.
async fn look(instance: &Instance) {
    let Some(in_contact) = instance.store_contact().since() else { return };
    let mut room = MOST_AT_ONCE;
    for group in instance.groups() {
        let unheard = group.read(|state| group.sessions().unheard(state, in_contact, room));
        room -= unheard.len();
        for (member, since) in unheard {
            mark(instance, &group, &member, since).await;
        }
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
