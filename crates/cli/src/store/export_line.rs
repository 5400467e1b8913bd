//! One line of an export.

use kafka_assigner_core::record::{GroupConfig, Topic};
use kafka_assigner_types::id::Epoch;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::name::{GroupName, TopicName};
use serde::{Deserialize, Serialize};

/// The version of exports that this program writes, and the newest that it reads.
pub(super) const EXPORT_VERSION: u64 = 1;

/// One line. Sessions, handoffs, leaders and owners are not exported: they belong to the store that they come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub(super) enum ExportLine {
    /// The first line: the store.
    Store {
        /// The version of the export.
        version: u64,
        /// The cluster id.
        cluster_id: String,
        /// The number that is added to revisions for epochs.
        epoch_offset: u64,
        /// The revision at which everything was read.
        revision: u64,
    },
    /// A group.
    Group {
        /// Its name.
        group: GroupName,
        /// Its configuration.
        config: Box<GroupConfig>,
    },
    /// A topic of a group.
    Topic {
        /// The group.
        group: GroupName,
        /// The topic.
        topic: TopicName,
        /// Its record.
        record: Topic,
    },
    /// A partition that was granted.
    Assignment {
        /// The group.
        group: GroupName,
        /// The topic.
        topic: TopicName,
        /// The partition.
        partition: u32,
        /// The highest epoch that was given for it.
        epoch: Epoch,
        /// The mode in which it was granted last.
        mode: Mode,
    },
}
