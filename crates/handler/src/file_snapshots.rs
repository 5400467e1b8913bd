//! Snapshots in files of one folder.

use std::error::Error as StdError;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures::future::BoxFuture;
use kafka_assigner_types::id::{Offset, TopicPartition};
use kafka_assigner_types::topic_id::TopicId;

use crate::checksum::checksum;
use crate::on_thread::on_thread;
use crate::snapshot::{SnapshotStore, StateSnapshot};

/// The first bytes of a file; the last two are the version of its form.
const MAGIC: [u8; 8] = *b"KASNAP01";
/// Magic, offset, topic id and checksum.
const HEAD: usize = 8 + 8 + 16 + 8;

/// Keeps the last snapshot of each partition in a file of its own, on a disk that outlives the process. A file is written
/// beside the old one, flushed, and then takes its place; one that is damaged counts as missing.
#[derive(Debug, Clone)]
pub struct FileSnapshots {
    folder: PathBuf,
}

impl FileSnapshots {
    /// The snapshots in `folder`, which is created where it is missing.
    ///
    /// # Errors
    ///
    /// It can't be created.
    pub fn new(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let folder = folder.into();
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    fn path(&self, partition: &TopicPartition) -> PathBuf {
        // Names of topics have neither slashes nor tildes, so no two partitions share a file.
        self.folder.join(format!("{}~{}.snapshot", partition.topic, partition.partition))
    }
}

impl SnapshotStore for FileSnapshots {
    fn load<'a>(
        &'a self,
        partition: &'a TopicPartition,
    ) -> BoxFuture<'a, Result<Option<StateSnapshot>, Box<dyn StdError + Send + Sync>>> {
        let path = self.path(partition);
        on_thread(move || match fs::read(&path) {
            Ok(bytes) => Ok(decode(&bytes.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn save<'a>(
        &'a self,
        partition: &'a TopicPartition,
        snapshot: StateSnapshot,
    ) -> BoxFuture<'a, Result<(), Box<dyn StdError + Send + Sync>>> {
        let path = self.path(partition);
        on_thread(move || replace(&path, &snapshot))
    }
}

fn replace(path: &Path, snapshot: &StateSnapshot) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    file.write_all(&head(snapshot))?;
    file.write_all(&snapshot.bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)
}

fn head(snapshot: &StateSnapshot) -> Vec<u8> {
    let offset = snapshot.next_offset.get().to_be_bytes();
    let id = snapshot.topic_id.map_or([0; 16], TopicId::bytes);
    let checksum = checksum([&offset[..], &id, &snapshot.bytes]).to_be_bytes();
    [&MAGIC[..], &offset, &id, &checksum].concat()
}

/// `None` = it is of another form, or damaged.
fn decode(file: &Bytes) -> Option<StateSnapshot> {
    let (head, bytes) = (file.get(..HEAD)?, file.slice(HEAD..));
    let (magic, rest) = head.split_at(8);
    let (offset, rest) = rest.split_at(8);
    let (id, sum) = rest.split_at(16);
    let expected = checksum([offset, id, &bytes]).to_be_bytes();
    if magic != MAGIC || sum != expected {
        return None;
    }
    Some(StateSnapshot {
        next_offset: Offset::new(i64::from_be_bytes(offset.try_into().ok()?)).ok()?,
        topic_id: TopicId::new(id.try_into().ok()?),
        bytes,
    })
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    fn partition(number: u32) -> TopicPartition {
        TopicPartition::try_from(("t", number)).unwrap()
    }

    fn snapshot(next: i64, id: u8, bytes: &'static str) -> StateSnapshot {
        let next_offset = Offset::new(next).unwrap();
        StateSnapshot { next_offset, topic_id: TopicId::new([id; 16]), bytes: bytes.into() }
    }

    #[test]
    fn the_last_snapshot_of_each_partition_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let snapshots = FileSnapshots::new(folder.path().join("new")).unwrap();
        assert_eq!(block_on(snapshots.load(&partition(1))).unwrap(), None);
        for saved in [snapshot(5, 7, "five"), snapshot(9, 0, "")] {
            block_on(snapshots.save(&partition(1), saved.clone())).unwrap();
            assert_eq!(block_on(snapshots.load(&partition(1))).unwrap(), Some(saved));
        }
        assert_eq!(block_on(snapshots.load(&partition(2))).unwrap(), None);
    }

    #[test]
    fn a_damaged_file_counts_as_missing() {
        let folder = tempfile::tempdir().unwrap();
        let snapshots = FileSnapshots::new(folder.path()).unwrap();
        block_on(snapshots.save(&partition(1), snapshot(5, 7, "five"))).unwrap();
        let path = snapshots.path(&partition(1));
        let whole = fs::read(&path).unwrap();
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 1;
            fs::write(&path, damaged).unwrap();
            assert_eq!(block_on(snapshots.load(&partition(1))).unwrap(), None, "{place}");
            fs::write(&path, &whole[..place]).unwrap();
            assert_eq!(block_on(snapshots.load(&partition(1))).unwrap(), None, "{place}");
        }
    }
}
