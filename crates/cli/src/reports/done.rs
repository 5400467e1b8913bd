//! The results of commands that change something.

use serde::Serialize;

use super::group::GroupSettings;
use super::topic::TopicEntry;
use crate::output::{Report, TextPage, TextTable};

/// A group's configuration was written.
#[derive(Debug, Serialize)]
pub(crate) struct GroupSet {
    /// The group.
    pub(crate) group: String,
    /// True if it did not exist before.
    pub(crate) created: bool,
    /// All of it, after the change.
    pub(crate) config: GroupSettings,
}

impl Report for GroupSet {
    fn show(&self, page: &mut TextPage) {
        page.line(format!("group {} {}", self.group, created(self.created)));
        page.gap();
        let mut table = TextTable::new(["SETTING", "VALUE"]);
        self.config.rows(&mut table);
        page.table(table, "");
    }
}

/// A group was deleted.
#[derive(Debug, Serialize)]
pub(crate) struct GroupDeleted {
    /// The group.
    pub(crate) group: String,
    /// The number of records that it had.
    pub(crate) records: u64,
}

impl Report for GroupDeleted {
    fn show(&self, page: &mut TextPage) {
        page.line(format!("group {} deleted with {} records", self.group, self.records));
    }
}

/// A topic was written.
#[derive(Debug, Serialize)]
pub(crate) struct TopicSet {
    /// The group.
    pub(crate) group: String,
    /// True if the group did not have it before.
    pub(crate) created: bool,
    /// As it is now.
    #[serde(flatten)]
    pub(crate) topic: TopicEntry,
}

impl Report for TopicSet {
    fn show(&self, page: &mut TextPage) {
        page.line(format!("{}; {} in group {}", self.topic.sentence(), created(self.created), self.group));
    }
}

/// A topic was taken out of a group.
#[derive(Debug, Serialize)]
pub(crate) struct TopicDeleted {
    /// The group.
    pub(crate) group: String,
    /// The topic.
    pub(crate) topic: String,
}

impl Report for TopicDeleted {
    fn show(&self, page: &mut TextPage) {
        page.line(format!("topic {} taken out of group {}", self.topic, self.group));
    }
}

/// The cancellation of a move was asked for.
#[derive(Debug, Serialize)]
pub(crate) struct Aborted {
    /// The group.
    pub(crate) group: String,
    /// The topic.
    pub(crate) topic: String,
    /// The partition.
    pub(crate) partition: i32,
    /// The handoff that will be cancelled.
    pub(crate) handoff_id: String,
}

impl Report for Aborted {
    fn show(&self, page: &mut TextPage) {
        let Self { group, topic, partition, handoff_id } = self;
        page.line(format!("asked for the cancellation of handoff {handoff_id} of {topic}/{partition}"));
        page.line("the leader does not move this partition to the same consumer for a while, and may begin another move");
        page.line(format!("in its place: `kafka-assigner plan {group}` shows it"));
    }
}

/// A partition goes on.
#[derive(Debug, Serialize)]
pub(crate) struct Resumed {
    /// The group.
    pub(crate) group: String,
    /// The topic.
    pub(crate) topic: String,
    /// The partition.
    pub(crate) partition: i32,
    /// True = the record is passed over; false = it is tried again.
    pub(crate) skip: bool,
    /// The offset of the record before which it stood.
    pub(crate) offset: i64,
}

impl Report for Resumed {
    fn show(&self, page: &mut TextPage) {
        let Self { group, topic, partition, skip, offset } = self;
        let what = if *skip { "is passed over" } else { "is tried again" };
        page.line(format!("{topic}/{partition} goes on: the record at offset {offset} {what}"));
        page.line(format!("`kafka-assigner explain {group} {topic} {partition}` shows what becomes of it"));
    }
}

/// A consumer's session ends.
#[derive(Debug, Serialize)]
pub(crate) struct ConsumerEnded {
    /// The group.
    pub(crate) group: String,
    /// The consumer.
    pub(crate) consumer: String,
    /// The session that ends.
    pub(crate) incarnation: String,
}

impl Report for ConsumerEnded {
    fn show(&self, page: &mut TextPage) {
        let Self { group, consumer, incarnation } = self;
        page.line(format!("session {incarnation} of consumer {consumer} ends; its partitions go to others"));
        page.line(format!(
            "a client that lives begins a new one: `kafka-assigner consumers {group}` shows it"
        ));
    }
}

const fn created(created: bool) -> &'static str {
    if created { "created" } else { "changed" }
}
