//! Records what members say of handoffs.

use kafka_assigner_core::ack::{Ack, Verdict, judge};
use kafka_assigner_core::id::{HandoffId, Member, TopicPartition};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::moment::WallMillis;
use kafka_assigner_core::record::{Handoff, Taken};
use kafka_assigner_proto::v1::{AckOutcome, AckResult, Caller, HandledRecord, PartitionAck, WarmFailure};
use kafka_assigner_proto::{MAX_ACKS, Reason, status};
use tonic::Status;

use super::ConsumerService;
use crate::convert;
use crate::group::Group;
use crate::refusal;

/// One thing that a member says of one partition.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) at: TopicPartition,
    /// The handoff; `None`: whichever concerns the member, for minimal clients.
    pub(super) id: Option<HandoffId>,
    pub(super) ack: Ack,
    /// When the member handled the record at the edge of the switch, where there was one.
    pub(super) edge: Option<WallMillis>,
}

/// How often an ack is judged anew when the record changed under it; each time somebody else made progress.
const ATTEMPTS: usize = 5;

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

    /// Records that the old owner let go of partitions. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn released(
        &self,
        caller: Option<Caller>,
        acks: &[PartitionAck],
    ) -> Result<Vec<AckResult>, Status> {
        self.acknowledge(caller, acks, |_| Ack::Released).await
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
                Ok(Said { at, id, ack: Ack::WarmFailed { reason }, edge: None })
            })
            .collect::<Result<Vec<Said>, Status>>()?;
        self.record(&group, &member, said).await
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
                let edge = item.handled.as_ref().map(convert::time_of);
                Ok(Said { at, id: handoff_id(&item.handoff_id), ack: ack(item), edge })
            })
            .collect::<Result<Vec<Said>, Status>>()?;
        self.record(&group, &member, said).await
    }

    /// Records what `member` says, item by item.
    pub(super) async fn record(
        &self,
        group: &Group,
        member: &Member,
        said: Vec<Said>,
    ) -> Result<Vec<AckResult>, Status> {
        self.catch_up(group, member).await?;
        let mut results = Vec::with_capacity(said.len());
        for item in &said {
            results.push(self.record_one(group, member, item).await?);
        }
        Ok(results)
    }

    /// An ack must not be judged by a view that is older than what made its client say it.
    async fn catch_up(&self, group: &Group, member: &Member) -> Result<(), Status> {
        let key = group.layout().encode(&Key::Consumer(member.name.clone()));
        let (_, revision) = self.instance.store().get(&key).await.map_err(|e| refusal::store(&e))?;
        let patience = self.instance.options().view_patience;
        group.reach(revision, patience).await.map_err(refusal::behind)
    }

    async fn record_one(&self, group: &Group, member: &Member, said: &Said) -> Result<AckResult, Status> {
        let Said { at, id, ack, edge } = said;
        let wall = self.instance.options().wall.now();
        for _ in 0..ATTEMPTS {
            let verdict = group.read(|state| judge(state, member, at, id.as_ref(), ack, wall));
            let Verdict::Record { write, handoff } = verdict else {
                return self.definite(group, at, verdict);
            };
            let outcome =
                self.instance.store().txn(write.unfenced()).await.map_err(|e| refusal::store(&e))?;
            if outcome.succeeded {
                if *ack == Ack::Released {
                    self.note_gap(group, &handoff, *edge);
                }
                self.instance.metrics().ack(group.name(), "applied");
                return Ok(result(at, AckOutcome::Applied, String::new()));
            }
            let patience = self.instance.options().view_patience;
            group.reach(outcome.revision, patience).await.map_err(refusal::behind)?;
        }
        Err(status(Reason::LostRace, format!("the handoff of {at} kept changing; try again")))
    }

    fn definite(&self, group: &Group, at: &TopicPartition, verdict: Verdict) -> Result<AckResult, Status> {
        let (outcome, label, message) = match verdict {
            Verdict::Record { .. } => (AckOutcome::Applied, "applied", String::new()),
            Verdict::Already => (AckOutcome::Already, "already", "it took effect before".to_owned()),
            Verdict::Over => {
                (AckOutcome::Over, "over", "no such handoff is under way; nothing changed".to_owned())
            }
            Verdict::Refused { because } => (AckOutcome::Refused, "refused", because),
            Verdict::Unreadable { error } => {
                return Err(status(
                    Reason::RecordUnreadable,
                    format!("partition {at} is left alone: {error}"),
                ));
            }
        };
        self.instance.metrics().ack(group.name(), label);
        Ok(result(at, outcome, message))
    }

    /// The gap of a move, once both of its edges are known.
    fn note_gap(&self, group: &Group, handoff: &Handoff, last: Option<WallMillis>) {
        let first = handoff.taken.as_ref().and_then(|taken| taken.first_at);
        if let (Some(last), Some(first)) = (last, first) {
            self.instance.metrics().gap(group.name(), first.0.saturating_sub(last.0));
        }
    }
}

fn bounded(items: usize) -> Result<(), Status> {
    if (1..=MAX_ACKS).contains(&items) {
        return Ok(());
    }
    let message = format!("{items} partitions in one call are refused: it takes 1 to {MAX_ACKS}");
    Err(status(Reason::TooManyItems, message))
}

fn handoff_id(text: &str) -> Option<HandoffId> {
    (!text.is_empty()).then(|| HandoffId::new(text))
}

fn taken(handled: Option<&HandledRecord>) -> Taken {
    Taken {
        first_offset: handled.map(|record| kafka_assigner_core::id::Offset(record.offset)),
        first_at: handled.map(convert::time_of),
    }
}

fn result(at: &TopicPartition, outcome: AckOutcome, message: String) -> AckResult {
    AckResult {
        topic: at.topic.to_string(),
        partition: convert::wire_partition(at.partition),
        outcome: outcome.into(),
        message,
    }
}
