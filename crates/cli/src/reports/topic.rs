//! Topics.

use kafka_assigner_proto::v1;
use serde::Serialize;

use super::values::some;
use crate::output::{Report, TextPage, TextTable, or_dash};

/// The topics of a group.
#[derive(Debug, Serialize)]
pub(crate) struct Topics {
    /// By name.
    pub(crate) topics: Vec<TopicEntry>,
}

/// A topic.
#[derive(Debug, Serialize)]
pub(crate) struct TopicEntry {
    topic: String,
    partitions: u32,
    /// `operator`, `kafka` or `unknown`.
    source: &'static str,
    topic_id: Option<String>,
    copartition: Option<String>,
    /// `null` = the group's.
    mode: Option<String>,
}

impl From<v1::Topic> for TopicEntry {
    fn from(wire: v1::Topic) -> Self {
        let source = match wire.source() {
            v1::TopicSource::Unspecified => "unknown",
            v1::TopicSource::Operator => "operator",
            v1::TopicSource::Kafka => "kafka",
        };
        let (topic_id, copartition) = (some(wire.topic_id), wire.copartition.and_then(some));
        let mode = wire.mode.and_then(some);
        Self { topic: wire.topic, partitions: wire.partitions, source, topic_id, copartition, mode }
    }
}

impl TopicEntry {
    /// The topic in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let Self { topic, partitions, source, .. } = self;
        let with = self.copartition.as_ref().map(|label| format!(" and moves with {label}"));
        let mode = self.mode.as_ref().map(|mode| format!(", in the mode {mode}"));
        let (with, mode) = (with.unwrap_or_default(), mode.unwrap_or_default());
        format!("topic {topic} has {partitions} partitions ({source}){with}{mode}")
    }
}

impl Report for Topics {
    fn show(&self, page: &mut TextPage) {
        let mut table = TextTable::new(["TOPIC", "PARTITIONS", "SOURCE", "COPARTITION", "MODE"]);
        for topic in &self.topics {
            table.row([
                (&topic.topic).into(),
                topic.partitions.into(),
                topic.source.into(),
                or_dash(topic.copartition.as_ref()).into(),
                or_dash(topic.mode.as_ref()).into(),
            ]);
        }
        page.table(table, "no topics");
    }
}
