//! The notes of the consumers of the edges: one file for each group, to which all of them append.

use std::path::{Path, PathBuf};

use anyhow::Result;
use kafka_assigner_audit::Micros;
use kafka_assigner_rig::journal;
use serde::{Deserialize, Serialize};

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EdgeNote {
    /// The process.
    pub(super) process: String,
    /// The time.
    pub(super) at: Micros,
    /// Its content.
    #[serde(flatten)]
    pub(super) deed: EdgeDeed,
}

/// The deed of a consumer, or a word that it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "deed")]
pub(super) enum EdgeDeed {
    /// It handled a record.
    Handled {
        /// The partition.
        partition: u32,
        /// The record's offset.
        offset: i64,
        /// The record's id.
        id: u64,
        /// The state after it.
        state: EdgeState,
    },
    /// It was told of records that are gone: those from the first offset on, before the second one.
    Gap {
        /// The partition.
        partition: u32,
        /// The first offset that is gone.
        from: i64,
        /// The first offset that is there.
        to: i64,
    },
    /// It failed a record, as it was asked to.
    Failed {
        /// The partition.
        partition: u32,
        /// The record's offset.
        offset: i64,
    },
    /// The counts of its runner since it began.
    Counted {
        /// Records that were passed over.
        skipped: u64,
        /// Partitions that stand now.
        standing: usize,
    },
}

/// The state of a partition: it tells which records are in it, and in which order they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct EdgeState {
    /// The offset of the first record; `None` = none came.
    pub(super) first: Option<i64>,
    /// The number of records.
    pub(super) count: u64,
    /// Changes with the ids and with their order.
    pub(super) digest: u64,
}

impl EdgeState {
    /// The first of the two changes that a record makes.
    pub(super) fn count(&mut self, offset: i64) {
        self.first.get_or_insert(offset);
        self.count += 1;
    }

    /// The second one.
    pub(super) const fn digest(&mut self, id: u64) {
        self.digest = self.digest.wrapping_mul(31).wrapping_add(id + 1);
    }
}

/// The file of `group`.
pub(super) fn path(folder: &Path, group: &str) -> PathBuf {
    folder.join(format!("{group}.edges.jsonl"))
}

/// All notes of a group so far, in their order.
pub(super) fn read(folder: &Path, group: &str) -> Result<Vec<EdgeNote>> {
    journal::read(&path(folder, group))
}
