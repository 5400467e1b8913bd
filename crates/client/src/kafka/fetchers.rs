//! The clients of librdkafka that fetch. One reads far ahead; it has so many partitions that their memory is bounded. Those
//! beyond them are read by a second one, a short way ahead, since librdkafka bounds each partition and never all of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use kafka_assigner_types::id::{Offset, TopicPartition};
use rdkafka::consumer::base_consumer::PartitionQueue;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaResult;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::broker_trouble::WatchedClient;
use super::broker_watch::BrokerWatch;
use super::client::list;
use super::error::KafkaRunnerError;
use super::events::KafkaEvents;
use super::options::{KafkaOptions, without_secret};
use super::read_ahead::ReadAhead;

/// The longest wait for an event before it is looked whether the client is still needed.
const EVENTS: Duration = Duration::from_millis(250);

/// The bound on asking which brokers lead the partitions of a topic. Without an answer librdkafka asks by itself.
const LEADERS_BOUND: Duration = Duration::from_secs(1);

/// A client that fetches.
type Fetcher = Arc<BaseConsumer<KafkaEvents>>;

/// A partition that is fetched.
#[derive(Clone)]
struct Fetched {
    read_ahead: ReadAhead,
    /// Set once the leaders of its topic were asked for; one for all partitions of a topic that the same client fetches.
    leaders: Arc<OnceLock<()>>,
}

/// The clients that fetch, and the partitions of each.
pub(super) struct Fetchers {
    options: KafkaOptions,
    watch: BrokerWatch,
    /// One for each way of reading ahead, made when it is needed first. Taken only when this is dropped.
    by_read_ahead: [OnceLock<Fetcher>; 2],
    /// The partitions that are fetched: librdkafka complains when another one is ended.
    assigned: Mutex<BTreeMap<TopicPartition, Fetched>>,
    /// Held while a client is made.
    making: Mutex<()>,
    /// Ends the serving of their events.
    stopped: CancellationToken,
}

impl Drop for Fetchers {
    /// Closing librdkafka can block for 100 ms, which must not stall a runtime thread.
    fn drop(&mut self) {
        self.stopped.cancel();
        let fetchers = std::mem::take(&mut self.by_read_ahead);
        std::thread::spawn(move || drop(fetchers));
    }
}

impl Fetchers {
    /// The first of the clients is made at once, so that a setting that is refused is told at once.
    ///
    /// # Errors
    ///
    /// [`KafkaRunnerError::Client`], [`KafkaRunnerError::Thread`].
    pub(super) fn new(options: &KafkaOptions, watch: &BrokerWatch) -> Result<Self, KafkaRunnerError> {
        let fetchers = Self {
            options: options.clone(),
            watch: watch.clone(),
            by_read_ahead: Default::default(),
            assigned: Mutex::default(),
            making: Mutex::default(),
            stopped: CancellationToken::new(),
        };
        fetchers.fetcher(ReadAhead::Full)?;
        Ok(fetchers)
    }

    fn assigned(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, Fetched>> {
        self.assigned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fetcher(&self, read_ahead: ReadAhead) -> Result<&Fetcher, KafkaRunnerError> {
        let place = &self.by_read_ahead[read_ahead as usize];
        if let Some(fetcher) = place.get() {
            return Ok(fetcher);
        }
        let _one_at_a_time = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fetcher) = place.get() {
            return Ok(fetcher);
        }
        let made = self.make(read_ahead)?;
        Ok(place.get_or_init(|| made))
    }

    fn make(&self, read_ahead: ReadAhead) -> Result<Fetcher, KafkaRunnerError> {
        let watch = self.watch.of(WatchedClient::Fetching(read_ahead));
        let events = KafkaEvents::of(&self.options).watched_by(&watch);
        let config = self.options.config_for(read_ahead);
        let made = config.create_with_context::<_, BaseConsumer<_>>(events);
        let fetcher = made.map_err(|error| KafkaRunnerError::Client(without_secret(error)))?;
        let fetcher = Arc::new(fetcher);
        let (served, stopped) = (Arc::downgrade(&fetcher), self.stopped.clone());
        let serve = move || serve_events(&served, &stopped);
        let started = std::thread::Builder::new().name("kafka-events".to_owned()).spawn(serve);
        started.map_err(|error| KafkaRunnerError::Thread(error.to_string()))?;
        Ok(fetcher)
    }

    /// True if a broker answers a client that there is, within `bound`. Blocks.
    pub(super) fn is_answered(&self, read_ahead: ReadAhead, topic: &str, bound: Duration) -> bool {
        let fetcher = self.by_read_ahead[read_ahead as usize].get();
        fetcher.is_some_and(|fetcher| fetcher.fetch_metadata(Some(topic), bound).is_ok())
    }

    /// Begins to fetch a partition from `offset` on. Blocks for at most [`LEADERS_BOUND`], where its client fetches nothing else of
    /// the topic.
    ///
    /// # Errors
    ///
    /// librdkafka refuses it, or a second client can't be made.
    pub(super) fn assign(
        &self,
        partition: &TopicPartition,
        offset: Offset,
    ) -> Result<PartitionQueue<KafkaEvents>, KafkaRunnerError> {
        let fetched = self.reserve(partition);
        let begun = self.begin(partition, offset, &fetched);
        if begun.is_err() {
            self.assigned().remove(partition);
        }
        begun
    }

    /// The way of reading a partition ahead, which is noted at once, so that no more are read far ahead than may be. Nothing of
    /// librdkafka is waited for meanwhile: whoever asks for a position waits for this.
    fn reserve(&self, partition: &TopicPartition) -> Fetched {
        let mut assigned = self.assigned();
        let full = assigned.values().filter(|fetched| fetched.read_ahead == ReadAhead::Full).count();
        let read_ahead = ReadAhead::beside(full);
        let of_topic = assigned.iter().filter(|(other, _)| other.topic == partition.topic);
        let beside = of_topic.map(|(_, fetched)| fetched).find(|fetched| fetched.read_ahead == read_ahead);
        let leaders = beside.map_or_else(Arc::default, |fetched| Arc::clone(&fetched.leaders));
        let fetched = Fetched { read_ahead, leaders };
        assigned.insert(partition.clone(), fetched.clone());
        fetched
    }

    fn begin(
        &self,
        partition: &TopicPartition,
        offset: Offset,
        fetched: &Fetched,
    ) -> Result<PartitionQueue<KafkaEvents>, KafkaRunnerError> {
        let fetcher = self.fetcher(fetched.read_ahead)?;
        fetched.leaders.get_or_init(|| learn_leaders(fetcher, partition));
        // Before it is assigned: librdkafka then never forwards it to the common queue.
        let queue = fetcher
            .split_partition_queue(partition.topic.as_str(), partition.kafka_number())
            .ok_or_else(|| KafkaRunnerError::NotHeld(partition.clone()))?;
        let failed = |source| KafkaRunnerError::Read { partition: partition.clone(), source };
        let list = list([(partition, start_at(offset))]).map_err(failed)?;
        fetcher.incremental_assign(&list).map_err(failed)?;
        Ok(queue)
    }

    /// Ends the fetching of a partition, if it is fetched.
    pub(super) fn unassign(&self, partition: &TopicPartition) -> KafkaResult<()> {
        let Some(fetched) = self.assigned().remove(partition) else { return Ok(()) };
        let Some(fetcher) = self.by_read_ahead[fetched.read_ahead as usize].get() else { return Ok(()) };
        fetcher.incremental_unassign(&list([(partition, rdkafka::Offset::Invalid)])?)
    }

    /// The offset after the last thing that librdkafka gave to the reader of a partition, the markers of transactions
    /// included; `None` = it gave nothing yet. No broker is asked.
    pub(super) fn position(&self, partition: &TopicPartition) -> Option<Offset> {
        let read_ahead = self.assigned().get(partition)?.read_ahead;
        let positions = self.by_read_ahead[read_ahead as usize].get()?.position().ok()?;
        let of_partition = positions.find_partition(partition.topic.as_str(), partition.kafka_number())?;
        match of_partition.offset() {
            rdkafka::Offset::Offset(next) => Offset::new(next).ok(),
            _ => None,
        }
    }
}

/// Has the client learn which brokers lead the partitions of a topic. By itself it looks once a second for topics that are
/// assigned and not known, so a first record would wait for that.
fn learn_leaders(fetcher: &Fetcher, of: &TopicPartition) {
    if let Err(error) = fetcher.fetch_metadata(Some(of.topic.as_str()), LEADERS_BOUND) {
        debug!(topic = %of.topic, %error, "its leaders are not known yet");
    }
}

/// Retention may have removed the first records.
const fn start_at(offset: Offset) -> rdkafka::Offset {
    match offset {
        Offset::ZERO => rdkafka::Offset::Beginning,
        offset => rdkafka::Offset::Offset(offset.get()),
    }
}

/// librdkafka's own events, on a thread of their own since a fetch of tokens may block: errors of brokers, from which it
/// recovers by itself. Ends with the client, or soon after `stopped`.
fn serve_events(fetcher: &Weak<BaseConsumer<KafkaEvents>>, stopped: &CancellationToken) {
    while let Some(fetcher) = fetcher.upgrade().filter(|_| !stopped.is_cancelled()) {
        if let Some(Err(error)) = fetcher.poll(EVENTS) {
            debug!(%error, "kafka");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use rdkafka::error::KafkaError;
    use rdkafka::mocking::MockCluster;

    use super::*;

    /// Waits for the end of the log, at which nothing is.
    fn reach_end(fetchers: &Fetchers, topic: &str) {
        let partition = TopicPartition::try_from((topic, 0)).expect("a valid name");
        let queue = fetchers.assign(&partition, Offset::ZERO).expect("a topic");
        let told = queue.poll(Duration::from_secs(10));
        assert!(matches!(told, Some(Err(KafkaError::PartitionEOF(_)))), "no end of {topic} within 10 s");
    }

    // By itself librdkafka looks each second, so each of the topics would take a second after the one before.
    #[tokio::test]
    async fn a_topic_that_a_client_does_not_know_yet_is_read_at_once() {
        let cluster = MockCluster::new(1).expect("a cluster in this process");
        let topics = ["a", "b", "c", "d"];
        topics.iter().for_each(|topic| cluster.create_topic(topic, 1, 1).expect("a new topic"));
        let mut options = KafkaOptions::new(cluster.bootstrap_servers(), "g");
        // A question waits for the fetch that is under way.
        options.settings.push(("fetch.wait.max.ms".to_owned(), "1".to_owned()));
        let fetchers = Fetchers::new(&options, &BrokerWatch::new()).expect("valid options");
        let begun = Instant::now();
        topics.iter().for_each(|topic| reach_end(&fetchers, topic));
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    }

    fn at(partition: u32) -> TopicPartition {
        TopicPartition::try_from(("t", partition)).expect("a valid name")
    }

    fn is_assigned(fetchers: &Fetchers, read_ahead: ReadAhead) -> usize {
        let fetcher = fetchers.by_read_ahead[read_ahead as usize].get();
        fetcher.map_or(0, |fetcher| fetcher.assignment().expect("no broker is asked").count())
    }

    #[tokio::test]
    async fn only_what_is_read_is_unassigned() {
        let fetchers = Fetchers::new(&KafkaOptions::new("127.0.0.1:1", "g"), &BrokerWatch::new())
            .expect("valid options");
        let (read, other) = (at(0), at(1));
        let _queue = fetchers.assign(&read, Offset::ZERO).expect("no broker is asked");
        assert_eq!(fetchers.unassign(&other), Ok(()), "librdkafka was asked, and complained");
        assert_eq!(is_assigned(&fetchers, ReadAhead::Full), 1);
        assert_eq!(fetchers.unassign(&read), Ok(()));
        assert_eq!(is_assigned(&fetchers, ReadAhead::Full), 0);
        assert_eq!(fetchers.unassign(&read), Ok(()));
    }

    #[tokio::test]
    async fn many_partitions_are_read_by_a_second_client_until_others_end() {
        let fetchers = Fetchers::new(&KafkaOptions::new("127.0.0.1:1", "g"), &BrokerWatch::new())
            .expect("valid options");
        let read = |number| fetchers.assign(&at(number), Offset::ZERO).expect("no broker is asked");
        let mut queues: Vec<_> = (0..200).map(read).collect();
        let full = is_assigned(&fetchers, ReadAhead::Full);
        assert!(full < 100, "{full} are read far ahead");
        assert_eq!(is_assigned(&fetchers, ReadAhead::Short), 200 - full);
        fetchers.unassign(&at(0)).expect("it is read");
        queues.push(read(200));
        assert_eq!(is_assigned(&fetchers, ReadAhead::Full), full, "there was room again");
    }
    #[tokio::test]
    async fn a_position_is_known_while_a_client_is_made_for_another_partition() {
        let fetchers = Fetchers::new(&KafkaOptions::new("127.0.0.1:1", "g"), &BrokerWatch::new())
            .expect("valid options");
        let read = |number| fetchers.assign(&at(number), Offset::ZERO).expect("no broker is asked");
        let mut queues = Vec::new();
        while ReadAhead::beside(queues.len()) == ReadAhead::Full {
            queues.push(read(u32::try_from(queues.len()).expect("a few")));
        }
        let is_reserved = || {
            let assigned = fetchers.assigned.try_lock();
            assigned.is_ok_and(|assigned| assigned.contains_key(&at(1_000)))
        };
        std::thread::scope(|scope| {
            let making = fetchers.making.lock().expect("no panic inside");
            let waits = scope.spawn(|| read(1_000));
            let until = Instant::now() + Duration::from_secs(10);
            while !is_reserved() {
                assert!(Instant::now() < until, "whoever asks for a position waits as well");
                std::thread::yield_now();
            }
            assert_eq!(fetchers.position(&at(0)), None, "nothing came, and nobody waited");
            assert!(!waits.is_finished(), "the client is made first");
            drop(making);
        });
    }
}
