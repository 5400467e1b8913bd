//! Records the acks of members: judged on the view, and written under guards on what was seen there.

use futures::{StreamExt as _, stream};
use kafka_assigner_core::ack::{Judged, MemberAck, Verdict, gap_ms, judge_all};
use kafka_assigner_core::record::Handoff;
use kafka_assigner_core::write::{Write, chunk_unfenced};
use kafka_assigner_proto::v1::{AckOutcome, AckResult};
use kafka_assigner_proto::{MAX_ACKS, Reason, status};
use kafka_assigner_store::Error;
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::kv::{Limits, Revision, TxnOutcome};
use tonic::Status;

use crate::convert;
use crate::group::ServedGroup;
use crate::instance::Instance;
use crate::refusal;

/// The most times that an ack is judged anew when the record changed under it; each time somebody else made progress.
const ATTEMPTS: usize = 5;

/// In how many of them units share transactions. After that each has its own, and stands in no other's way.
const JOINT: usize = 2;

/// The most of them that may end without an answer of the store. Each takes seconds, and the client waits for five.
const UNANSWERED: usize = 1;

/// Limits that nothing shares a transaction under.
const ALONE: Limits = Limits { operations: 0, bytes: 0 };

/// Transactions of one call under way at a time: as many as saturate one etcd; more only queue there.
const AT_A_TIME: usize = 4;

/// Records the acks of one member.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckRecorder<'a> {
    pub(crate) instance: &'a Instance,
    pub(crate) group: &'a ServedGroup,
    pub(crate) member: &'a Member,
}

/// The results of the acks of one call that have one. An error fails the whole call in the end, for the smallest
/// clients, which know nothing of undecided answers.
type Results = Vec<Option<Result<AckResult, Status>>>;

/// The write that records acks about one unit.
#[derive(Debug)]
struct Recording {
    /// Their numbers in the call.
    acks: Vec<usize>,
    write: Write,
    handoff: Option<Box<Handoff>>,
}

impl AckRecorder<'_> {
    /// Records `acks`, those about one unit by one write, and as many units in one transaction as fit. What can't be
    /// decided keeps nothing else from being recorded. Cancel safe: what was not answered is repeated.
    pub(crate) async fn record(&self, acks: &[MemberAck]) -> Result<Vec<AckResult>, Status> {
        let mut results: Results = vec![None; acks.len()];
        let mut unanswered = 0;
        for attempt in 0..ATTEMPTS {
            let recordings = self.judge_open(acks, &mut results);
            if results.iter().all(Option::is_some) {
                break;
            }
            let limits = if attempt < JOINT { self.instance.store().limits() } else { ALONE };
            if let Err(error) = self.write_all(acks, &mut results, &recordings, limits).await? {
                unanswered += 1;
                if unanswered > UNANSWERED {
                    return Err(refusal::store(&error));
                }
                // It may have been written: the view tells.
                self.instance.catch_up(self.group).await?;
            }
        }
        let lost = || {
            Err(status(Reason::LostRace, "the handoffs kept changing under the acknowledgements; try again"))
        };
        results.into_iter().map(|result| result.unwrap_or_else(lost)).collect()
    }

    /// Judges the acks without a result together. Returns what has to be written; the others get their results.
    fn judge_open(&self, acks: &[MemberAck], results: &mut Results) -> Vec<Recording> {
        let wall = self.instance.options().wall.now();
        let open: Vec<usize> = (0..acks.len()).filter(|number| results[*number].is_none()).collect();
        let judged = self
            .group
            .read(|state| judge_all(state, self.member, open.iter().map(|number| &acks[*number]), wall));
        let mut recordings = Vec::new();
        for Judged { acks: of_open, verdict } in judged {
            let numbers: Vec<usize> = of_open.into_iter().map(|number| open[number]).collect();
            match verdict {
                Verdict::Record { write, handoff } => {
                    recordings.push(Recording { acks: numbers, write, handoff });
                }
                verdict => {
                    for number in numbers {
                        results[number] = Some(self.answer(&acks[number], &verdict));
                    }
                }
            }
        }
        recordings
    }

    /// The result of an ack that changes nothing.
    fn answer(&self, ack: &MemberAck, verdict: &Verdict) -> Result<AckResult, Status> {
        let (outcome, label, message) = match verdict {
            Verdict::Unreadable { error } => return self.undecided(ack, Reason::RecordUnreadable, error),
            Verdict::Record { .. } => (AckOutcome::Applied, "applied", String::new()),
            Verdict::Already => (AckOutcome::Already, "already", "it took effect before".to_owned()),
            Verdict::Over => {
                (AckOutcome::Over, "over", "no such handoff is under way; nothing changed".to_owned())
            }
            Verdict::Refused { because } => (AckOutcome::Refused, "refused", because.clone()),
        };
        self.instance.metrics().ack(self.group.name(), label);
        Ok(result(&ack.at, outcome, message))
    }

    /// The result of an ack that can't be decided: an answer where it names its handoff, else an error.
    fn undecided(&self, ack: &MemberAck, reason: Reason, error: &str) -> Result<AckResult, Status> {
        let message = format!("partition {} is left alone: {error}", ack.at);
        if ack.handoff.is_none() {
            return Err(status(reason, message));
        }
        self.instance.metrics().ack(self.group.name(), "undecided");
        Ok(result(&ack.at, AckOutcome::Undecided, message))
    }

    /// Writes in few transactions. What applied gets its results; what met its guard is left for another look at the
    /// view, and so is everything else where the store gave no answer, which is the inner error.
    async fn write_all(
        &self,
        acks: &[MemberAck],
        results: &mut Results,
        recordings: &[Recording],
        limits: Limits,
    ) -> Result<Result<(), Error>, Status> {
        let writes: Vec<Write> = recordings.iter().map(|recording| recording.write.clone()).collect();
        let outcomes: Vec<_> = stream::iter(chunk_unfenced(&writes, limits))
            .map(|chunk| async move { (chunk.writes, self.instance.store().txn(chunk.txn).await) })
            .buffered(AT_A_TIME)
            .collect()
            .await;
        let (mut seen, mut unanswered) = (Revision::default(), Ok(()));
        for (range, outcome) in outcomes {
            match self.written(acks, results, &recordings[range], outcome) {
                Ok(revision) => seen = seen.max(revision),
                Err(error) if error.is_transient() => unanswered = Err(error),
                Err(error) => return Err(refusal::store(&error)),
            }
        }
        if results.iter().any(Option::is_none) {
            self.instance.reach(self.group, seen).await?;
        }
        Ok(unanswered)
    }

    /// Takes in what became of one transaction; returns the revision at which the view shows it.
    fn written(
        &self,
        acks: &[MemberAck],
        results: &mut Results,
        recordings: &[Recording],
        outcome: Result<TxnOutcome, Error>,
    ) -> Result<Revision, Error> {
        match (outcome, recordings) {
            (Ok(outcome), recordings) if outcome.succeeded => {
                recordings.iter().for_each(|recording| self.applied(acks, results, recording));
                Ok(outcome.revision)
            }
            (Ok(outcome), _) => Ok(outcome.revision),
            // A unit that no transaction holds keeps no other one from being recorded.
            (Err(error @ Error::TooLarge { .. }), [alone]) => {
                for number in &alone.acks {
                    let error = refusal::describe(&error);
                    results[*number] = Some(self.undecided(&acks[*number], Reason::Internal, &error));
                }
                Ok(Revision::default())
            }
            (Err(Error::TooLarge { .. }), _) => Ok(Revision::default()),
            (Err(error), _) => Err(error),
        }
    }

    fn applied(&self, acks: &[MemberAck], results: &mut Results, recording: &Recording) {
        for number in &recording.acks {
            let ack = &acks[*number];
            if let Some(gap_ms) = recording.handoff.as_ref().and_then(|handoff| gap_ms(handoff, &ack.ack)) {
                self.instance.metrics().gap(self.group.name(), gap_ms);
            }
            self.instance.metrics().ack(self.group.name(), "applied");
            results[*number] = Some(Ok(result(&ack.at, AckOutcome::Applied, String::new())));
        }
    }
}

/// Refuses a call that says nothing, or more than it may.
pub(crate) fn bounded(items: usize) -> Result<(), Status> {
    match items {
        0 => Err(refusal::field(format!("the call names no partition: it takes 1 to {MAX_ACKS}"))),
        1..=MAX_ACKS => Ok(()),
        _ => {
            let message = format!("{items} partitions in one call are refused: it takes 1 to {MAX_ACKS}");
            Err(status(Reason::TooManyItems, message))
        }
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
