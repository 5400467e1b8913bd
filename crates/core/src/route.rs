//! The routes that routers should be told: where the requests for a partition go, derived from the records.

use crate::record::Owner;
use crate::state::{GroupState, Presence};
use kafka_assigner_types::id::{Epoch, HandoffId, Member, TopicPartition};

/// The target of the requests for one partition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Route {
    /// To the owner, with its epoch.
    Open {
        /// The owner.
        owner: Member,
        /// The address at which it takes requests; empty: it did not say.
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

/// The destination of the requests for `at`; `None` where the partition does not exist in the group, and where that
/// [can't be decided](is_undecided): then a router goes on as it does.
#[must_use]
pub fn route(state: &GroupState, at: &TopicPartition) -> Option<Route> {
    if is_undecided(state, at) || !state.exists(at) {
        return None;
    }
    Some(stash(state, at).or_else(|| open(state, at)).unwrap_or(Route::Unowned))
}

/// True if nobody knows where the requests for `at` go: a record of the partition can't be read, or its owner's
/// registration can't, which says that the owner is there and not what it is.
#[must_use]
pub fn is_undecided(state: &GroupState, at: &TopicPartition) -> bool {
    let owner = || state.assignment(at)?.owner.as_ref().map(Owner::member);
    let is_unknown = || owner().is_some_and(|owner| state.presence(&owner) == Presence::Unknown);
    state.error_at(at).is_some() || (stash(state, at).is_none() && is_unknown())
}

fn stash(state: &GroupState, at: &TopicPartition) -> Option<Route> {
    let handoff = state.handoff_of(at).filter(|handoff| handoff.phase.holds_requests())?;
    Some(Route::Stash { handoff: handoff.id.clone() })
}

/// To the owner that the assignment names, unless its session is over, or its topic was gone and it has forgotten the
/// partition. In `overlap` the old owner works on for a moment after `Complete`; requests go to the new one at once.
fn open(state: &GroupState, at: &TopicPartition) -> Option<Route> {
    let assignment = state.assignment(at)?;
    let owner = assignment.owner.as_ref()?.member();
    if state.presence(&owner) != Presence::Here || state.is_of_earlier_topic(at) {
        return None;
    }
    let endpoint = state.registration(&owner.name)?.endpoint.clone();
    Some(Route::Open { owner, endpoint, epoch: assignment.held_epoch() })
}
