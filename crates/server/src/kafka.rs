//! Topics from Kafka's metadata.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use kafka_assigner_core::topics::Found;
use kafka_assigner_types::name::TopicName;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::metadata::MetadataTopic;
use rdkafka::types::RDKafkaRespErr;

use crate::topics::{Error, TopicSource};

/// How long the brokers may take to answer for all topics together. Leaders refresh every ten seconds, so slower ones
/// are asked again anyway.
const PATIENCE: Duration = Duration::from_secs(5);

/// The most topics that are asked about one by one. With more, one request for all that the cluster has costs less
/// than as many round trips.
const FEW: usize = 20;

/// Asks a Kafka cluster for its topics. It creates none.
pub struct KafkaTopics {
    /// Set until it is dropped.
    client: Option<Arc<BaseConsumer>>,
}

impl std::fmt::Debug for KafkaTopics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KafkaTopics")
    }
}

/// Settings that librdkafka refuses, in its words but without any value: one may be a secret, also under a mistyped name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KafkaSettingsError(String);

impl KafkaSettingsError {
    /// The parts of names by which a setting is known as a secret.
    const SECRETS: [&str; 6] = ["password", "secret", "token", "jaas", "oauthbearer.config", ".pem"];

    fn new(error: &KafkaError, settings: &[(String, String)]) -> Self {
        let words = match error {
            KafkaError::ClientConfig(_, words, key, value) if words.contains(key) => hide(words, value),
            KafkaError::ClientConfig(_, words, key, value) => format!("{}: {key}", hide(words, value)),
            // Here every name is one that librdkafka knows.
            other => {
                let is_secret = |key: &str| Self::SECRETS.iter().any(|part| key.contains(part));
                let secrets = settings.iter().filter(|(key, _)| is_secret(key));
                secrets.fold(other.to_string(), |words, (_, value)| hide(&words, value))
            }
        };
        Self(words)
    }
}

fn hide(words: &str, value: &str) -> String {
    if value.is_empty() { words.to_owned() } else { words.replace(value, "(hidden)") }
}

impl KafkaTopics {
    /// A client of the cluster behind `brokers` ("host:port,host:port"), with librdkafka's `settings`.
    ///
    /// # Errors
    /// [`KafkaSettingsError`] where a setting is unknown or out of its bounds. Brokers that can't be reached are no
    /// error: they may come.
    pub fn new(brokers: &str, settings: &[(String, String)]) -> Result<Self, KafkaSettingsError> {
        let mut config = ClientConfig::new();
        for (key, value) in settings {
            config.set(key, value);
        }
        config.set("bootstrap.servers", brokers).set("allow.auto.create.topics", "false");
        let client = config.create().map_err(|error| KafkaSettingsError::new(&error, settings))?;
        Ok(Self { client: Some(Arc::new(client)) })
    }
}

#[async_trait]
impl TopicSource for KafkaTopics {
    async fn find(&self, names: &BTreeSet<TopicName>) -> Result<Found, Error> {
        let client = self.client.clone().expect("it is set until it is dropped");
        let names = names.clone();
        // The client blocks, so it is asked where that disturbs nobody; it gives up by itself. Closing blocks too,
        // and an abandoned call may be the last that holds the client: it closes on its own thread then.
        let asked = tokio::task::spawn_blocking(move || ask_all(&client, &names)).await;
        match asked {
            Ok(found) => found.map_err(|error| Error(Box::new(error))),
            Err(panicked) => Err(Error(Box::new(panicked))),
        }
    }
}

/// Few topics are asked about one at a time, since a cluster may have many more than a group reads. Topics that there
/// was no time for are left out.
fn ask_all(client: &BaseConsumer, names: &BTreeSet<TopicName>) -> Result<Found, KafkaError> {
    let deadline = Instant::now() + PATIENCE;
    let mut found = if names.len() > FEW { ask_at_once(client, names)? } else { Found::new() };
    // That a topic is on no list may only mean that it is not shown to this client.
    let open: Vec<&TopicName> = names.iter().filter(|name| !found.contains_key(*name)).collect();
    for (asked, name) in open.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        match ask(client, name, left) {
            Ok(Some(partitions)) => drop(found.insert(TopicName::clone(name), partitions)),
            Ok(None) => {}
            Err(error) if found.is_empty() => return Err(error),
            // What is known counts; the brokers are asked again for the rest.
            Err(error) => {
                let unasked = open.len() - asked;
                tracing::warn!(%error, unasked, "Kafka was not asked about all topics in {PATIENCE:?}");
                break;
            }
        }
    }
    Ok(found)
}

/// What the brokers say for certain of those among `names` that they list.
fn ask_at_once(client: &BaseConsumer, names: &BTreeSet<TopicName>) -> Result<Found, KafkaError> {
    let metadata = client.fetch_metadata(None, PATIENCE)?;
    let listed = metadata.topics().iter().filter_map(|topic| {
        let name = names.get(topic.name())?;
        Some((name.clone(), said_of(topic)?))
    });
    Ok(listed.collect())
}

fn ask(
    client: &BaseConsumer,
    name: &TopicName,
    patience: Duration,
) -> Result<Option<Option<u32>>, KafkaError> {
    let metadata = client.fetch_metadata(Some(name.as_str()), patience)?;
    Ok(metadata.topics().iter().find(|topic| topic.name() == name.as_str()).and_then(said_of))
}

/// What a broker says of a topic for certain: its partition count, or that it does not exist. Any other error is
/// about the broker.
fn said_of(topic: &MetadataTopic) -> Option<Option<u32>> {
    match topic.error() {
        None => u32::try_from(topic.partitions().len()).ok().map(Some),
        Some(
            RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART
            | RDKafkaRespErr::RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
        ) => Some(None),
        Some(_) => None,
    }
}

impl Drop for KafkaTopics {
    fn drop(&mut self) {
        // Closing blocks: never on a runtime's thread.
        let client = self.client.take();
        std::thread::spawn(move || drop(client));
    }
}

#[cfg(test)]
mod tests {
    use rdkafka::mocking::MockCluster;

    use super::*;

    fn names(names: &[&str]) -> BTreeSet<TopicName> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    async fn find(topics: &KafkaTopics, asked: &[&str]) -> Result<Vec<(String, Option<u32>)>, Error> {
        let found = topics.find(&names(asked)).await?;
        Ok(found.into_iter().map(|(name, partitions)| (name.to_string(), partitions)).collect())
    }

    #[tokio::test]
    async fn topics_are_told_with_their_partitions_and_unknown_ones_denied() {
        let cluster = MockCluster::new(1).unwrap();
        cluster.create_topic("orders", 6, 1).unwrap();
        let topics = KafkaTopics::new(&cluster.bootstrap_servers(), &[]).unwrap();
        let found = find(&topics, &["missing", "orders"]).await.unwrap();
        assert_eq!(found, [("missing".to_owned(), None), ("orders".to_owned(), Some(6))]);
        // Asking created nothing.
        assert_eq!(find(&topics, &["missing"]).await.unwrap(), [("missing".to_owned(), None)]);
    }

    #[tokio::test]
    async fn many_topics_cost_few_requests_and_unknown_ones_are_still_denied() {
        let cluster = MockCluster::new(1).unwrap();
        let many: Vec<String> = (0..40).map(|n| format!("topic-{n:02}")).collect();
        many.iter().for_each(|name| cluster.create_topic(name, 2, 1).unwrap());
        let topics = KafkaTopics::new(&cluster.bootstrap_servers(), &[]).unwrap();
        // One by one, forty answers would take longer than there is patience for.
        cluster.broker_round_trip_time(1, Duration::from_millis(300)).unwrap();
        let mut asked: Vec<&str> = many.iter().map(String::as_str).collect();
        asked.push("missing");
        let found = find(&topics, &asked).await.unwrap();
        assert_eq!(found.len(), 41);
        assert_eq!(found.iter().filter(|(_, partitions)| *partitions == Some(2)).count(), 40);
        assert_eq!(found[0], ("missing".to_owned(), None));
    }

    #[tokio::test]
    async fn a_topic_of_which_nothing_is_certain_is_left_out() {
        let cluster = MockCluster::new(1).unwrap();
        cluster.create_topic("orders", 6, 1).unwrap();
        cluster.create_topic("secret", 3, 1).unwrap();
        let denied = RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
        cluster.topic_error("secret", denied).unwrap();
        let topics = KafkaTopics::new(&cluster.bootstrap_servers(), &[]).unwrap();
        let found = find(&topics, &["orders", "secret"]).await.unwrap();
        assert_eq!(found, [("orders".to_owned(), Some(6))]);
    }

    #[tokio::test]
    async fn brokers_that_do_not_answer_are_an_error_and_no_denial() {
        let cluster = MockCluster::new(1).unwrap();
        let topics = KafkaTopics::new(&cluster.bootstrap_servers(), &[]).unwrap();
        cluster.broker_down(1).unwrap();
        find(&topics, &["orders"]).await.unwrap_err();
    }

    #[tokio::test]
    async fn a_setting_that_librdkafka_does_not_know_is_refused() {
        let refused = KafkaTopics::new("127.0.0.1:1", &[("no.such.thing".to_owned(), "1".to_owned())]);
        assert!(refused.unwrap_err().to_string().contains("no.such.thing"));
    }

    /// The words for settings that librdkafka refuses, in which `value` is not found.
    fn words_without(value: &str, settings: &[(&str, &str)]) -> String {
        let settings: Vec<_> =
            settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let error = KafkaTopics::new("127.0.0.1:1", &settings).unwrap_err();
        let words = format!("{error} {error:?}");
        assert!(!words.contains(value), "{words}");
        words
    }

    #[test]
    fn a_secret_is_not_shown_though_its_name_is_mistyped() {
        assert!(words_without("hunter2", &[("sasl.passwrd", "hunter2")]).contains("sasl.passwrd"));
    }

    #[test]
    fn a_secret_is_not_shown_though_it_stands_for_another_setting() {
        let words = words_without("hunter2", &[("security.protocol", "hunter2")]);
        assert!(words.contains("security.protocol"), "{words}");
    }

    #[test]
    fn a_secret_is_not_shown_where_several_settings_together_are_refused() {
        let tls = [("security.protocol", "ssl"), ("ssl.key.pem", "hunter2")];
        words_without("hunter2", &tls);
    }
}
