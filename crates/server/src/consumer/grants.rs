//! The grants that heartbeats report as not begun.

use kafka_assigner_core::begun::{StreamReach, ToldGrants};
use kafka_assigner_core::record::{BegunReport, CommitReport, Extra, UnbegunGrant, UnbegunReason};
use kafka_assigner_core::state::GroupState;
use kafka_assigner_proto::v1::{self, HeartbeatRequest, StreamState, UnbegunPartition, UncommittedPartition};
use kafka_assigner_types::id::{Epoch, Member, TopicPartition};
use kafka_assigner_types::kv::Revision;

use crate::convert;

/// The report of a heartbeat about grants; `None` where the client does not tell.
pub(super) fn told_grants(
    state: &GroupState,
    member: &Member,
    request: &HeartbeatRequest,
) -> Option<ToldGrants> {
    let unbegun = request.unbegun.as_ref()?;
    let (named, beyond) = unbegun.partitions.split_at(unbegun.partitions.len().min(BegunReport::MOST_NAMED));
    let beyond = u32::try_from(beyond.len()).unwrap_or(u32::MAX);
    Some(ToldGrants {
        told: reach(state, member, request.stream.as_ref()),
        named: named.iter().filter_map(grant).collect(),
        unnamed: unbegun.unnamed.saturating_add(beyond),
        uncommitted: uncommitted(request),
    })
}

/// The partitions of which the client has committed nothing under their grants. One that can't be read might be any, so
/// nothing is concluded from a list with such a one; nor from one that is too long.
fn uncommitted(request: &HeartbeatRequest) -> Option<Vec<TopicPartition>> {
    let partitions = &request.uncommitted.as_ref()?.partitions;
    let named = |item: &UncommittedPartition| convert::partition(&item.topic, item.partition).ok();
    let is_heeded = partitions.len() <= CommitReport::MOST_LACKING;
    is_heeded.then(|| partitions.iter().map(named).collect())?
}

/// The part of the state that the client's stream had told. Equal digests tell that it has missed nothing.
fn reach(state: &GroupState, member: &Member, stream: Option<&StreamState>) -> StreamReach {
    let Some(stream) = stream.filter(|stream| stream.revision > 0) else { return StreamReach::AsBefore };
    let digest = state.concern(member).and_then(|concern| concern.digest);
    match digest.is_some_and(|digest| stream.digest == Some(digest.0)) {
        true => StreamReach::Everything,
        false => StreamReach::UpTo(Revision(stream.revision)),
    }
}

/// A grant of the wire; one that names no partition is passed over.
fn grant(item: &UnbegunPartition) -> Option<(TopicPartition, UnbegunGrant)> {
    let why = match item.reason() {
        v1::UnbegunReason::Place => UnbegunReason::Place,
        v1::UnbegunReason::Preparing => UnbegunReason::Preparing,
        v1::UnbegunReason::Starting => UnbegunReason::Starting,
        v1::UnbegunReason::Failing => UnbegunReason::Failing,
        v1::UnbegunReason::Claim => UnbegunReason::Claim,
        v1::UnbegunReason::Clearing => UnbegunReason::Clearing,
        v1::UnbegunReason::Unspecified => UnbegunReason::Other("unknown".to_owned()),
    };
    let at = convert::partition(&item.topic, item.partition).ok()?;
    let (message, extra) = (item.message.clone(), Extra::new());
    Some((
        at,
        UnbegunGrant { epoch: Epoch(item.epoch), why, message, done: item.done, total: item.total, extra },
    ))
}
