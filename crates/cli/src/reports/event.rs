//! Changes as they happen.

use kafka_assigner_proto::v1;
use kafka_assigner_proto::v1::watch_event::Event as Wire;
use serde::Serialize;

use super::assignment::AssignmentEntry;
use super::consumer::ConsumerEntry;
use super::group::{GroupLeader, GroupSettings, GroupSummary};
use super::handoff::{HandoffEnded, HandoffEntry};
use super::topic::TopicEntry;
use super::values::known;
use crate::output::{Report, TextPage, time_of_day};

/// One change, with the revision that it came with and the time at which the instance told it.
#[derive(Debug, Serialize)]
pub(crate) struct EventReport {
    at_unix_ms: Option<i64>,
    revision: u64,
    #[serde(flatten)]
    change: GroupChange,
}

/// The change: in JSON the field of that name, beside `revision`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum GroupChange {
    /// The group as it is; always the first.
    Group(GroupSummary),
    /// A consumer came or changed.
    Consumer(ConsumerEntry),
    /// The consumer of that name went.
    ConsumerGone(String),
    /// A partition has another owner or epoch, stands before a record, or stands no more.
    Assignment(AssignmentEntry),
    /// A move began or went on.
    Handoff(HandoffEntry),
    /// A move ended.
    HandoffEnded(HandoffEnded),
    /// Another leader, or none.
    Leader(Option<GroupLeader>),
    /// A topic came or changed.
    Topic(TopicEntry),
    /// The topic of that name went.
    TopicGone(String),
    /// The configuration changed.
    Config(GroupSettings),
}

impl EventReport {
    /// The event, or `None` where it is of a kind that this version does not know.
    pub(crate) fn new(wire: v1::WatchEvent) -> Option<Self> {
        Some(Self { at_unix_ms: known(wire.at_unix_ms), revision: wire.revision, change: wire.event?.into() })
    }
}

impl From<Wire> for GroupChange {
    fn from(wire: Wire) -> Self {
        match wire {
            Wire::Group(group) => Self::Group(group.into()),
            Wire::Consumer(consumer) => Self::Consumer(consumer.into()),
            Wire::ConsumerGone(name) => Self::ConsumerGone(name),
            Wire::Assignment(assignment) => Self::Assignment(assignment.into()),
            Wire::Handoff(handoff) => Self::Handoff(handoff.into()),
            Wire::HandoffEnded(ended) => Self::HandoffEnded(ended.into()),
            Wire::Leader(leader) => Self::Leader(GroupLeader::new(leader)),
            Wire::Topic(topic) => Self::Topic(topic.into()),
            Wire::TopicGone(name) => Self::TopicGone(name),
            Wire::Config(config) => Self::Config(config.into()),
        }
    }
}

impl GroupChange {
    fn sentence(&self) -> String {
        match self {
            Self::Group(group) => group.sentence(),
            Self::Consumer(consumer) => consumer.sentence(),
            Self::ConsumerGone(name) => format!("consumer {name} is gone"),
            Self::Assignment(assignment) => assignment.sentence(),
            Self::Handoff(handoff) => handoff.sentence(),
            Self::HandoffEnded(ended) => ended.sentence(),
            Self::Leader(None) => "no instance leads".to_owned(),
            Self::Leader(Some(leader)) => format!("led by {}", leader.words()),
            Self::Topic(topic) => topic.sentence(),
            Self::TopicGone(name) => format!("topic {name} is gone"),
            Self::Config(_) => {
                "the configuration changed; `kafka-assigner group describe` shows it".to_owned()
            }
        }
    }
}

impl Report for EventReport {
    fn show(&self, page: &mut TextPage) {
        page.line(format!(
            "{}  {:>8}  {}",
            time_of_day(self.at_unix_ms),
            self.revision,
            self.change.sentence()
        ));
    }
}
