//! The numbers of partitions of topics, by which keys are assigned to partitions.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kafka_assigner_types::name::TopicName;
use tokio::time::Instant;

use super::client::WeakClient;

/// The time for which an answer counts. A topic that grew is noticed after it; producers take five minutes by default.
const FRESH: Duration = Duration::from_secs(10);

/// The time for which the last number counts while no broker answers: a producer of Kafka uses one that is as old
/// (`metadata.max.age.ms`).
const USABLE: Duration = Duration::from_secs(300);

/// The time after an error until a broker is asked again, so that callers do not wait for one after the other.
const PAUSE: Duration = Duration::from_secs(2);

/// The most topics that are remembered: names come from callers, and a group has at most 2 000 topics.
const MOST_TOPICS: usize = 2_000;

/// The numbers of partitions that are known. Pure.
#[derive(Debug, Default)]
struct KnownSizes(BTreeMap<TopicName, KnownSize>);

#[derive(Debug, Default)]
struct KnownSize {
    /// The last number, with the time of the answer.
    size: Option<(NonZeroU32, Instant)>,
    /// The error of the last question, with its time; `None` = it was answered.
    error: Option<(String, Instant)>,
}

impl KnownSizes {
    /// The number to use now, or the error of the last question; `None` = ask.
    fn get(&self, topic: &TopicName, now: Instant) -> Option<Result<NonZeroU32, String>> {
        let known = self.0.get(topic)?;
        if let Some((size, at)) = known.size
            && now < at + FRESH
        {
            return Some(Ok(size));
        }
        let (error, at) = known.error.as_ref().filter(|(_, at)| now < *at + PAUSE)?;
        let usable = known.size.filter(|(_, answered)| *at < *answered + USABLE);
        Some(usable.map(|(size, _)| size).ok_or_else(|| error.clone()))
    }

    /// Notes an answer of a broker.
    fn note(&mut self, topic: &TopicName, answer: Result<NonZeroU32, String>, now: Instant) {
        if self.0.len() >= MOST_TOPICS && !self.0.contains_key(topic) {
            self.0.retain(|_, known| known.size.is_some_and(|(_, at)| now < at + FRESH));
        }
        if self.0.len() >= MOST_TOPICS {
            self.0.clear();
        }
        let known = self.0.entry(topic.clone()).or_default();
        match answer {
            Ok(size) => *known = KnownSize { size: Some((size, now)), error: None },
            Err(error) => known.error = Some((error, now)),
        }
    }
}

/// Asks the brokers of a runner for numbers of partitions, and remembers the answers; cheap to clone.
#[derive(Clone)]
pub(super) struct TopicSizes {
    client: WeakClient,
    known: Arc<Mutex<KnownSizes>>,
    /// One question at a time: those who wait for the turn find the answer.
    asking: Arc<tokio::sync::Mutex<()>>,
}

impl TopicSizes {
    pub(super) fn new(client: WeakClient) -> Self {
        Self { client, known: Arc::default(), asking: Arc::default() }
    }

    fn known(&self) -> MutexGuard<'_, KnownSizes> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, topic: &TopicName) -> Option<Result<NonZeroU32, String>> {
        self.known().get(topic, Instant::now())
    }

    /// The number of partitions of a topic, or why it is not known.
    ///
    /// Cancel safe.
    pub(super) async fn of(&self, topic: &TopicName) -> Result<NonZeroU32, String> {
        if let Some(known) = self.get(topic) {
            return known;
        }
        let _turn = self.asking.lock().await;
        if let Some(known) = self.get(topic) {
            return known;
        }
        let Some(client) = self.client.upgrade() else { return Err("the runner has ended".to_owned()) };
        let answer = client.partitions_of(topic).await.map_err(|error| error.to_string());
        self.known().note(topic, answer.clone(), Instant::now());
        // A number that was known before may still count.
        self.get(topic).unwrap_or(answer)
    }
}

#[cfg(test)]
mod tests {
    use rdkafka::mocking::MockCluster;

    use super::*;
    use crate::kafka::KafkaOptions;
    use crate::kafka::client::Client;

    fn topic(name: &str) -> TopicName {
        name.parse().expect("a valid name")
    }

    const fn size(partitions: u32) -> NonZeroU32 {
        NonZeroU32::new(partitions).expect("not 0")
    }

    #[test]
    fn a_number_is_asked_for_again_and_outlives_an_outage_for_as_long_as_that_of_a_producer() {
        let (mut known, start, t) = (KnownSizes::default(), Instant::now(), topic("t"));
        let second = Duration::from_secs(1);
        assert_eq!(known.get(&t, start), None);
        known.note(&t, Ok(size(3)), start);
        assert_eq!(known.get(&t, start + 9 * second), Some(Ok(size(3))));
        assert_eq!(known.get(&t, start + FRESH), None, "the topic may have grown");
        known.note(&t, Err("down".to_owned()), start + FRESH);
        assert_eq!(known.get(&t, start + FRESH + second), Some(Ok(size(3))));
        assert_eq!(known.get(&t, start + FRESH + PAUSE), None);
        known.note(&t, Err("down".to_owned()), start + USABLE);
        assert_eq!(known.get(&t, start + USABLE), Some(Err("down".to_owned())));
        known.note(&t, Ok(size(5)), start + USABLE + second);
        assert_eq!(known.get(&t, start + USABLE + second), Some(Ok(size(5))));
    }

    #[test]
    fn no_more_topics_are_remembered_than_a_group_may_have() {
        let (mut known, start) = (KnownSizes::default(), Instant::now());
        for number in 0..=MOST_TOPICS {
            known.note(&topic(&format!("t{number}")), Ok(size(1)), start);
        }
        assert!(known.0.len() <= MOST_TOPICS);
    }

    #[tokio::test]
    async fn brokers_are_asked_for_a_number_and_an_unknown_topic_is_an_error() {
        let cluster = MockCluster::new(1).expect("a cluster in this process");
        cluster.create_topic("t", 3, 1).expect("a new topic");
        let options = KafkaOptions::new(cluster.bootstrap_servers(), "g");
        let client = Client::new(&options).expect("valid options");
        let sizes = TopicSizes::new(client.downgrade());
        assert_eq!(sizes.of(&topic("t")).await, Ok(size(3)));
        let missing = sizes.of(&topic("missing")).await;
        assert!(missing.as_ref().is_err_and(|error| error.contains("Unknown topic")), "{missing:?}");
        drop(client);
        assert_eq!(sizes.of(&topic("t")).await, Ok(size(3)), "it is remembered");
        assert_eq!(sizes.of(&topic("u")).await, Err("the runner has ended".to_owned()));
    }
}
