//! The sink of a group: one file to which all its consumers append what they do, in the order in which it happened.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use kafka_assigner_audit::{Handled, Micros};
use kafka_assigner_rig::journal;
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use serde::{Deserialize, Serialize};

/// One thing that a consumer did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Effect {
    /// The process.
    pub(crate) process: String,
    /// The partition.
    pub(crate) partition: u32,
    /// The fencing token.
    pub(crate) epoch: u64,
    /// The time.
    pub(crate) at: Micros,
    /// The deed.
    #[serde(flatten)]
    pub(crate) deed: Deed,
}

/// The deed of a consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "deed")]
pub(crate) enum Deed {
    /// It began with a record.
    Begun {
        /// The record's id.
        id: u64,
    },
    /// It handled a record: the record's effect took place.
    Handled {
        /// The record's id.
        id: u64,
        /// Its offset.
        offset: i64,
    },
}

/// The file of the sink of `group`.
pub(crate) fn path(folder: &Path, group: &str) -> PathBuf {
    folder.join(format!("{group}.sink.jsonl"))
}

/// All effects in a group so far, in their order.
pub(crate) fn read(folder: &Path, group: &str) -> Result<Vec<Effect>> {
    journal::read(&path(folder, group))
}

impl Effect {
    /// The id of the record that was handled; `None` for any other deed.
    pub(crate) const fn handled(&self) -> Option<u64> {
        match self.deed {
            Deed::Handled { id, .. } => Some(id),
            Deed::Begun { .. } => None,
        }
    }

    /// The same as the audit has it, in the topic `topic`; `None` where no record was handled.
    pub(crate) fn for_audit(&self, topic: &str) -> Option<Handled> {
        let Deed::Handled { id, offset } = self.deed else { return None };
        let slot = TopicPartition::try_from((topic, self.partition)).ok()?;
        let (epoch, process) = (Epoch(self.epoch), self.process.clone());
        Some(Handled { slot, offset: Offset::new(offset).ok()?, id, epoch, process, at: self.at })
    }
}

/// The number of times that each record was handled.
pub(crate) fn times<'a>(effects: impl IntoIterator<Item = &'a Effect>) -> BTreeMap<u64, usize> {
    let mut times = BTreeMap::new();
    effects.into_iter().filter_map(Effect::handled).for_each(|id| *times.entry(id).or_default() += 1);
    times
}
