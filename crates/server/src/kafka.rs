//! Topics from Kafka's metadata.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use kafka_assigner_core::topics::{Found, TopicLook};
use kafka_assigner_kafka::{Cluster, NobodyAnswered, Options, TlsFileError, TopicAnswer, TopicAnswers};
use kafka_assigner_types::name::TopicName;
use kafka_assigner_types::topic_id::TopicId;

use crate::refusal::describe;
use crate::topics::{Error, TopicSource};

/// Asks a Kafka cluster for its topics. It creates none.
#[derive(Debug)]
pub struct KafkaTopics {
    cluster: Cluster,
    told: ToldAlready,
}

/// Remembers what the log has already, so that it is not said at every look.
#[derive(Debug, Default)]
struct ToldAlready {
    without_ids: AtomicBool,
    partly: AtomicBool,
    /// Topics of which brokers can't tell, with Kafka's number of the error.
    unknown: Mutex<BTreeMap<String, i16>>,
}

impl KafkaTopics {
    /// A client of the cluster that `options` describe. It connects when it is first asked; brokers that can't be
    /// reached are no error: they may come. Blocks for the time of reading the files that `options` name.
    ///
    /// # Errors
    /// [`TlsFileError`] where a file can't be used.
    pub fn new(options: &Options) -> Result<Self, TlsFileError> {
        Ok(Self { cluster: Cluster::new(options)?, told: ToldAlready::default() })
    }
}

#[async_trait]
impl TopicSource for KafkaTopics {
    async fn find(&self, names: &BTreeSet<TopicName>) -> Result<Found, Error> {
        let asked = names.iter().map(ToString::to_string).collect();
        let answers = self.cluster.topics(&asked).await.map_err(Error::from)?;
        self.told.tell(&answers);
        let certain = |name: &TopicName| Some((name.clone(), certain(*answers.topics.get(name.as_str())?)?));
        Ok(names.iter().filter_map(certain).collect())
    }
}

impl From<NobodyAnswered> for Error {
    fn from(nobody: NobodyAnswered) -> Self {
        Self { label: nobody.label(), source: Box::new(nobody) }
    }
}

/// The certain part of an answer: that a topic exists, or that it does not. Any error but "unknown topic" is about the
/// broker, or about what this client may see.
fn certain(answer: TopicAnswer) -> Option<Option<TopicLook>> {
    match answer {
        TopicAnswer::Exists { partitions, id } => {
            let id = id.and_then(|id| TopicId::new(id.0));
            Some(Some(TopicLook { partitions, id }))
        }
        TopicAnswer::Absent => Some(None),
        TopicAnswer::Unknown(_) => None,
    }
}

impl ToldAlready {
    fn tell(&self, answers: &TopicAnswers) {
        if !answers.with_ids && !self.without_ids.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the Kafka brokers tell no topic ids (they are older than 2.8): a topic that is deleted and created \
                 again between two looks is not noticed"
            );
        }
        if let Some(missed) = &answers.missed {
            if !self.partly.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    error = describe(missed),
                    "Kafka was not asked about all topics; it is asked again"
                );
            }
        } else {
            self.partly.store(false, Ordering::Relaxed);
        }
        self.tell_unknown(answers);
    }

    fn tell_unknown(&self, answers: &TopicAnswers) {
        let mut told = self.unknown.lock().expect("nothing panics while it is held");
        for (topic, answer) in &answers.topics {
            let TopicAnswer::Unknown(code) = *answer else {
                told.remove(topic);
                continue;
            };
            // One that keeps coming back is told once in a while only: when the list is full, it begins anew.
            if told.len() >= MOST_TOLD {
                told.clear();
            }
            if told.insert(topic.clone(), code) != Some(code) {
                let meaning = meaning(code);
                tracing::warn!(
                    topic,
                    code,
                    meaning,
                    "Kafka can't tell a topic's partitions; it stays as it is"
                );
            }
        }
    }
}

/// The most topics that are remembered as told.
const MOST_TOLD: usize = 10_000;

/// Kafka's word for the error of a topic, where it is one that operators meet.
const fn meaning(code: i16) -> &'static str {
    match code {
        0 => "it has no partitions",
        5 => "LEADER_NOT_AVAILABLE: the cluster is electing a leader",
        17 => "INVALID_TOPIC_EXCEPTION: no topic can have this name",
        29 => "TOPIC_AUTHORIZATION_FAILED: the user of this service needs the right to describe it",
        _ => "see Kafka's list of error codes",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kafka_assigner_kafka::testing::{FakeBroker, FakeTopic};

    use super::*;

    fn source(broker: &FakeBroker) -> KafkaTopics {
        let bootstrap = vec![broker.address.clone()];
        let options = Options { patience: Duration::from_millis(300), ..Options::new(bootstrap) };
        KafkaTopics::new(&options).unwrap()
    }

    fn names(names: &[&str]) -> BTreeSet<TopicName> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    async fn find(source: &KafkaTopics, asked: &[&str]) -> Vec<(String, Option<TopicLook>)> {
        let found = source.find(&names(asked)).await.unwrap();
        found.into_iter().map(|(name, look)| (name.to_string(), look)).collect()
    }

    #[tokio::test]
    async fn topics_are_told_with_partitions_and_ids_and_unknown_ones_denied() {
        let broker = FakeBroker::start().await.unwrap();
        broker.topic("orders", 6, 7);
        let newer = source(&broker);
        let look = TopicLook { partitions: 6, id: TopicId::new([7; 16]) };
        let expected = [("missing".to_owned(), None), ("orders".to_owned(), Some(look))];
        assert_eq!(find(&newer, &["missing", "orders"]).await, expected);
        broker.state().newest_metadata = Some(9);
        let older = source(&broker);
        assert_eq!(find(&older, &["orders"]).await, [("orders".to_owned(), Some(TopicLook::new(6)))]);
    }

    #[tokio::test]
    async fn a_topic_of_which_nothing_is_certain_is_left_out() {
        let broker = FakeBroker::start().await.unwrap();
        broker.topic("orders", 6, 7);
        for error in [5, 17, 29, -1] {
            broker.state().topics.insert("secret".to_owned(), FakeTopic { error, ..FakeTopic::default() });
            let found = find(&source(&broker), &["orders", "secret"]).await;
            assert_eq!(found.len(), 1, "error {error} is no denial");
        }
    }

    #[tokio::test]
    async fn brokers_that_do_not_answer_are_an_error_and_no_denial() {
        let broker = FakeBroker::start().await.unwrap();
        broker.state().silent = true;
        let error = source(&broker).find(&names(&["orders"])).await.unwrap_err();
        assert_eq!(error.label, "no_answer");
        let words = describe(&error);
        let expected = "topics can't be looked up: the broker that was asked did not answer: 127.0.0.1:";
        assert!(
            words.starts_with(expected) && words.contains("did not answer ApiVersions within 0.3 s"),
            "{words}"
        );
    }
}
