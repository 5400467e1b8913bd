//! The acks of members, as each call of the wire carries them.

use kafka_assigner_core::ack::{Ack, Drained, MemberAck};
use kafka_assigner_core::record::Taken;
use kafka_assigner_proto::v1::{DrainedPartition, HandledRecord, PartitionAck, RouteAck, WarmFailure};
use kafka_assigner_types::id::HandoffId;
use tonic::Status;

use crate::recording::bounded;
use crate::{convert, refusal};

/// The longest reason that is kept, in characters.
const MOST_TEXT: usize = 1_000;

/// The acks that the items of one call are, by `read`.
pub(super) fn all<I>(
    items: &[I],
    read: impl Fn(&I) -> Result<MemberAck, Status>,
) -> Result<Vec<MemberAck>, Status> {
    bounded(items.len())?;
    items.iter().map(read).collect()
}

/// `PartitionReady`.
pub(super) fn ready(item: &PartitionAck) -> Result<MemberAck, Status> {
    partition(item, Ack::Ready)
}

/// `PartitionRested`.
pub(super) fn rested(item: &PartitionAck) -> Result<MemberAck, Status> {
    partition(item, Ack::Rested)
}

/// `PartitionDrained`.
pub(super) fn drained(item: &DrainedPartition) -> Result<MemberAck, Status> {
    let offset = item.next_offset.map(|offset| convert::offset("next_offset", offset)).transpose()?;
    let last_at = edge(item.handled.as_ref())?.map(|record| convert::time_of(&record));
    let at = convert::partition(&item.topic, item.partition)?;
    Ok(MemberAck { at, handoff: handoff(&item.handoff_id), ack: Ack::Drained(Drained { offset, last_at }) })
}

/// `PartitionCaughtUp`.
pub(super) fn caught_up(item: &PartitionAck) -> Result<MemberAck, Status> {
    partition(item, Ack::CaughtUp)
}

/// `PartitionTaken`.
pub(super) fn taken(item: &PartitionAck) -> Result<MemberAck, Status> {
    let first = item.handled.as_ref();
    let taken = Taken {
        first_offset: convert::handled_offset(item.handled.as_ref())?,
        first_at: first.map(convert::time_of),
        ..Taken::default()
    };
    partition(item, Ack::Taken(taken))
}

/// `PartitionReleased`.
pub(super) fn released(item: &PartitionAck) -> Result<MemberAck, Status> {
    let last_at = edge(item.handled.as_ref())?.map(|record| convert::time_of(&record));
    partition(item, Ack::Released { last_at })
}

/// `WarmFailed`.
pub(super) fn warm_failed(item: &WarmFailure) -> Result<MemberAck, Status> {
    let reason = item.message.chars().take(MOST_TEXT).collect();
    let at = convert::partition(&item.topic, item.partition)?;
    Ok(MemberAck { at, handoff: handoff(&item.handoff_id), ack: Ack::WarmFailed { reason } })
}

/// `Ack` of a router.
pub(super) fn frozen(item: &RouteAck) -> Result<MemberAck, Status> {
    let named = handoff(&item.handoff_id).ok_or_else(|| {
        refusal::field("handoff_id is missing: an ack counts only for the handoff that it names")
    })?;
    let at = convert::partition(&item.topic, item.partition)?;
    Ok(MemberAck { at, handoff: Some(named), ack: Ack::Frozen })
}

fn partition(item: &PartitionAck, ack: Ack) -> Result<MemberAck, Status> {
    let at = convert::partition(&item.topic, item.partition)?;
    Ok(MemberAck { at, handoff: handoff(&item.handoff_id), ack })
}

fn handoff(id: &str) -> Option<HandoffId> {
    (!id.is_empty()).then(|| HandoffId::new(id))
}

/// The record at one edge of a move, where the client knows it.
fn edge(handled: Option<&HandledRecord>) -> Result<Option<HandledRecord>, Status> {
    convert::handled_offset(handled)?;
    Ok(handled.copied())
}
