//! The topics as Kafka would report them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use kafka_assigner_core::topics::{Found, TopicLook};
use kafka_assigner_server::topics::{Error, TopicSource};
use kafka_assigner_types::name::TopicName;
use kafka_assigner_types::topic_id::TopicId;

use crate::hole::Hole;

/// A Kafka that consists of partition counts and, unless it is an old one, ids.
#[derive(Debug)]
pub(crate) struct Kafka {
    has_ids: bool,
    /// True if it tells the ids that topics had at first, see [`Hole::FormerIdTold`].
    tells_former_ids: bool,
    topics: Mutex<Topics>,
}

#[derive(Debug, Default)]
struct Topics {
    now: BTreeMap<TopicName, Option<TopicLook>>,
    /// The id of the first topic of each name.
    first: BTreeMap<TopicName, Option<TopicId>>,
    /// The number of topics there have been: each has an id of its own.
    created: u128,
}

impl Kafka {
    pub(crate) fn new(topics: &[(&'static str, u32)], has_ids: bool, hole: Option<Hole>) -> Self {
        let tells_former_ids = hole == Some(Hole::FormerIdTold);
        let kafka = Self { has_ids, tells_former_ids, topics: Mutex::default() };
        topics.iter().for_each(|(name, partitions)| kafka.create(name, *partitions));
        kafka
    }

    /// True if a topic that was created anew is told from the one before.
    pub(crate) const fn has_ids(&self) -> bool {
        self.has_ids
    }

    /// Another topic `name` of `partitions` partitions.
    pub(crate) fn create(&self, name: &str, partitions: u32) {
        let mut topics = self.topics();
        topics.created += 1;
        let id = TopicId::new(topics.created.to_be_bytes()).filter(|_| self.has_ids);
        topics.first.entry(topic(name)).or_insert(id);
        topics.now.insert(topic(name), Some(TopicLook { partitions, id }));
    }

    /// Gives `name` `more` partitions, where it exists and stays within `most`.
    pub(crate) fn grow(&self, name: &str, more: u32, most: u32) -> Option<u32> {
        let mut topics = self.topics();
        let look = topics.now.get_mut(&topic(name))?.as_mut()?;
        if look.partitions + more > most {
            return None;
        }
        look.partitions += more;
        Some(look.partitions)
    }

    /// Lets `name` vanish; returns what it was.
    pub(crate) fn remove(&self, name: &str) -> Option<TopicLook> {
        self.topics().now.get_mut(&topic(name))?.take()
    }

    /// `name` exists again, as it was.
    pub(crate) fn restore(&self, name: &str, look: TopicLook) {
        self.topics().now.insert(topic(name), Some(look));
    }

    fn topics(&self) -> MutexGuard<'_, Topics> {
        self.topics.lock().expect("nothing panics while it holds the topics")
    }
}

impl Topics {
    fn look(&self, name: &TopicName, tells_former_ids: bool) -> Option<TopicLook> {
        let look = self.now.get(name).copied().flatten()?;
        let first = self.first.get(name).copied().flatten();
        Some(if tells_former_ids { TopicLook { id: first, ..look } } else { look })
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
        Ok(names.iter().map(|name| (name.clone(), topics.look(name, self.tells_former_ids))).collect())
    }
}
