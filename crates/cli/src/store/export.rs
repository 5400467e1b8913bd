//! `store export`.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use kafka_assigner_core::key::{ClusterLayout, Key, Layout};
use kafka_assigner_core::record::{Assignment, ClusterRecord, GroupConfig, Topic, decode};
use kafka_assigner_store::Store;
use kafka_assigner_types::kv::{Record, Snapshot};
use kafka_assigner_types::name::GroupName;
use serde::de::DeserializeOwned;

use super::error::StoreCommandError;
use super::export_line::{EXPORT_VERSION, ExportLine};
use super::open::StoreSettings;
use crate::command_error::CommandError;
use crate::output;

/// Exports groups.
#[derive(Debug, Args)]
pub(crate) struct ExportGroups {
    /// The groups; none named = all of them
    #[arg(value_name = "GROUP")]
    groups: Vec<GroupName>,
    #[command(flatten)]
    settings: StoreSettings,
}

impl ExportGroups {
    /// Writes the lines to the standard output.
    ///
    /// # Errors
    /// [`CommandError`].
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let (store, prefix) = self.settings.open_existing().await?;
        let listed = list(&*store.handle(), &prefix).await;
        store.close().await;
        let lines = export(&listed?, &prefix, &self.groups)?;
        output::print(&text(&lines)?)
    }
}

async fn list(store: &dyn Store, prefix: &str) -> Result<Snapshot, CommandError> {
    Ok(store.range(prefix.as_bytes()).await?)
}

fn text(lines: &[ExportLine]) -> Result<String, CommandError> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&serde_json::to_string(line).map_err(|error| CommandError::Output(error.into()))?);
        text.push('\n');
    }
    Ok(text)
}

/// The lines for the groups `named` of a listing, or for all of them where none is.
pub(super) fn export(
    listed: &Snapshot,
    prefix: &str,
    named: &[GroupName],
) -> Result<Vec<ExportLine>, StoreCommandError> {
    let mut lines = vec![header(listed, prefix)?];
    let wanted: BTreeSet<GroupName> = named.iter().cloned().collect();
    let groups = groups(listed, prefix);
    if let Some(missing) = wanted.iter().find(|name| !groups.contains(*name)) {
        return Err(StoreCommandError::NoGroup(missing.to_string()));
    }
    let is_wanted = |group: &&GroupName| wanted.is_empty() || wanted.contains(*group);
    let by_group = by_group(listed, prefix);
    for group in groups.iter().filter(is_wanted) {
        let layout = Layout::new(prefix, group.clone());
        let records = by_group.get(group).map_or(&[][..], Vec::as_slice);
        let mut of_group = BTreeMap::new();
        for record in records {
            if let Some(key) = layout.decode(&record.key) {
                of_group.extend(line(group, &key, record)?.map(|line| (rank(&key), line)));
            }
        }
        lines.extend(of_group.into_values());
    }
    Ok(lines)
}

/// The configuration goes first, then topics, then assignments.
fn rank(key: &Key) -> (u8, Key) {
    let place = match key {
        Key::GroupConfig => 0,
        Key::Topic(_) => 1,
        _ => 2,
    };
    (place, key.clone())
}

fn header(listed: &Snapshot, prefix: &str) -> Result<ExportLine, StoreCommandError> {
    let key = ClusterLayout::new(prefix).cluster();
    let Some(record) = listed.records.iter().find(|record| record.key == key) else {
        return Err(StoreCommandError::Unidentified { prefix: prefix.to_owned() });
    };
    let ClusterRecord { id, epoch_offset, .. } = read(record)?;
    let revision = listed.revision.0;
    Ok(ExportLine::Store { version: EXPORT_VERSION, cluster_id: id, epoch_offset, revision })
}

fn groups(listed: &Snapshot, prefix: &str) -> BTreeSet<GroupName> {
    let directory = ClusterLayout::new(prefix).groups();
    let name = |record: &Record| {
        std::str::from_utf8(record.key.strip_prefix(&*directory)?).ok()?.parse::<GroupName>().ok()
    };
    listed.records.iter().filter_map(name).collect()
}

fn by_group<'a>(listed: &'a Snapshot, prefix: &str) -> BTreeMap<GroupName, Vec<&'a Record>> {
    let mut by_group: BTreeMap<GroupName, Vec<&Record>> = BTreeMap::new();
    for record in &listed.records {
        let below = record.key.strip_prefix(prefix.as_bytes()).and_then(|key| std::str::from_utf8(key).ok());
        let group = below.and_then(|below| below.split_once('/')?.0.parse().ok());
        if let Some(group) = group {
            by_group.entry(group).or_default().push(record);
        }
    }
    by_group
}

fn line(group: &GroupName, key: &Key, record: &Record) -> Result<Option<ExportLine>, StoreCommandError> {
    let group = group.clone();
    Ok(match key {
        Key::GroupConfig => Some(ExportLine::Group { group, config: Box::new(read::<GroupConfig>(record)?) }),
        Key::Topic(topic) => {
            Some(ExportLine::Topic { group, topic: topic.clone(), record: read::<Topic>(record)? })
        }
        Key::Assignment(at) => {
            let assignment: Assignment = read(record)?;
            let (epoch, mode) = (assignment.highest_epoch(), assignment.mode);
            Some(ExportLine::Assignment {
                group,
                topic: at.topic.clone(),
                partition: at.partition,
                epoch,
                mode,
            })
        }
        _ => None,
    })
}

fn read<T: DeserializeOwned>(record: &Record) -> Result<T, StoreCommandError> {
    decode(&record.value).map_err(|unreadable| StoreCommandError::Unreadable {
        key: String::from_utf8_lossy(&record.key).into_owned(),
        why: unreadable.0,
    })
}
