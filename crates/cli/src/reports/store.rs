//! Reports of what was done to the store itself.

use serde::Serialize;

use crate::output::{Report, TextPage, TextTable};

/// The store was said to be put back.
#[derive(Debug, Serialize)]
pub(crate) struct StoreRestoration {
    /// The cluster id that it has now.
    pub(crate) cluster_id: String,
    /// The cluster id that it had before.
    pub(crate) earlier_cluster_id: String,
    /// The number that is added to revisions for epochs from now on.
    pub(crate) epoch_offset: u64,
    /// The revision at which the store stood.
    pub(crate) revision: u64,
}

impl Report for StoreRestoration {
    fn show(&self, page: &mut TextPage) {
        page.line("the store has another cluster id: every session and every grant begins anew");
        page.gap();
        let mut table = TextTable::new(["SETTING", "VALUE"]);
        table.row(["cluster id".into(), (&self.cluster_id).into()]);
        table.row(["earlier cluster id".into(), (&self.earlier_cluster_id).into()]);
        table.row(["epoch offset".into(), self.epoch_offset.to_string().into()]);
        table.row(["revision".into(), self.revision.to_string().into()]);
        page.table(table, "");
        page.gap();
        page.line("start the instances now; those that run load everything anew within seconds");
        page.line("in the modes exclusive and routed nothing is granted for max-session-timeout:");
        page.line("`kafka-assigner explain` shows the time that is left");
    }
}

/// Groups were imported.
#[derive(Debug, Serialize)]
pub(crate) struct StoreImport {
    /// The cluster id that the store has now.
    pub(crate) cluster_id: String,
    /// The number that is added to revisions for epochs from now on.
    pub(crate) epoch_offset: u64,
    /// The groups, by name.
    pub(crate) groups: Vec<ImportedGroup>,
}

/// A group that was imported.
#[derive(Debug, Serialize)]
pub(crate) struct ImportedGroup {
    /// Its name.
    pub(crate) group: String,
    /// The number of its topics.
    pub(crate) topics: u64,
    /// The number of partitions whose epochs came with it.
    pub(crate) assignments: u64,
}

impl Report for StoreImport {
    fn show(&self, page: &mut TextPage) {
        page.line(format!("imported under the new cluster id {}", self.cluster_id));
        page.gap();
        let mut table = TextTable::new(["GROUP", "TOPICS", "ASSIGNMENTS"]);
        for ImportedGroup { group, topics, assignments } in &self.groups {
            table.row([group.into(), (*topics).into(), (*assignments).into()]);
        }
        page.table(table, "no groups");
    }
}
