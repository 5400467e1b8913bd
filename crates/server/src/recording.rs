//! Records what members say of handoffs: judged on the view, and written under guards on what was seen there.

use futures::{StreamExt as _, stream};
use kafka_assigner_core::ack::Verdict;
use kafka_assigner_core::id::TopicPartition;
use kafka_assigner_core::kv::{Limits, Revision};
use kafka_assigner_core::moment::WallMillis;
use kafka_assigner_core::record::Handoff;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_core::write::{Write, chunk_unfenced};
use kafka_assigner_proto::v1::{AckOutcome, AckResult};
use kafka_assigner_proto::{MAX_ACKS, Reason, status};
use tonic::Status;

use crate::convert;
use crate::group::Group;
use crate::instance::Instance;
use crate::refusal;

/// How often an ack is judged anew when the record changed under it; each time somebody else made progress.
const ATTEMPTS: usize = 5;

/// In how many of them acks share transactions. After that each has its own, and stands in no other's way.
const JOINT: usize = 2;

/// Limits that nothing shares a transaction under.
const ALONE: Limits = Limits { operations: 0, bytes: 0 };

/// Transactions of one call under way at a time: as many as saturate one etcd; more only queue there.
const AT_A_TIME: usize = 4;

/// One thing that a member says of one handoff.
pub(crate) trait Word: Sync {
    /// The partition that it names.
    fn at(&self) -> &TopicPartition;

    /// Whether it names the handoff; the smallest clients name none, and know nothing of undecided answers.
    fn names_handoff(&self) -> bool;

    /// What becomes of it.
    fn judge(&self, state: &GroupState, wall: WallMillis) -> Verdict;

    /// Notes that it was recorded; `handoff` is as it was before, and `None` for a grant in another mode.
    fn recorded(&self, _handoff: Option<&Handoff>) {}
}

/// Records what members of one group say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recorder<'a> {
    pub(crate) instance: &'a Instance,
    pub(crate) group: &'a Group,
}

/// What records one word.
#[derive(Debug)]
struct Recording {
    /// Which of the words.
    index: usize,
    write: Write,
    handoff: Option<Box<Handoff>>,
}

/// What came of a look at several words.
#[derive(Debug, Default)]
struct Judged {
    /// What changes nothing, by the number of the word.
    answered: Vec<(usize, AckResult)>,
    recordings: Vec<Recording>,
    /// The last one that names no handoff and of which nothing is known, since a record can't be read.
    unreadable: Option<Status>,
}

impl Recorder<'_> {
    /// Records `words`, as much in one transaction as fits. What can't be decided keeps nothing else from being
    /// recorded. It is answered so where it names its handoff; for the smallest clients the call fails in the end.
    pub(crate) async fn record<W: Word>(&self, words: &[W]) -> Result<Vec<AckResult>, Status> {
        let mut results: Vec<Option<AckResult>> = vec![None; words.len()];
        let mut unreadable = None;
        for attempt in 0..ATTEMPTS {
            let judged = self.judge_open(words, &results);
            for (index, result) in judged.answered {
                results[index] = Some(result);
            }
            unreadable = judged.unreadable;
            if judged.recordings.is_empty() {
                break;
            }
            let limits = if attempt < JOINT { self.instance.store().limits() } else { ALONE };
            for (index, result) in self.write_all(words, &judged.recordings, limits).await? {
                results[index] = Some(result);
            }
        }
        unreadable.map_or(Ok(()), Err)?;
        results.into_iter().collect::<Option<_>>().ok_or_else(|| {
            status(Reason::LostRace, "the handoffs kept changing under the acknowledgements; try again")
        })
    }

    /// Judges what has no result yet.
    fn judge_open<W: Word>(&self, words: &[W], results: &[Option<AckResult>]) -> Judged {
        let wall = self.instance.options().wall.now();
        let mut judged = Judged::default();
        self.group.read(|state| {
            let open = words.iter().enumerate().filter(|(index, _)| results[*index].is_none());
            for (index, word) in open {
                self.take_in(&mut judged, index, word, word.judge(state, wall));
            }
        });
        judged
    }

    fn take_in<W: Word>(&self, judged: &mut Judged, index: usize, word: &W, verdict: Verdict) {
        let at = word.at();
        let (outcome, label, message) = match verdict {
            Verdict::Record { write, handoff } => {
                return judged.recordings.push(Recording { index, write, handoff });
            }
            Verdict::Unreadable { error } if word.names_handoff() => {
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
        self.instance.metrics().ack(self.group.name(), label);
        judged.answered.push((index, result(at, outcome, message)));
    }

    /// Writes in few transactions; returns what applied. What met its guard is left for another look at the view.
    async fn write_all<W: Word>(
        &self,
        words: &[W],
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
                    applied.extend(recordings.map(|recording| self.applied(words, recording)));
                }
                Ok(outcome) => met_guard = met_guard.max(outcome.revision),
                Err(error) => failed = Some(refusal::store(&error)),
            }
        }
        failed.map_or(Ok(()), Err)?;
        self.instance.reach(self.group, met_guard).await?;
        Ok(applied)
    }

    fn applied<W: Word>(&self, words: &[W], recording: &Recording) -> (usize, AckResult) {
        let word = &words[recording.index];
        word.recorded(recording.handoff.as_deref());
        self.instance.metrics().ack(self.group.name(), "applied");
        (recording.index, result(word.at(), AckOutcome::Applied, String::new()))
    }
}

/// Refuses a call that says nothing, or more than it may.
pub(crate) fn bounded(items: usize) -> Result<(), Status> {
    if (1..=MAX_ACKS).contains(&items) {
        return Ok(());
    }
    let message = format!("{items} partitions in one call are refused: it takes 1 to {MAX_ACKS}");
    Err(status(Reason::TooManyItems, message))
}

fn result(at: &TopicPartition, outcome: AckOutcome, message: String) -> AckResult {
    AckResult {
        topic: at.topic.to_string(),
        partition: convert::wire_partition(at.partition),
        outcome: outcome.into(),
        message,
    }
}
