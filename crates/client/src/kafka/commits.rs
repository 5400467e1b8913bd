//! The offsets that were processed and have to be committed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kafka_assigner_types::id::{Offset, TopicPartition};
use kafka_assigner_types::topic_id::TopicId;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tracing::warn;

use super::client::{Client, Position};
use super::commit_note::CommitNote;
use super::error::KafkaRunnerError;
use crate::claim::Claim;

/// The longest time between two commits of the offset of an owned partition, though it has not moved. Kafka drops what
/// was not committed again for `offsets.retention.minutes`: 7 days by default, and a day in clusters that were set up
/// tight.
const REFRESH: Duration = Duration::from_secs(6 * 60 * 60);

/// Positions by partition; clones share them.
#[derive(Clone, Default)]
pub(super) struct Commits(Arc<Mutex<BTreeMap<TopicPartition, Tracked>>>);

/// The offset after the last record that was processed, of one partition. Who processes moves it without a lock; clones
/// share it.
#[derive(Debug, Clone)]
pub(super) struct ProcessedPosition(Arc<AtomicI64>);

impl ProcessedPosition {
    fn at(next: Offset) -> Self {
        Self(Arc::new(AtomicI64::new(next.get())))
    }

    /// The record before `next` was processed.
    pub(super) fn advance(&self, next: Offset) {
        self.0.store(next.get(), Ordering::SeqCst);
    }

    fn get(&self) -> Offset {
        Offset::new(self.0.load(Ordering::SeqCst)).unwrap_or_default()
    }
}

struct Tracked {
    claim: Claim,
    /// The id of the topic as it was when the partition was granted: the owner may go on reading one that was created
    /// under its name since, and what it commits then must not count there.
    topic_id: Option<TopicId>,
    next: ProcessedPosition,
    committed: Offset,
    /// The time at which the broker last took a commit under this grant; `None` = it has not.
    at: Option<Instant>,
}

impl Tracked {
    fn has_moved(&self) -> bool {
        self.next.get() > self.committed
    }

    /// True if the broker has to be reminded of the offset, moved or not.
    fn is_stale(&self, now: Instant) -> bool {
        self.at.is_none_or(|at| now.duration_since(at) >= REFRESH)
    }

    fn position(&self, partition: &TopicPartition) -> Position {
        let note = CommitNote { epoch: self.claim.epoch(), topic_id: self.topic_id };
        Position { partition: partition.clone(), next: self.next.get(), note }
    }
}

impl Commits {
    fn tracked(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, Tracked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins with a partition whose records before `next` were processed by others. They are committed once more: by
    /// whom, and how long ago, is not known.
    pub(super) fn begin(
        &self,
        partition: &TopicPartition,
        claim: Claim,
        topic_id: Option<TopicId>,
        next: Offset,
    ) {
        let tracked =
            Tracked { claim, topic_id, next: ProcessedPosition::at(next), committed: next, at: None };
        self.tracked().insert(partition.clone(), tracked);
    }

    /// The position of a partition that has begun; one that counts for nothing where it has not.
    pub(super) fn position(&self, partition: &TopicPartition) -> ProcessedPosition {
        let tracked = self.tracked();
        tracked.get(partition).map_or_else(|| ProcessedPosition::at(Offset::ZERO), |known| known.next.clone())
    }

    /// Nothing of the partition is committed any more.
    pub(super) fn forget(&self, partition: &TopicPartition) {
        self.tracked().remove(partition);
    }

    /// The offsets that may and must be committed at `now`: of one partition if it has moved, and of all those that are
    /// stale as well. A drain is on the path of a switch, so it commits nothing that it need not.
    fn due(&self, only: Option<&TopicPartition>, now: Instant) -> Vec<Position> {
        let is_due = |partition: &TopicPartition, tracked: &Tracked| match only {
            Some(only) => only == partition && tracked.has_moved(),
            None => tracked.has_moved() || tracked.is_stale(now),
        };
        let tracked = self.tracked();
        let due = tracked.iter().filter(|(at, tracked)| is_due(at, tracked) && tracked.claim.is_valid());
        due.map(|(partition, tracked)| tracked.position(partition)).collect()
    }

    fn committed(&self, positions: &[Position], now: Instant) {
        let mut tracked = self.tracked();
        for position in positions {
            if let Some(tracked) = tracked.get_mut(&position.partition) {
                tracked.committed = tracked.committed.max(position.next);
                tracked.at = Some(now);
            }
        }
    }

    /// Commits what is due: of one partition, or of all.
    pub(super) async fn commit(
        &self,
        client: &Client,
        only: Option<&TopicPartition>,
    ) -> Result<(), KafkaRunnerError> {
        if self.due(only, Instant::now()).is_empty() {
            return Ok(());
        }
        // Asked again when its turn has come: by then a claim may have ended.
        let (commits, only) = (self.clone(), only.cloned());
        let committed = client.commit(move || commits.due(only.as_ref(), Instant::now())).await?;
        self.committed(&committed, Instant::now());
        Ok(())
    }

    /// Commits all the time: what has moved, and what would be forgotten.
    pub(super) async fn keep_committing(self, client: Client, every: Duration) {
        let mut ticks = interval(every.min(REFRESH));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.commit(&client, None).await {
                warn!(error = &error as &dyn std::error::Error, "the next commit includes it");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_types::id::Epoch;

    use super::*;
    use crate::claim::SessionClaim;
    use crate::clock::Clock;
    use crate::kafka::options::KafkaOptions;
    use crate::session::ClaimTerm;
    use kafka_assigner_types::moment::Moment;

    fn partition() -> TopicPartition {
        TopicPartition::try_from(("t", 0)).expect("a valid name")
    }

    fn offset(number: i64) -> Offset {
        Offset::new(number).expect("not negative")
    }

    /// A claim that is valid for ten hours.
    fn claim() -> Claim {
        let (clock, until) = (Clock::start(), Moment(Duration::from_secs(36_000)));
        let session = SessionClaim::new(clock);
        session.set(Some(ClaimTerm { overlap: until, strict: until }));
        session.partition(Epoch(5), true)
    }

    #[tokio::test]
    async fn a_commit_whose_claim_ends_while_it_waits_for_its_turn_is_not_sent() {
        let client = Client::new(&KafkaOptions::new("127.0.0.1:1", "g")).expect("valid options");
        let (commits, at, claim) = (Commits::default(), partition(), claim());
        commits.begin(&at, claim.clone(), TopicId::new([7; 16]), offset(7));
        commits.position(&at).advance(offset(8));
        let turn = client.turn().await;
        let commit = tokio::spawn({
            let (commits, client) = (commits.clone(), client.clone());
            async move { commits.commit(&client, None).await }
        });
        tokio::task::yield_now().await;
        assert!(!commit.is_finished(), "it is due, and waits");
        claim.end();
        drop(turn);
        commit.await.expect("no panic").expect("the broker, which is not there, is not asked");
    }

    #[tokio::test(start_paused = true)]
    async fn an_offset_is_committed_after_the_grant_and_again_every_six_hours() {
        let (commits, at, claim) = (Commits::default(), partition(), claim());
        commits.begin(&at, claim.clone(), TopicId::new([7; 16]), offset(7));
        let note = CommitNote { epoch: Epoch(5), topic_id: TopicId::new([7; 16]) };
        let first = vec![Position { partition: at.clone(), next: offset(7), note }];
        assert_eq!(commits.due(None, Instant::now()), first, "who committed it may have done so days ago");
        commits.committed(&first, Instant::now());
        assert_eq!(commits.due(None, Instant::now()), []);
        tokio::time::advance(REFRESH - Duration::from_secs(1)).await;
        assert_eq!(commits.due(None, Instant::now()), []);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(commits.due(None, Instant::now()), first);
        assert_eq!(commits.due(Some(&at), Instant::now()), [], "a drain is not held up by it");
        claim.end();
        assert_eq!(commits.due(None, Instant::now()), []);
    }

    #[tokio::test(start_paused = true)]
    async fn a_record_that_is_committed_puts_the_next_refresh_off() {
        let (commits, at) = (Commits::default(), partition());
        commits.begin(&at, claim(), None, offset(7));
        commits.committed(&commits.due(None, Instant::now()), Instant::now());
        tokio::time::advance(REFRESH - Duration::from_secs(1)).await;
        commits.position(&at).advance(offset(8));
        commits.committed(&commits.due(None, Instant::now()), Instant::now());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(commits.due(None, Instant::now()), []);
    }
}
