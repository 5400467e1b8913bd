//! The topics as Kafka would report them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use kafka_assigner_core::topics::{Found, TopicLook};
use kafka_assigner_server::topics::{Error, TopicSource};
use kafka_assigner_types::name::TopicName;

/// A Kafka that consists of partition counts.
#[derive(Debug)]
pub(crate) struct Kafka(Mutex<BTreeMap<TopicName, Option<u32>>>);

impl Kafka {
    pub(crate) fn new(topics: &[(&'static str, u32)]) -> Self {
        let named = topics.iter().map(|(name, partitions)| (topic(name), Some(*partitions)));
        Self(Mutex::new(named.collect()))
    }

    /// Gives `name` `more` partitions, where it exists and stays within `most`.
    pub(crate) fn grow(&self, name: &str, more: u32, most: u32) -> Option<u32> {
        let mut topics = self.topics();
        let count = topics.get_mut(&topic(name))?.as_mut()?;
        if *count + more > most {
            return None;
        }
        *count += more;
        Some(*count)
    }

    /// Lets `name` vanish; returns what it had.
    pub(crate) fn remove(&self, name: &str) -> Option<u32> {
        self.topics().get_mut(&topic(name))?.take()
    }

    /// `name` exists again.
    pub(crate) fn restore(&self, name: &str, partitions: u32) {
        self.topics().insert(topic(name), Some(partitions));
    }

    fn topics(&self) -> MutexGuard<'_, BTreeMap<TopicName, Option<u32>>> {
        self.0.lock().expect("nothing panics while it holds the topics")
    }
}

/// The name of one of the world's topics.
pub(crate) fn topic(name: &str) -> TopicName {
    name.parse().expect("the world gives good names")
}

#[async_trait]
impl TopicSource for Kafka {
    async fn find(&self, names: &BTreeSet<TopicName>) -> Result<Found, Error> {
        let topics = self.topics();
        Ok(names
            .iter()
            .map(|name| (name.clone(), topics.get(name).copied().flatten().map(TopicLook::new)))
            .collect())
    }
}
