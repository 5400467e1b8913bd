//! What routers should be told: where the requests for a partition go, derived from the records.

use crate::id::{Epoch, HandoffId, Member, TopicPartition};
use crate::state::{GroupState, Presence};

/// Where the requests for one partition go.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Route {
    /// To the owner, with its epoch.
    Open {
        /// The owner.
        owner: Member,
        /// Where it takes requests; empty: it did not say.
        endpoint: String,
        /// The epoch that each request has to carry.
        epoch: Epoch,
    },
    /// Nowhere for now: they wait until the handoff is over.
    Stash {
        /// The handoff, to be echoed once nothing is on its way to the old owner any more.
        handoff: HandoffId,
    },
    /// Nowhere: nobody owns it who is here.
    Unowned,
}

/// Where the requests for `at` go; `None` where the partition does not exist in the group, and where a record of it
/// can't be read: then a router goes on as it does.
#[must_use]
pub fn route(state: &GroupState, at: &TopicPartition) -> Option<Route> {
    if state.error_at(at).is_some() || !crate::advance::exists(state, at) {
        return None;
    }
    if let Some(handoff) = state.handoff_of(at).filter(|handoff| handoff.phase.holds_requests()) {
        return Some(Route::Stash { handoff: handoff.id.clone() });
    }
    Some(open(state, at).unwrap_or(Route::Unowned))
}

/// To the owner that the assignment names, unless its session is over: nothing goes to the dead. In `overlap` the old
/// owner works on for a moment after `Complete`; requests go to the new one at once.
fn open(state: &GroupState, at: &TopicPartition) -> Option<Route> {
    let assignment = state.assignment(at)?;
    let owner = assignment.owner.as_ref()?.member();
    if state.presence(&owner) != Presence::Here {
        return None;
    }
    let endpoint = state.registration(&owner.name)?.endpoint.clone();
    Some(Route::Open { owner, endpoint, epoch: assignment.held_epoch() })
}
