//! `store import`.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::PathBuf;

use bytes::Bytes;
use clap::Args;
use kafka_assigner_core::key::{ClusterLayout, Key, Layout};
use kafka_assigner_core::record::{Assignment, ClusterRecord, GroupConfig, Topic, encode};
use kafka_assigner_server::{WallClock, identity};
use kafka_assigner_store::Store;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::kv::{Compare, Must, Op, Txn};
use kafka_assigner_types::name::GroupName;

use super::error::StoreCommandError;
use super::export_line::{EXPORT_VERSION, ExportLine};
use super::open::StoreSettings;
use super::restored::{epoch_offset, new_cluster_id};
use crate::command_error::CommandError;
use crate::commands::ConfirmationFlag;
use crate::output::Output;
use crate::reports::{ImportedGroup, StoreImport};

/// Records in one transaction: below etcd's 128 operations, and with the longest names far below its 1.5 MiB.
const AT_ONCE: usize = 100;

/// Imports groups.
#[derive(Debug, Args)]
pub(crate) struct ImportGroups {
    /// The file with the export; none named = the standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    confirmation: ConfirmationFlag,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    settings: StoreSettings,
}

impl ImportGroups {
    /// Writes the groups into the store, and what was written.
    ///
    /// # Errors
    /// [`CommandError`]; where writing failed in the middle, groups that are not complete do not exist.
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let import = GroupImport::read(&text(self.file)?)?;
        self.confirmation.get("end every session of the store, and import into it")?;
        let (store, prefix) = self.settings.open().await?;
        let imported = import.write(&*store.handle(), &prefix).await;
        store.close().await;
        self.output.write(&imported?)
    }
}

fn text(file: Option<PathBuf>) -> Result<String, CommandError> {
    let read = match &file {
        Some(path) => std::fs::read_to_string(path),
        None => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map(|_| text)
        }
    };
    let path = file.unwrap_or_else(|| PathBuf::from("standard input"));
    read.map_err(|source| CommandError::Unreadable { flag: "FILE", path, source })
}

/// The content that an export has to bring.
#[derive(Debug, Default)]
struct GroupImport {
    epoch_offset: u64,
    groups: BTreeMap<GroupName, GroupRecords>,
}

/// The records of one group.
#[derive(Debug)]
struct GroupRecords {
    config: Box<GroupConfig>,
    topics: Vec<(Key, Topic)>,
    assignments: Vec<(Key, Assignment)>,
}

impl GroupImport {
    /// Reads the lines of an export.
    ///
    /// # Errors
    /// [`StoreCommandError::Line`] for the first that makes no sense.
    fn read(text: &str) -> Result<Self, StoreCommandError> {
        let mut import = Self::default();
        let mut has_header = false;
        for (at, text) in text.lines().enumerate() {
            let refused = |why: String| StoreCommandError::Line { number: at + 1, why };
            let line: ExportLine = serde_json::from_str(text).map_err(|error| refused(error.to_string()))?;
            has_header |= matches!(line, ExportLine::Store { .. });
            if !has_header {
                return Err(refused("the first line must be of kind store".to_owned()));
            }
            import.add(line).map_err(refused)?;
        }
        Ok(import)
    }

    fn add(&mut self, line: ExportLine) -> Result<(), String> {
        match line {
            ExportLine::Store { version, .. } if version > EXPORT_VERSION => {
                return Err(format!("version {version}, this program reads 1 to {EXPORT_VERSION}"));
            }
            ExportLine::Store { epoch_offset, .. } => self.epoch_offset = self.epoch_offset.max(epoch_offset),
            ExportLine::Group { group, config } => {
                let records = GroupRecords { config, topics: Vec::new(), assignments: Vec::new() };
                self.groups.insert(group, records);
            }
            ExportLine::Topic { group, topic, record } => {
                self.of(&group)?.topics.push((Key::Topic(topic), record));
            }
            ExportLine::Assignment { group, topic, partition, epoch, mode } => {
                let key = Key::Assignment(TopicPartition::new(topic, partition));
                self.of(&group)?.assignments.push((key, Assignment::without_owner(mode, epoch)));
            }
        }
        Ok(())
    }

    fn of(&mut self, group: &GroupName) -> Result<&mut GroupRecords, String> {
        let missing = || format!("the line of kind group for {group} must come before it");
        self.groups.get_mut(group).ok_or_else(missing)
    }

    /// Writes the groups under another cluster id, so that strict grants wait for those who own them elsewhere.
    ///
    /// # Errors
    /// [`CommandError`].
    async fn write(&self, store: &dyn Store, prefix: &str) -> Result<StoreImport, CommandError> {
        self.refuse_existing(store, prefix).await?;
        let (known, _) = identity::read(store, prefix).await?;
        let before = known.as_ref().map_or(0, epoch_offset);
        let from = ClusterRecord { epoch_offset: before.max(self.epoch_offset), ..ClusterRecord::new("") };
        let next = from.begun_anew(new_cluster_id(), WallClock::system().now());
        let next = identity::replace(store, prefix, known.as_ref(), &next).await?;
        let next = next.ok_or(StoreCommandError::Overtaken)?;
        let mut groups = Vec::new();
        for (group, records) in &self.groups {
            groups.push(write_group(store, prefix, group, records).await?);
        }
        Ok(StoreImport { cluster_id: next.id().to_owned(), epoch_offset: epoch_offset(&next), groups })
    }

    async fn refuse_existing(&self, store: &dyn Store, prefix: &str) -> Result<(), CommandError> {
        for group in self.groups.keys() {
            let key = Layout::new(prefix, group.clone()).encode(&Key::GroupConfig);
            if store.get(&key).await?.0.is_some() {
                return Err(StoreCommandError::GroupExists(format!("group {group}")).into());
            }
        }
        Ok(())
    }
}

/// Writes a group, its configuration last: until then it does not exist.
async fn write_group(
    store: &dyn Store,
    prefix: &str,
    group: &GroupName,
    records: &GroupRecords,
) -> Result<ImportedGroup, CommandError> {
    let layout = Layout::new(prefix, group.clone());
    let config = layout.encode(&Key::GroupConfig);
    let is_absent = Compare::new(config.clone(), Must::BeAbsent);
    let topics = records.topics.iter().map(|(key, topic)| Op::put(layout.encode(key), encode(topic)));
    let assignments = records.assignments.iter().map(|(key, of)| Op::put(layout.encode(key), encode(of)));
    let puts: Vec<Op> = topics.chain(assignments).collect();
    let entry = Op::put(ClusterLayout::new(prefix).group(group), Bytes::from_static(b"{}"));
    let last = vec![Op::put(config, encode(&records.config)), entry];
    for ops in puts.chunks(AT_ONCE).chain([last.as_slice()]) {
        let outcome = store.txn(Txn::guarded(vec![is_absent.clone()], ops.to_vec())).await?;
        if !outcome.succeeded {
            return Err(StoreCommandError::GroupExists(format!("group {group}")).into());
        }
    }
    let count = |records: usize| u64::try_from(records).unwrap_or(u64::MAX);
    let (topics, assignments) = (count(records.topics.len()), count(records.assignments.len()));
    Ok(ImportedGroup { group: group.to_string(), topics, assignments })
}
