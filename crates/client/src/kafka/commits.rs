//! The offsets that were processed and have to be committed.

mod moving;

use std::collections::BTreeMap;
use std::error::Error;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use kafka_assigner_handler::{Confirm as _, Confirmations};
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use kafka_assigner_types::topic_id::TopicId;
use tokio::time::{Instant, sleep};
use tracing::warn;

use super::client::{Client, Position};
use super::commit_note::CommitNote;
use super::error::KafkaRunnerError;
use crate::claim::Claim;

/// The longest wait between commits while they fail, unless `commit_interval` is longer: one line in the log each time, and
/// as much is handled twice where its cause ends and the process crashes.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Positions by partition; clones share them.
#[derive(Clone)]
pub(super) struct Commits {
    tracked: Arc<Mutex<BTreeMap<TopicPartition, Tracked>>>,
    /// The topics in which the broker has taken a commit, of the partitions that are wanted here: also while their state is
    /// built anew, and nothing is tracked.
    committed_in: Arc<Mutex<BTreeMap<TopicPartition, TopicId>>>,
    /// The longest time between two commits of the offset of an owned partition, though it has not moved.
    refresh: Duration,
}

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
        self.0.store(next.get(), Ordering::Release);
    }

    pub(super) fn get(&self) -> Offset {
        Offset::new(self.0.load(Ordering::Acquire)).unwrap_or_default()
    }
}

struct Tracked {
    claim: Claim,
    /// The id of the topic as it was when the partition was granted: the owner may go on reading one that was created
    /// under its name since, and what it commits then must not count there.
    topic_id: Option<TopicId>,
    processed: ProcessedPosition,
    /// `None` = what is processed is committed without a word.
    confirmed: Option<Confirmations>,
    /// The first epoch under which the present state is owned.
    since: Epoch,
    committed: Offset,
    /// The time at which the broker last took a commit under this grant; `None` = it has not.
    at: Option<Instant>,
}

impl Tracked {
    /// The offset that may be committed.
    fn next(&self) -> Offset {
        let processed = self.processed.get();
        self.confirmed.as_ref().map_or(processed, |confirmed| confirmed.next().min(processed))
    }

    fn has_moved(&self) -> bool {
        self.next() > self.committed
    }

    /// True if somebody who acts, or acted, under `epoch` may speak for the present state.
    fn is_of(&self, epoch: Epoch) -> bool {
        (self.since..=self.claim.epoch()).contains(&epoch) && self.claim.is_valid()
    }

    /// True if the broker has to be reminded of the offset, moved or not, since that was `refresh` ago.
    fn is_stale(&self, refresh: Duration, now: Instant) -> bool {
        self.at.is_none_or(|at| now.duration_since(at) >= refresh)
    }

    fn position(&self, partition: &TopicPartition) -> Position {
        let note = CommitNote { epoch: self.claim.epoch(), topic_id: self.topic_id };
        Position { partition: partition.clone(), next: self.next(), note }
    }
}

impl Commits {
    pub(super) fn new(refresh: Duration) -> Self {
        Self { tracked: Arc::default(), committed_in: Arc::default(), refresh }
    }

    fn committed_in(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, TopicId>> {
        self.committed_in.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if the broker has taken a commit of the partition in the topic `topic_id` since it is wanted here.
    pub(super) fn has_committed_in(&self, partition: &TopicPartition, topic_id: TopicId) -> bool {
        self.committed_in().get(partition) == Some(&topic_id)
    }

    fn note_topic(&self, partition: &TopicPartition, topic_id: Option<TopicId>) {
        topic_id.map(|topic_id| self.committed_in().insert(partition.clone(), topic_id));
    }

    /// Nothing is wanted of the partition any more.
    pub(super) fn forget_topic(&self, partition: &TopicPartition) {
        self.committed_in().remove(partition);
    }

    fn tracked(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, Tracked>> {
        self.tracked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The epoch of a partition that has begun, the offset after the last record that was processed, and the one
    /// that was committed.
    pub(super) fn known(&self, partition: &TopicPartition) -> Option<(Epoch, Offset, Offset)> {
        let tracked = self.tracked();
        let known = tracked.get(partition)?;
        Some((known.claim.epoch(), known.processed.get(), known.committed))
    }

    /// The partitions of which the broker has taken a commit under the present grant, with its epoch.
    pub(super) fn acknowledged(&self) -> BTreeMap<TopicPartition, Epoch> {
        let tracked = self.tracked();
        let landed = tracked.iter().filter(|(_, tracked)| tracked.at.is_some());
        landed.map(|(partition, tracked)| (partition.clone(), tracked.claim.epoch())).collect()
    }

    /// Begins with a partition whose records before `next` were processed by others, or before a stop that did not last. They
    /// are committed once more, as far as they are `confirmed` where that counts: by whom, and how long ago, is not known.
    pub(super) fn begin(
        &self,
        partition: &TopicPartition,
        claim: Claim,
        topic_id: Option<TopicId>,
        next: Offset,
        confirmed: Option<Confirmations>,
    ) {
        let (since, processed) = (claim.epoch(), ProcessedPosition::at(next));
        let mut tracked = Tracked { claim, topic_id, processed, confirmed, since, committed: next, at: None };
        tracked.committed = tracked.next();
        self.tracked().insert(partition.clone(), tracked);
    }

    /// The handler's word that the effects of all records before `next` are safe, under `epoch`.
    ///
    /// # Errors
    ///
    /// [`ConfirmError`]: it counts for nothing.
    pub(super) fn confirm(
        &self,
        partition: &TopicPartition,
        epoch: Epoch,
        next: Offset,
    ) -> Result<(), ConfirmError> {
        let tracked = self.tracked();
        let owned = tracked.get(partition).filter(|tracked| tracked.is_of(epoch));
        let owned = owned.ok_or_else(|| ConfirmError::NotOwned { partition: partition.clone(), epoch })?;
        owned.confirmed.as_ref().ok_or(ConfirmError::NotAsked)?.confirm(next);
        Ok(())
    }

    /// The position of a partition that has begun; one that counts for nothing where it has not.
    pub(super) fn position(&self, partition: &TopicPartition) -> ProcessedPosition {
        let tracked = self.tracked();
        tracked
            .get(partition)
            .map_or_else(|| ProcessedPosition::at(Offset::ZERO), |known| known.processed.clone())
    }

    /// Nothing of the partition is committed any more.
    pub(super) fn forget(&self, partition: &TopicPartition) {
        self.tracked().remove(partition);
    }

    /// The offsets that may be committed at `now`, and have moved or are stale.
    fn due(&self, now: Instant) -> Vec<Position> {
        let is_due = |tracked: &Tracked| tracked.has_moved() || tracked.is_stale(self.refresh, now);
        let tracked = self.tracked();
        let due = tracked.iter().filter(|(_, tracked)| is_due(tracked) && tracked.claim.is_valid());
        due.map(|(partition, tracked)| tracked.position(partition)).collect()
    }

    /// The same for a drain of one partition: nothing where that has not moved, since a drain is on the path of a switch; and
    /// else all that is due, so that the drains that wait behind it find nothing left to do.
    fn due_with(&self, partition: &TopicPartition, now: Instant) -> Vec<Position> {
        let has_moved = self.tracked().get(partition).is_some_and(Tracked::has_moved);
        if has_moved { self.due(now) } else { Vec::new() }
    }

    fn due_for(&self, only: Option<&TopicPartition>, now: Instant) -> Vec<Position> {
        match only {
            Some(partition) => self.due_with(partition, now),
            None => self.due(now),
        }
    }

    fn committed(&self, positions: &[Position], now: Instant) {
        let mut tracked = self.tracked();
        for position in positions {
            // One that was on its way while the partition was granted anew, in another topic of this name, is none of this one.
            let is_of_topic = |tracked: &&mut Tracked| tracked.topic_id == position.note.topic_id;
            if let Some(tracked) = tracked.get_mut(&position.partition).filter(is_of_topic) {
                tracked.committed = tracked.committed.max(position.next);
                tracked.at = Some(now);
                self.note_topic(&position.partition, position.note.topic_id);
            }
        }
    }

    /// Commits what is due: where one partition needs it, or anyway.
    pub(super) async fn commit(
        &self,
        client: &Client,
        only: Option<&TopicPartition>,
    ) -> Result<(), KafkaRunnerError> {
        if self.due_for(only, Instant::now()).is_empty() {
            return Ok(());
        }
        // Asked again when its turn has come: by then a claim may have ended, or another one has committed it. Noted before
        // the turn ends, for the next one to see.
        let (commits, noted, only) = (self.clone(), self.clone(), only.cloned());
        let due = move || commits.due_for(only.as_ref(), Instant::now());
        client.commit(due, move |committed| noted.committed(committed, Instant::now())).await
    }

    /// Commits all the time: what has moved, and what would be forgotten. Nothing ends it: a consumer that commits nothing
    /// in silence would repeat everything after a crash.
    pub(super) async fn keep_committing(self, client: Client, every: Duration) {
        let mut pace = CommitPace::new(every.min(self.refresh));
        loop {
            let result = AssertUnwindSafe(self.commit(&client, None)).catch_unwind().await;
            let wait = match result {
                Ok(Ok(())) => pace.succeeded(),
                Ok(Err(error)) => pace.failed(&error),
                Err(_) => pace.failed(&CommitPanicked),
            };
            sleep(wait).await;
        }
    }
}

/// The word of a handler counts for nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfirmError {
    /// The partition is not processed here under this epoch, or its state was built anew since: who owns it processes again
    /// what was not confirmed in time.
    #[error("{partition} is not owned here under epoch {epoch}")]
    NotOwned {
        /// The partition.
        partition: TopicPartition,
        /// The epoch that was named.
        epoch: Epoch,
    },
    /// The runner commits what was processed, and waits for no word; see
    /// [`CommitRule::Confirmed`](crate::kafka::CommitRule::Confirmed).
    #[error("what is processed is committed without a word")]
    NotAsked,
}

#[derive(Debug, thiserror::Error)]
#[error("the commit panicked")]
struct CommitPanicked;

/// The waits between commits, which grow while they fail.
#[derive(Debug)]
struct CommitPace {
    every: Duration,
    failures: u32,
}

impl CommitPace {
    const fn new(every: Duration) -> Self {
        Self { every, failures: 0 }
    }

    const fn succeeded(&mut self) -> Duration {
        self.failures = 0;
        self.every
    }

    /// Tells why, as often as it is tried.
    fn failed(&mut self, error: &(dyn Error + 'static)) -> Duration {
        // 2^10 times a millisecond is a second already.
        let factor = 1_u32 << self.failures.min(10);
        self.failures = self.failures.saturating_add(1);
        let wait = self.every.saturating_mul(factor).min(LONGEST_PAUSE).max(self.every);
        warn!(error, ?wait, "offsets are not committed; the next commit includes them");
        wait
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use kafka_assigner_types::id::Epoch;
    use rdkafka::mocking::MockCluster;
    use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

    use super::*;
    use crate::claim::SessionClaim;
    use crate::kafka::options::KafkaOptions;
    use kafka_assigner_session::ClaimTerm;
    use kafka_assigner_session::Clock;
    use kafka_assigner_types::moment::Moment;

    const REFRESH: Duration = Duration::from_secs(6 * 60 * 60);

    fn partition() -> TopicPartition {
        partition_of(0)
    }

    fn partition_of(number: u32) -> TopicPartition {
        TopicPartition::try_from(("t", number)).expect("a valid name")
    }

    fn position_of(number: u32) -> Position {
        let note = CommitNote { epoch: Epoch(5), topic_id: None };
        Position { partition: partition_of(number), next: offset(1), note }
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
        let (commits, at, claim) = (Commits::new(REFRESH), partition(), claim());
        commits.begin(&at, claim.clone(), TopicId::new([7; 16]), offset(7), None);
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

    // In the stricter modes nobody works until the last of them has landed.
    #[tokio::test]
    async fn many_drains_at_once_commit_together() {
        let cluster = MockCluster::new(1).expect("a cluster in this process");
        cluster.create_topic("t", 300, 1).expect("a new topic");
        let options = KafkaOptions::new(cluster.bootstrap_servers(), "g");
        let client = Client::new(&options).expect("valid options");
        let commits = Commits::new(REFRESH);
        let partitions: Vec<_> = (0..300).map(partition_of).collect();
        for at in &partitions {
            commits.begin(at, claim(), None, offset(7), None);
            commits.position(at).advance(offset(8));
        }
        // Finds the coordinator.
        client.commit(|| vec![position_of(0)], |_| {}).await.expect("a coordinator");
        cluster.broker_round_trip_time(1, Duration::from_millis(20)).expect("a broker");
        let begun = Instant::now();
        let drained = join_all(partitions.iter().map(|at| commits.commit(&client, Some(at)))).await;
        assert!(drained.iter().all(Result::is_ok), "{drained:?}");
        // One after the other they would take 300 round trips, which are six seconds.
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn a_group_that_others_subscribe_under_is_named_as_the_reason() {
        let cluster = MockCluster::new(1).expect("a cluster in this process");
        cluster.create_topic("t", 1, 1).expect("a new topic");
        let options = KafkaOptions::new(cluster.bootstrap_servers(), "g");
        let client = Client::new(&options).expect("valid options");
        let refused = RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID;
        cluster.request_errors(RDKafkaApiKey::OffsetCommit, &[refused; 8]);
        let error = client.commit(|| vec![position_of(0)], |_| {}).await.expect_err("refused").to_string();
        assert!(error.contains("subscribe"), "{error}");
    }

    #[test]
    fn commits_that_fail_are_tried_again_after_growing_waits() {
        let mut pace = CommitPace::new(Duration::from_millis(200));
        for expected in [200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000] {
            assert_eq!(pace.failed(&CommitPanicked), Duration::from_millis(expected));
        }
        assert_eq!(pace.succeeded(), Duration::from_millis(200));
        assert_eq!(pace.failed(&CommitPanicked), Duration::from_millis(200));
        let mut seldom = CommitPace::new(Duration::from_secs(60));
        assert_eq!(seldom.failed(&CommitPanicked), Duration::from_secs(60));
    }

    #[tokio::test(start_paused = true)]
    async fn an_offset_is_committed_after_the_grant_and_again_every_six_hours() {
        let (commits, at, claim) = (Commits::new(REFRESH), partition(), claim());
        commits.begin(&at, claim.clone(), TopicId::new([7; 16]), offset(7), None);
        let note = CommitNote { epoch: Epoch(5), topic_id: TopicId::new([7; 16]) };
        let first = vec![Position { partition: at.clone(), next: offset(7), note }];
        assert_eq!(commits.due(Instant::now()), first, "who committed it may have done so days ago");
        commits.committed(&first, Instant::now());
        assert_eq!(commits.due(Instant::now()), []);
        tokio::time::advance(REFRESH - Duration::from_secs(1)).await;
        assert_eq!(commits.due(Instant::now()), []);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(commits.due(Instant::now()), first);
        assert_eq!(commits.due_with(&at, Instant::now()), [], "a drain is not held up by it");
        claim.end();
        assert_eq!(commits.due(Instant::now()), []);
    }

    #[tokio::test(start_paused = true)]
    async fn a_commit_is_acknowledged_once_it_has_landed_in_the_topic_of_the_grant() {
        let (commits, at) = (Commits::new(REFRESH), partition());
        commits.begin(&at, claim(), TopicId::new([7; 16]), offset(7), None);
        let on_its_way = commits.due(Instant::now());
        assert_eq!(commits.acknowledged(), BTreeMap::new(), "it has begun, and nothing was committed");
        commits.begin(&at, claim(), TopicId::new([8; 16]), offset(0), None);
        commits.committed(&on_its_way, Instant::now());
        assert_eq!(commits.acknowledged(), BTreeMap::new(), "the commit is of the topic before");
        commits.committed(&commits.due(Instant::now()), Instant::now());
        assert_eq!(commits.acknowledged(), BTreeMap::from([(at.clone(), Epoch(5))]));
        commits.forget(&at);
        assert_eq!(commits.acknowledged(), BTreeMap::new());
    }

    #[tokio::test(start_paused = true)]
    async fn a_record_that_is_committed_puts_the_next_refresh_off() {
        let (commits, at) = (Commits::new(REFRESH), partition());
        commits.begin(&at, claim(), None, offset(7), None);
        commits.committed(&commits.due(Instant::now()), Instant::now());
        tokio::time::advance(REFRESH - Duration::from_secs(1)).await;
        commits.position(&at).advance(offset(8));
        commits.committed(&commits.due(Instant::now()), Instant::now());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(commits.due(Instant::now()), []);
    }
}
