//! What commands that change something have done.

use serde::Serialize;

use super::{GroupConfig, Topic};
use crate::output::{Page, Report, Table};

/// A group's configuration was written.
#[derive(Debug, Serialize)]
pub(crate) struct GroupSet {
    /// Which.
    pub(crate) group: String,
    /// Whether it did not exist before.
    pub(crate) created: bool,
    /// All of it, after the change.
    pub(crate) config: GroupConfig,
}

impl Report for GroupSet {
    fn show(&self, page: &mut Page) {
        page.line(format!("group {} {}", self.group, created(self.created)));
        page.gap();
        let mut table = Table::new(["SETTING", "VALUE"]);
        self.config.rows(&mut table);
        page.table(table, "");
    }
}

/// A group was deleted.
#[derive(Debug, Serialize)]
pub(crate) struct GroupDeleted {
    /// Which.
    pub(crate) group: String,
    /// How many records it had.
    pub(crate) records: u64,
}

impl Report for GroupDeleted {
    fn show(&self, page: &mut Page) {
        page.line(format!("group {} deleted with {} records", self.group, self.records));
    }
}

/// A topic was written.
#[derive(Debug, Serialize)]
pub(crate) struct TopicSet {
    /// Of which group.
    pub(crate) group: String,
    /// Whether the group did not have it before.
    pub(crate) created: bool,
    /// As it is now.
    #[serde(flatten)]
    pub(crate) topic: Topic,
}

impl Report for TopicSet {
    fn show(&self, page: &mut Page) {
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
    fn show(&self, page: &mut Page) {
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
    fn show(&self, page: &mut Page) {
        let Self { topic, partition, handoff_id, .. } = self;
        page.line(format!("asked for the cancellation of handoff {handoff_id} of {topic}/{partition}"));
    }
}

const fn created(created: bool) -> &'static str {
    if created { "created" } else { "changed" }
}
