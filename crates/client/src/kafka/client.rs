//! The rdkafka clients of a process: some read, one commits and asks. Everything that blocks runs beside the runtime.
//!
//! librdkafka starts no partition that is newly assigned while a commit of the same client is under way, which may last for
//! minutes where the group's coordinator hangs.

use std::num::NonZeroU32;
use std::sync::{Arc, Weak};
use std::time::Duration;

use ::metrics::{counter, histogram};
use kafka_assigner_proto::DEFAULT_GROUP;
use kafka_assigner_types::id::{Offset, TopicPartition};
use kafka_assigner_types::name::TopicName;
use rdkafka::TopicPartitionList;
use rdkafka::consumer::{CommitMode, Consumer as _, StreamConsumer};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::metadata::MetadataTopic;
use rdkafka::types::RDKafkaErrorCode;
use tokio::sync::{OwnedMutexGuard, oneshot};
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{debug, warn};

use super::blocking::{KAFKA_BOUND, blocking};
use super::broker_trouble::WatchedClient;
use super::broker_watch::BrokerWatch;
use super::commit_note::{CommitNote, topic_id_in};
use super::commit_thread::CommitThread;
use super::error::KafkaRunnerError;
use super::events::KafkaEvents;
use super::fetchers::Fetchers;
use super::lookup::Lookup;
use super::metric_labels::MetricLabels;
use super::options::{KafkaOptions, without_secret};
use super::reader::PartitionReader;
use crate::committed_offset::CommittedOffset;
use crate::metrics::{COMMIT_TIME, COMMITS_FAILED};

/// The bound on asking for the end of a log, at a switch, which goes on without an answer. Up to three requests may
/// have to end before: another one, one together with others, and one alone.
const END_BOUND: Duration = Duration::from_secs(1);

/// The bound on asking for a sign of brokers. Nobody waits for it but the look at them, which is repeated.
const ANSWER_BOUND: Duration = Duration::from_secs(1);

/// A topic that each cluster has, or will have: asking for none would fetch the names of all.
const ANY_TOPIC: &str = "__consumer_offsets";

/// As a time, it stands for what would be written next.
const END: rdkafka::Offset = rdkafka::Offset::End;

/// As a time, it stands for the first record.
const BEGINNING: rdkafka::Offset = rdkafka::Offset::Beginning;

/// One offset to commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) partition: TopicPartition,
    /// The offset after the last processed record.
    pub(super) next: Offset,
    /// The metadata to commit beside it.
    pub(super) note: CommitNote,
}

#[derive(Clone)]
pub(super) struct Client(Arc<SharedClient>);

/// The clients of a runner, as long as that lives.
#[derive(Clone)]
pub(super) struct WeakClient(Weak<SharedClient>);

impl WeakClient {
    pub(super) fn upgrade(&self) -> Option<Client> {
        self.0.upgrade().map(Client)
    }
}

struct SharedClient {
    fetchers: Fetchers,
    /// Commits, and asks for offsets. Taken only when it is dropped.
    asking: Option<Handle>,
    ends: Lookup,
    /// The same for whoever only shows them: a switch waits for none of its requests.
    shown_ends: Lookup,
    beginnings: Lookup,
    committed: Lookup,
    /// Held by the commit that is under way, also when nobody waits for it any more.
    committing: Arc<tokio::sync::Mutex<()>>,
    thread: CommitThread,
    watch: BrokerWatch,
    group: String,
    labels: MetricLabels,
    _polling: DropGuard,
}

/// The client of librdkafka that commits and asks.
type Handle = Arc<StreamConsumer<KafkaEvents>>;

impl Drop for SharedClient {
    /// As for those that fetch.
    fn drop(&mut self) {
        let asking = self.asking.take();
        std::thread::spawn(move || drop(asking));
    }
}

impl Client {
    pub(super) fn new(options: &KafkaOptions) -> Result<Self, KafkaRunnerError> {
        if options.group == DEFAULT_GROUP {
            let hint = "set the group of the consumer, or the one that Kafka knows";
            warn!(
                kafka_group = DEFAULT_GROUP,
                hint, "offsets are committed under the default name of a group"
            );
        }
        let watch = BrokerWatch::new();
        let fetchers = Fetchers::new(options, &watch)?;
        let events = KafkaEvents::of(options).watched_by(&watch);
        let made = options.client_config().create_with_context(events);
        let asking: Handle = Arc::new(made.map_err(|error| KafkaRunnerError::Client(without_secret(error)))?);
        let polling = CancellationToken::new();
        let serving = polling.clone().run_until_cancelled_owned(serve_events(asking.clone()));
        match options.tokens {
            // It may block, which a runtime's thread must not.
            Some(_) => on_a_thread(serving)?,
            None => drop(tokio::spawn(serving)),
        }
        Ok(Self(Arc::new(SharedClient {
            fetchers,
            asking: Some(asking),
            ends: Lookup::default(),
            shown_ends: Lookup::default(),
            beginnings: Lookup::default(),
            committed: Lookup::default(),
            committing: Arc::default(),
            thread: CommitThread::start()?,
            watch,
            group: options.group.clone(),
            labels: MetricLabels::of(options),
            _polling: polling.drop_guard(),
        })))
    }

    /// The same, without keeping them.
    pub(super) fn downgrade(&self) -> WeakClient {
        WeakClient(Arc::downgrade(&self.0))
    }

    /// The number of partitions of a topic, as a broker knows it. Takes at most a second.
    ///
    /// Cancel safe.
    pub(super) async fn partitions_of(&self, topic: &TopicName) -> KafkaResult<NonZeroU32> {
        let (client, topic) = (self.clone(), topic.clone());
        blocking(move || {
            let metadata = client.asking().fetch_metadata(Some(topic.as_str()), END_BOUND)?;
            let found = metadata.topics().iter().find(|found| found.name() == topic.as_str());
            if let Some(error) = found.and_then(MetadataTopic::error) {
                return Err(KafkaError::MetadataFetch(error.into()));
            }
            let size = found.and_then(|found| u32::try_from(found.partitions().len()).ok());
            let unknown = KafkaError::MetadataFetch(RDKafkaErrorCode::UnknownTopicOrPartition);
            size.and_then(NonZeroU32::new).ok_or(unknown)
        })
        .await
    }

    /// The trouble with brokers that its clients have.
    pub(super) fn watch(&self) -> &BrokerWatch {
        &self.0.watch
    }

    /// True if a broker answers one of the clients within a second.
    pub(super) async fn is_answered(&self, asked: WatchedClient) -> bool {
        let client = self.clone();
        let ask = move || match asked {
            WatchedClient::Asking => client.asking().fetch_metadata(Some(ANY_TOPIC), ANSWER_BOUND).is_ok(),
            WatchedClient::Fetching(read_ahead) => {
                client.0.fetchers.is_answered(read_ahead, ANY_TOPIC, ANSWER_BOUND)
            }
        };
        blocking(ask).await
    }

    pub(super) fn asking(&self) -> Handle {
        self.0.asking.clone().expect("taken only when dropped")
    }

    /// Begins to fetch a partition from `offset` on. The first one of a topic waits for its leaders, at most a second.
    ///
    /// Not cancel safe: the partition may be read afterwards, by nobody.
    pub(super) async fn read(
        &self,
        partition: &TopicPartition,
        offset: Offset,
    ) -> Result<PartitionReader, KafkaRunnerError> {
        let (client, at) = (self.clone(), partition.clone());
        let queue = blocking(move || client.0.fetchers.assign(&at, offset)).await?;
        Ok(PartitionReader::new(queue, partition, offset))
    }

    /// The offset after the last thing that librdkafka gave to the reader of a partition, the markers of transactions
    /// included; `None` = it gave nothing yet. No broker is asked.
    pub(super) fn position(&self, partition: &TopicPartition) -> Option<Offset> {
        self.0.fetchers.position(partition)
    }

    /// Ends the fetching of a partition, if it is fetched. Its reader must be gone or unused.
    pub(super) async fn forget(&self, partition: &TopicPartition) {
        let (client, at) = (self.clone(), partition.clone());
        if let Err(error) = blocking(move || client.0.fetchers.unassign(&at)).await {
            warn!(%partition, %error, "not unassigned");
        }
    }

    /// The offset after the last record of the log.
    ///
    /// Cancel safe.
    pub(super) async fn end(&self, partition: &TopicPartition) -> Result<Offset, KafkaRunnerError> {
        match self.asked_together(&self.0.ends, partition, END).await {
            Ok(rdkafka::Offset::Offset(end)) => checked("the end of the log", partition, end),
            // One partition's error is the error of all in the request: librdkafka drops the other answers.
            _ => self.end_alone(partition).await,
        }
    }

    /// The same, to be shown only, from an answer about all that are asked for at the moment; `None` = it was an error for one of
    /// them.
    ///
    /// Cancel safe.
    pub(super) async fn end_together(&self, partition: &TopicPartition) -> Option<Offset> {
        match self.asked_together(&self.0.shown_ends, partition, END).await {
            Ok(rdkafka::Offset::Offset(end)) => Offset::new(end).ok(),
            _ => None,
        }
    }

    async fn asked_together(
        &self,
        lookup: &Lookup,
        partition: &TopicPartition,
        place: rdkafka::Offset,
    ) -> KafkaResult<rdkafka::Offset> {
        let client = self.clone();
        let request = move |partitions: &[TopicPartition]| {
            let asked = list(partitions.iter().map(|partition| (partition, place)))?;
            client.asking().offsets_for_times(asked, END_BOUND)
        };
        lookup.of(partition, request).await.map(|found| found.offset)
    }

    /// The offset of the first record that is there, or the end where there is none.
    ///
    /// Cancel safe.
    pub(super) async fn beginning(&self, partition: &TopicPartition) -> Result<Offset, KafkaRunnerError> {
        match self.asked_together(&self.0.beginnings, partition, BEGINNING).await {
            Ok(rdkafka::Offset::Offset(first)) => checked("the beginning of the log", partition, first),
            // As for the end.
            _ => self.watermarks(partition).await.map(|(first, _)| first),
        }
    }

    pub(super) async fn end_alone(&self, partition: &TopicPartition) -> Result<Offset, KafkaRunnerError> {
        self.watermarks(partition).await.map(|(_, end)| end)
    }

    async fn watermarks(&self, partition: &TopicPartition) -> Result<(Offset, Offset), KafkaRunnerError> {
        let (client, at) = (self.clone(), partition.clone());
        let read = move || client.asking().fetch_watermarks(at.topic.as_str(), at.kafka_number(), END_BOUND);
        let failed = |source| KafkaRunnerError::Read { partition: partition.clone(), source };
        let (first, end) = blocking(read).await.map_err(failed)?;
        let first = checked("the beginning of the log", partition, first)?;
        Ok((first, checked("the end of the log", partition, end)?))
    }

    /// The offset that the group has committed; `None` = it has committed nothing.
    ///
    /// Cancel safe.
    pub(super) async fn committed(
        &self,
        partition: &TopicPartition,
    ) -> Result<Option<CommittedOffset>, KafkaRunnerError> {
        let client = self.clone();
        let request = move |partitions: &[TopicPartition]| {
            let asked = list(partitions.iter().map(|partition| (partition, rdkafka::Offset::Invalid)))?;
            client.asking().committed_offsets(asked, KAFKA_BOUND)
        };
        let failed = |source| KafkaRunnerError::Committed { partition: partition.clone(), source };
        let found = self.0.committed.of(partition, request).await.map_err(failed)?;
        let rdkafka::Offset::Offset(committed) = found.offset else { return Ok(None) };
        let offset = checked("the committed offset", partition, committed)?;
        Ok(Some(CommittedOffset { offset, topic_id: topic_id_in(&found.metadata) }))
    }

    /// Commits what is `due` at the moment of sending, and waits until the broker has answered. `landed` is told what was
    /// committed, before anybody else has the turn.
    ///
    /// One commit at a time, also after its caller gave up: a late one must not land after the one that follows.
    ///
    /// # Errors
    ///
    /// [`KafkaRunnerError::Commit`], [`KafkaRunnerError::GroupHasMembers`]: it failed, or there was no answer in time. Then it
    /// may have taken effect.
    pub(super) async fn commit(
        &self,
        due: impl FnOnce() -> Vec<Position> + Send + 'static,
        landed: impl FnOnce(&[Position]) + Send + 'static,
    ) -> Result<(), KafkaRunnerError> {
        let begun = Instant::now();
        let committed = match timeout(KAFKA_BOUND, self.commit_in_turn(due, landed)).await {
            Ok(Some(committed)) => committed,
            Ok(None) | Err(_) => Err(KafkaError::ConsumerCommit(RDKafkaErrorCode::OperationTimedOut)),
        };
        self.tell_commit(begun.elapsed(), committed.is_ok());
        committed.map_err(|source| self.commit_failure(source))
    }

    fn tell_commit(&self, took: Duration, is_done: bool) {
        let labels = self.0.labels.all();
        histogram!(COMMIT_TIME.name, labels).record(took);
        counter!(COMMITS_FAILED.name, labels).increment(u64::from(!is_done));
    }

    fn commit_failure(&self, source: KafkaError) -> KafkaRunnerError {
        use RDKafkaErrorCode::{IllegalGeneration, UnknownMemberId};
        match source.rdkafka_error_code() {
            // This client names no member, which is right only in a group that has none.
            Some(UnknownMemberId | IllegalGeneration) => {
                KafkaRunnerError::GroupHasMembers { group: self.0.group.clone(), source }
            }
            _ => KafkaRunnerError::Commit(source),
        }
    }

    /// The turn to commit. Whoever has it knows that no commit is under way.
    ///
    /// Cancel safe.
    pub(super) async fn turn(&self) -> OwnedMutexGuard<()> {
        self.0.committing.clone().lock_owned().await
    }

    /// Waits until the commit that is under way has landed or failed; at most 5 s, since librdkafka sets it no bound.
    ///
    /// Cancel safe.
    pub(super) async fn commit_landed(&self) {
        let _ = timeout(KAFKA_BOUND, self.turn()).await;
    }

    /// `None` = it ended without a result.
    async fn commit_in_turn(
        &self,
        due: impl FnOnce() -> Vec<Position> + Send + 'static,
        landed: impl FnOnce(&[Position]) + Send + 'static,
    ) -> Option<KafkaResult<()>> {
        let turn = self.turn().await;
        let (client, (answer, answered)) = (self.clone(), oneshot::channel());
        self.0.thread.run(move || {
            let due = due();
            let committed = client.commit_now(&due);
            if committed.is_ok() {
                landed(&due);
            }
            drop(turn);
            let _ = answer.send(committed);
        });
        answered.await.ok()
    }

    fn commit_now(&self, positions: &[Position]) -> KafkaResult<()> {
        if positions.is_empty() {
            return Ok(());
        }
        let mut list = TopicPartitionList::with_capacity(positions.len());
        for position in positions {
            let (topic, partition) = (position.partition.topic.as_str(), position.partition.kafka_number());
            let mut element = list.add_partition(topic, partition);
            element.set_offset(rdkafka::Offset::Offset(position.next.get()))?;
            element.set_metadata(position.note.to_string());
        }
        self.asking().commit(&list, CommitMode::Sync)
    }
}

pub(super) fn list<'a>(
    partitions: impl IntoIterator<Item = (&'a TopicPartition, rdkafka::Offset)>,
) -> KafkaResult<TopicPartitionList> {
    let mut list = TopicPartitionList::new();
    for (partition, offset) in partitions {
        list.add_partition_offset(partition.topic.as_str(), partition.kafka_number(), offset)?;
    }
    Ok(list)
}

/// An offset that a broker named.
pub(super) fn checked(
    field: &'static str,
    partition: &TopicPartition,
    offset: i64,
) -> Result<Offset, KafkaRunnerError> {
    let invalid = |offset| KafkaRunnerError::NegativeOffset { field, offset, partition: partition.clone() };
    Offset::new(offset).map_err(invalid)
}

fn on_a_thread<R>(work: impl Future<Output = R> + Send + 'static) -> Result<(), KafkaRunnerError> {
    let body = move || drop(futures::executor::block_on(work));
    let started = std::thread::Builder::new().name("kafka-events".to_owned()).spawn(body);
    started.map(drop).map_err(|error| KafkaRunnerError::Thread(error.to_string()))
}

/// librdkafka's own events: errors of brokers, from which it recovers by itself.
async fn serve_events(handle: Handle) {
    loop {
        if let Err(error) = handle.recv().await {
            debug!(%error, "kafka");
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use kafka_assigner_types::id::Epoch;
    use rdkafka::mocking::{MockCluster, MockCoordinator};
    use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
    use tokio::time::Instant;

    use super::*;

    fn at(partition: u32) -> TopicPartition {
        TopicPartition::try_from(("t", partition)).expect("a valid name")
    }

    fn first_position() -> Position {
        let note = CommitNote { epoch: Epoch(1), topic_id: None };
        Position { partition: at(0), next: Offset::ZERO.next(), note }
    }

    #[tokio::test]
    async fn a_partition_whose_end_is_not_known_costs_those_asked_for_with_it_nothing() {
        let cluster = MockCluster::new(1).expect("a cluster in this process");
        cluster.create_topic("t", 3, 1).expect("a new topic");
        let client =
            Client::new(&KafkaOptions::new(cluster.bootstrap_servers(), "g")).expect("valid options");
        let ends = |numbers: [u32; 3]| {
            let partitions = numbers.map(at);
            let client = client.clone();
            async move { join_all(partitions.iter().map(|at| client.end(at))).await }
        };
        let known = ends([0, 1, 2]).await;
        assert!(known.iter().all(|end| matches!(end, Ok(Offset::ZERO))), "{known:?}");
        let missing = ends([0, 1, 7]).await;
        assert!(matches!(&*missing, [Ok(Offset::ZERO), Ok(Offset::ZERO), Err(_)]), "{missing:?}");
        let refused = RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
        cluster.request_errors(RDKafkaApiKey::ListOffsets, &[refused]);
        let refused = ends([0, 1, 2]).await;
        assert!(refused.iter().all(|end| matches!(end, Ok(Offset::ZERO))), "{refused:?}");
    }

    #[tokio::test]
    async fn a_partition_is_read_while_a_commit_hangs() {
        let cluster = MockCluster::new(2).expect("a cluster in this process");
        cluster.create_topic("t", 2, 1).expect("a new topic");
        for number in 0..2 {
            cluster.partition_leader("t", number, Some(1)).expect("a broker");
        }
        cluster.coordinator(MockCoordinator::Group("g".into()), 2).expect("a broker");
        let client =
            Client::new(&KafkaOptions::new(cluster.bootstrap_servers(), "g")).expect("valid options");
        client.commit(|| vec![first_position()], |_| {}).await.expect("a coordinator");
        // Afterwards it knows the topic's leaders, and need not ask the broker that hangs.
        let mut other = client.read(&at(1), Offset::ZERO).await.expect("no broker is asked");
        assert!(other.ahead().await.is_ok());
        cluster.broker_round_trip_time(2, Duration::from_secs(4)).expect("a broker");
        let hangs = tokio::spawn({
            let client = client.clone();
            async move { client.commit(|| vec![first_position()], |_| {}).await }
        });
        tokio::time::sleep(Duration::from_millis(200)).await;
        let mut reader = client.read(&at(0), Offset::ZERO).await.expect("no broker is asked");
        let ahead = timeout(Duration::from_secs(2), reader.ahead()).await;
        assert!(matches!(ahead, Ok(Ok(_))) && !hangs.is_finished(), "{ahead:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_commit_that_nobody_answers_ends_within_its_bound_and_holds_up_no_exit() {
        let client = Client::new(&KafkaOptions::new("127.0.0.1:1", "g")).expect("valid options");
        let position = first_position();
        let begun = Instant::now();
        assert!(matches!(
            client.commit(move || vec![position], |_| {}).await,
            Err(KafkaRunnerError::Commit(_))
        ));
        assert!(begun.elapsed() <= KAFKA_BOUND + Duration::from_millis(1), "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_commit_waits_for_one_whose_caller_gave_up() {
        let client = Client::new(&KafkaOptions::new("127.0.0.1:1", "g")).expect("valid options");
        let position = first_position();
        assert!(client.commit(move || vec![position], |_| {}).await.is_err());
        let (asked, is_asked) = oneshot::channel();
        let late = client.commit(
            move || {
                let _ = asked.send(());
                Vec::new()
            },
            |_| {},
        );
        assert!(late.await.is_err());
        assert!(is_asked.await.is_err(), "sent beside the one before it");
    }

    #[test]
    fn a_negative_offset_is_an_error_with_its_rule() {
        let at = at(3);
        assert!(matches!(checked("the committed offset", &at, 0), Ok(Offset::ZERO)));
        let refused = checked("the committed offset", &at, -7).expect_err("negative").to_string();
        assert_eq!(refused, "the committed offset of t/3 = -7 is refused: it must not be negative");
    }
}
