//! Records what members say of handoffs.

use futures::{StreamExt as _, stream};
use kafka_assigner_core::ack::{Ack, Drained, Verdict, judge};
use kafka_assigner_core::id::{HandoffId, Member, Offset, TopicPartition};
use kafka_assigner_core::kv::{Limits, Revision};
use kafka_assigner_core::moment::WallMillis;
use kafka_assigner_core::record::{Handoff, Taken};
use kafka_assigner_core::write::{Write, chunk_unfenced};
use kafka_assigner_proto::v1::{
    AckOutcome, AckResult, Caller, DrainedPartition, HandledRecord, PartitionAck, WarmFailure,
};
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

/// What records one ack.
#[derive(Debug)]
struct Recording {
    /// Which of the acks.
    index: usize,
    write: Write,
    /// `None`: it is about a grant in another mode.
    handoff: Option<Box<Handoff>>,
}

/// What came of a look at several acks.
#[derive(Debug, Default)]
struct Judged {
    /// What changes nothing, by the number of the ack.
    answered: Vec<(usize, AckResult)>,
    recordings: Vec<Recording>,
    /// The last one that names no handoff and of which nothing is known, since a record can't be read.
    unreadable: Option<Status>,
}

/// How often an ack is judged anew when the record changed under it; each time somebody else made progress.
const ATTEMPTS: usize = 5;

/// In how many of them acks share transactions. After that each has its own, and stands in no other's way.
const JOINT: usize = 2;

/// Limits that nothing shares a transaction under.
const ALONE: Limits = Limits { operations: 0, bytes: 0 };

/// Transactions of one call under way at a time: as many as saturate one etcd; more only queue there.
const AT_A_TIME: usize = 4;

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
                let edge = item.handled.as_ref().map(convert::time_of);
                Ok(Said { at, id: handoff_id(&item.handoff_id), ack: ack(item), edge })
            })
            .collect::<Result<Vec<Said>, Status>>()?;
        self.record(&group, &member, &said).await
    }

    /// Records what `member` says, as much in one transaction as fits. What can't be decided keeps nothing else from
    /// being recorded. It is answered so where it names its handoff; the smallest clients, which name none, know
    /// nothing of such answers, so for them the call fails in the end.
    pub(super) async fn record(
        &self,
        group: &Group,
        member: &Member,
        said: &[Said],
    ) -> Result<Vec<AckResult>, Status> {
        let mut results: Vec<Option<AckResult>> = vec![None; said.len()];
        let mut unreadable = None;
        for attempt in 0..ATTEMPTS {
            let judged = self.judge_open(group, member, said, &results);
            for (index, result) in judged.answered {
                results[index] = Some(result);
            }
            unreadable = judged.unreadable;
            if judged.recordings.is_empty() {
                break;
            }
            let limits = if attempt < JOINT { self.instance.store().limits() } else { ALONE };
            for (index, result) in self.write_all(group, said, &judged.recordings, limits).await? {
                results[index] = Some(result);
            }
        }
        unreadable.map_or(Ok(()), Err)?;
        results.into_iter().collect::<Option<_>>().ok_or_else(|| {
            status(Reason::LostRace, "the handoffs kept changing under the acknowledgements; try again")
        })
    }

    /// Judges what has no result yet.
    fn judge_open(
        &self,
        group: &Group,
        member: &Member,
        said: &[Said],
        results: &[Option<AckResult>],
    ) -> Judged {
        let wall = self.instance.options().wall.now();
        let mut judged = Judged::default();
        group.read(|state| {
            for (index, Said { at, id, ack, .. }) in said.iter().enumerate() {
                if results[index].is_none() {
                    let verdict = judge(state, member, at, id.as_ref(), ack, wall);
                    self.take_in(group, &mut judged, index, &said[index], verdict);
                }
            }
        });
        judged
    }

    fn take_in(
        &self,
        group: &Group,
        judged: &mut Judged,
        index: usize,
        Said { at, id, .. }: &Said,
        verdict: Verdict,
    ) {
        let (outcome, label, message) = match verdict {
            Verdict::Record { write, handoff } => {
                return judged.recordings.push(Recording { index, write, handoff });
            }
            Verdict::Unreadable { error } if id.is_some() => {
                (AckOutcome::Undecided, "undecided", format!("partition {at} is left alone: {error}"))
            }
            Verdict::Unreadable { error } => {
                let message = format!("partition {at} is left alone: {error}");
                judged.unreadable = Some(status(Reason::RecordUnreadable, message));
                return;
            }
            Verdict::Already => (AckOutcome::Already, "already", "it took effect before".to_owned()),
            Verdict::Over => {
                (AckOutcome::Over, "over", "no such handoff is under way; nothing changed".to_owned())
            }
            Verdict::Refused { because } => (AckOutcome::Refused, "refused", because),
        };
        self.instance.metrics().ack(group.name(), label);
        judged.answered.push((index, result(at, outcome, message)));
    }

    /// Writes in few transactions; returns what applied. What met its guard is left for another look at the view.
    async fn write_all(
        &self,
        group: &Group,
        said: &[Said],
        recordings: &[Recording],
        limits: Limits,
    ) -> Result<Vec<(usize, AckResult)>, Status> {
        let writes: Vec<Write> = recordings.iter().map(|recording| recording.write.clone()).collect();
        let outcomes: Vec<_> = stream::iter(chunk_unfenced(&writes, limits))
            .map(|chunk| async move { (chunk.writes, self.instance.store().txn(chunk.txn).await) })
            .buffered(AT_A_TIME)
            .collect()
            .await;
        let (mut applied, mut met_guard, mut failed) = (Vec::new(), Revision::default(), None);
        for (range, outcome) in outcomes {
            match outcome {
                Ok(outcome) if outcome.succeeded => {
                    let recordings = recordings[range].iter();
                    applied.extend(recordings.map(|recording| self.applied(group, said, recording)));
                }
                Ok(outcome) => met_guard = met_guard.max(outcome.revision),
                Err(error) => failed = Some(refusal::store(&error)),
            }
        }
        failed.map_or(Ok(()), Err)?;
        let patience = self.instance.options().view_patience;
        group.reach(met_guard, patience).await.map_err(refusal::behind)?;
        Ok(applied)
    }

    fn applied(&self, group: &Group, said: &[Said], recording: &Recording) -> (usize, AckResult) {
        let Said { at, ack, edge, .. } = &said[recording.index];
        if let Some(handoff) = &recording.handoff {
            self.note_gap(group, handoff, ack, *edge);
        }
        self.instance.metrics().ack(group.name(), "applied");
        (recording.index, result(at, AckOutcome::Applied, String::new()))
    }

    /// The gap of a move, once both of its edges are known: in `overlap` with the old owner's last word, in the strict
    /// modes, where that one stopped before, with the new one's first.
    fn note_gap(&self, group: &Group, handoff: &Handoff, ack: &Ack, edge: Option<WallMillis>) {
        let (last, first) = match ack {
            Ack::Released if !handoff.mode.is_strict() => {
                (edge, handoff.taken.as_ref().and_then(|taken| taken.first_at))
            }
            Ack::Taken(taken) if handoff.mode.is_strict() => (handoff.last_at, taken.first_at),
            _ => return,
        };
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

fn stopped(item: &DrainedPartition) -> Result<Said, Status> {
    let at = convert::partition(&item.topic, item.partition)?;
    let edge = item.handled.as_ref().map(convert::time_of);
    let drained = Drained { offset: item.next_offset.map(Offset), last_at: edge };
    Ok(Said { at, id: handoff_id(&item.handoff_id), ack: Ack::Drained(drained), edge })
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

fn result(at: &TopicPartition, outcome: AckOutcome, message: String) -> AckResult {
    AckResult {
        topic: at.topic.to_string(),
        partition: convert::wire_partition(at.partition),
        outcome: outcome.into(),
        message,
    }
}
