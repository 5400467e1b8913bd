//! Records what members say of handoffs.

use kafka_assigner_core::ack::{Ack, Drained, Verdict, gap_ms, judge};
use kafka_assigner_core::id::{HandoffId, Member, Offset, TopicPartition};
use kafka_assigner_core::moment::WallMillis;
use kafka_assigner_core::record::{Handoff, Taken};
use kafka_assigner_core::state::GroupState;
use kafka_assigner_proto::v1::{
    AckResult, Caller, DrainedPartition, HandledRecord, PartitionAck, WarmFailure,
};
use tonic::Status;

use super::ConsumerService;
use crate::convert;
use crate::group::Group;
use crate::metrics::Metrics;
use crate::recording::{Recorder, Word, bounded};

/// One thing that a member says of one partition.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) at: TopicPartition,
    /// The handoff; `None`: whichever concerns the member, for minimal clients.
    pub(super) id: Option<HandoffId>,
    pub(super) ack: Ack,
}

/// The longest reason that is kept, in characters.
const MOST_TEXT: usize = 1_000;

impl ConsumerService {
    /// Records that partitions are warm. Cancel safe: what was not answered is repeated.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn ready(
        &self,
        caller: Option<Caller>,
        acks: &[PartitionAck],
    ) -> Result<Vec<AckResult>, Status> {
        self.acknowledge(caller, acks, |_| Ack::Ready).await
    }

    /// Records that the new owner processes partitions. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn taken(
        &self,
        caller: Option<Caller>,
        acks: &[PartitionAck],
    ) -> Result<Vec<AckResult>, Status> {
        self.acknowledge(caller, acks, |ack| Ack::Taken(taken(ack.handled.as_ref()))).await
    }

    /// Records that the old owner has stopped, and what follows from it. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn drained(
        &self,
        caller: Option<Caller>,
        acks: &[DrainedPartition],
    ) -> Result<Vec<AckResult>, Status> {
        bounded(acks.len())?;
        let (group, member) = self.caller(caller.as_ref()).await?;
        let said = acks.iter().map(stopped).collect::<Result<Vec<Said>, Status>>()?;
        self.record(&group, &member, &said).await
    }

    /// Records that the new owner has read what was left, and what follows from it. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn caught_up(
        &self,
        caller: Option<Caller>,
        acks: &[PartitionAck],
    ) -> Result<Vec<AckResult>, Status> {
        self.acknowledge(caller, acks, |_| Ack::CaughtUp).await
    }

    /// Records that the old owner let go of partitions. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn released(
        &self,
        caller: Option<Caller>,
        acks: &[PartitionAck],
    ) -> Result<Vec<AckResult>, Status> {
        self.acknowledge(caller, acks, |ack| Ack::Released {
            last_at: ack.handled.as_ref().map(convert::time_of),
        })
        .await
    }

    /// Records that the new owner can't warm partitions. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn warm_failed(
        &self,
        caller: Option<Caller>,
        failures: &[WarmFailure],
    ) -> Result<Vec<AckResult>, Status> {
        bounded(failures.len())?;
        let (group, member) = self.caller(caller.as_ref()).await?;
        let said = failures
            .iter()
            .map(|failure| {
                let at = convert::partition(&failure.topic, failure.partition)?;
                let reason = failure.message.chars().take(MOST_TEXT).collect();
                let id = handoff_id(&failure.handoff_id);
                Ok(Said { at, id, ack: Ack::WarmFailed { reason } })
            })
            .collect::<Result<Vec<Said>, Status>>()?;
        self.record(&group, &member, &said).await
    }

    async fn acknowledge(
        &self,
        caller: Option<Caller>,
        acks: &[PartitionAck],
        ack: impl Fn(&PartitionAck) -> Ack,
    ) -> Result<Vec<AckResult>, Status> {
        bounded(acks.len())?;
        let (group, member) = self.caller(caller.as_ref()).await?;
        let said = acks
            .iter()
            .map(|item| {
                let at = convert::partition(&item.topic, item.partition)?;
                convert::handled_offset(item.handled.as_ref())?;
                Ok(Said { at, id: handoff_id(&item.handoff_id), ack: ack(item) })
            })
            .collect::<Result<Vec<Said>, Status>>()?;
        self.record(&group, &member, &said).await
    }

    /// Records what `member` says.
    pub(super) async fn record(
        &self,
        group: &Group,
        member: &Member,
        said: &[Said],
    ) -> Result<Vec<AckResult>, Status> {
        let spoken = |said| Spoken { metrics: self.instance.metrics(), group, member, said };
        let words: Vec<Spoken<'_>> = said.iter().map(spoken).collect();
        Recorder { instance: &self.instance, group }.record(&words).await
    }
}

/// What a member says, with whom it says it to.
struct Spoken<'a> {
    metrics: &'a Metrics,
    group: &'a Group,
    member: &'a Member,
    said: &'a Said,
}

impl Word for Spoken<'_> {
    fn at(&self) -> &TopicPartition {
        &self.said.at
    }

    fn names_handoff(&self) -> bool {
        self.said.id.is_some()
    }

    fn judge(&self, state: &GroupState, wall: WallMillis) -> Verdict {
        let Said { at, id, ack, .. } = self.said;
        judge(state, self.member, at, id.as_ref(), ack, wall)
    }

    fn recorded(&self, handoff: Option<&Handoff>) {
        if let Some(gap_ms) = handoff.and_then(|handoff| gap_ms(handoff, &self.said.ack)) {
            self.metrics.gap(self.group.name(), gap_ms);
        }
    }
}

fn stopped(item: &DrainedPartition) -> Result<Said, Status> {
    let at = convert::partition(&item.topic, item.partition)?;
    convert::handled_offset(item.handled.as_ref())?;
    let last_at = item.handled.as_ref().map(convert::time_of);
    let offset = item.next_offset.map(|next| convert::offset("next_offset", next)).transpose()?;
    let drained = Drained { offset, last_at };
    Ok(Said { at, id: handoff_id(&item.handoff_id), ack: Ack::Drained(drained) })
}

fn handoff_id(text: &str) -> Option<HandoffId> {
    (!text.is_empty()).then(|| HandoffId::new(text))
}

fn taken(handled: Option<&HandledRecord>) -> Taken {
    Taken {
        first_offset: handled.map(|record| Offset(record.offset)),
        first_at: handled.map(convert::time_of),
    }
}
