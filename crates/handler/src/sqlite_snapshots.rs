//! Snapshots in a SQLite database.

use std::error::Error as StdError;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use kafka_assigner_types::id::{Offset, TopicPartition};
use kafka_assigner_types::topic_id::TopicId;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::checksum::checksum;
use crate::on_thread::on_thread;
use crate::snapshot::{SnapshotStore, StateSnapshot};

/// The version of a row's form. A row with another one counts as missing.
const FORM: i64 = 1;

/// The wait for another process that writes to the same database: a snapshot is one short transaction.
const BUSY: Duration = Duration::from_secs(5);

/// The table. Another version of this library adds columns, or writes rows of another form.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS snapshots (
    topic TEXT NOT NULL, partition INTEGER NOT NULL, form INTEGER NOT NULL, next_offset INTEGER NOT NULL,
    topic_id BLOB NOT NULL, checksum INTEGER NOT NULL, bytes BLOB NOT NULL,
    PRIMARY KEY (topic, partition))";

const LOAD: &str = "SELECT next_offset, topic_id, checksum, bytes FROM snapshots
    WHERE topic = ?1 AND partition = ?2 AND form = ?3";

const SAVE: &str = "INSERT OR REPLACE INTO snapshots
    (topic, partition, form, next_offset, topic_id, checksum, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

/// Keeps the last snapshot of each partition in one SQLite database, on a disk that outlives the process. A snapshot replaces the
/// one before in one transaction. One that is damaged, or was written in a form that this version does not know, counts as
/// missing; where the database itself can't be read, every load fails. In both cases the log is read from the start.
#[derive(Debug, Clone)]
pub struct SqliteSnapshots {
    connection: Arc<Mutex<Connection>>,
}

impl SqliteSnapshots {
    /// The snapshots in the database at `path`, which is made where it is missing.
    ///
    /// # Errors
    ///
    /// It can't be made, or is none.
    pub fn new(path: impl AsRef<Path>) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY)?;
        // Readers, such as a person with a shell, do not hold a snapshot up.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.execute(TABLE, ())?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)) })
    }

    fn with<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<R> + Send + 'static,
    ) -> BoxFuture<'static, Result<R, Box<dyn StdError + Send + Sync>>> {
        let connection = self.connection.clone();
        on_thread(move || work(&connection.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl SnapshotStore for SqliteSnapshots {
    fn load<'a>(
        &'a self,
        partition: &'a TopicPartition,
    ) -> BoxFuture<'a, Result<Option<StateSnapshot>, Box<dyn StdError + Send + Sync>>> {
        let (topic, number) = (partition.topic.to_string(), partition.partition);
        self.with(move |connection| {
            let mut load = connection.prepare_cached(LOAD)?;
            let row = load.query_row(params![topic, number, FORM], StoredRow::of).optional()?;
            Ok(row.and_then(StoredRow::snapshot))
        })
    }

    fn save<'a>(
        &'a self,
        partition: &'a TopicPartition,
        snapshot: StateSnapshot,
    ) -> BoxFuture<'a, Result<(), Box<dyn StdError + Send + Sync>>> {
        let (topic, number) = (partition.topic.to_string(), partition.partition);
        self.with(move |connection| {
            let StoredRow { next_offset, topic_id, checksum, bytes } = StoredRow::from(snapshot);
            let row = params![topic, number, FORM, next_offset, topic_id, checksum, bytes];
            connection.prepare_cached(SAVE)?.execute(row).map(drop)
        })
    }
}

/// A snapshot as it is stored.
struct StoredRow {
    next_offset: i64,
    /// Zeros = not known.
    topic_id: [u8; 16],
    checksum: i64,
    bytes: Vec<u8>,
}

impl StoredRow {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            next_offset: row.get(0)?,
            topic_id: row.get(1)?,
            checksum: row.get(2)?,
            bytes: row.get(3)?,
        })
    }

    fn sum(&self) -> i64 {
        checksum([&self.next_offset.to_be_bytes()[..], &self.topic_id, &self.bytes]).cast_signed()
    }

    /// `None` = it is damaged.
    fn snapshot(self) -> Option<StateSnapshot> {
        if self.sum() != self.checksum {
            return None;
        }
        let (next_offset, topic_id) = (Offset::new(self.next_offset).ok()?, TopicId::new(self.topic_id));
        Some(StateSnapshot { next_offset, topic_id, bytes: Bytes::from(self.bytes) })
    }
}

impl From<StateSnapshot> for StoredRow {
    fn from(snapshot: StateSnapshot) -> Self {
        let topic_id = snapshot.topic_id.map_or([0; 16], TopicId::bytes);
        let (next_offset, bytes) = (snapshot.next_offset.get(), snapshot.bytes.to_vec());
        let row = Self { next_offset, topic_id, checksum: 0, bytes };
        Self { checksum: row.sum(), ..row }
    }
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
    fn the_last_snapshot_of_each_partition_is_read_again_by_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("snapshots.db");
        let snapshots = SqliteSnapshots::new(&path).unwrap();
        assert_eq!(block_on(snapshots.load(&partition(1))).unwrap(), None);
        for saved in [snapshot(5, 7, "five"), snapshot(9, 0, "")] {
            block_on(snapshots.save(&partition(1), saved.clone())).unwrap();
            let next = SqliteSnapshots::new(&path).unwrap();
            assert_eq!(block_on(next.load(&partition(1))).unwrap(), Some(saved));
        }
        assert_eq!(block_on(snapshots.load(&partition(2))).unwrap(), None);
    }

    #[test]
    fn a_row_that_is_damaged_or_of_an_unknown_form_counts_as_missing() {
        for damage in
            ["bytes = x'00'", "next_offset = 6", "topic_id = zeroblob(16)", "checksum = 0", "form = 2"]
        {
            let folder = tempfile::tempdir().unwrap();
            let snapshots = SqliteSnapshots::new(folder.path().join("snapshots.db")).unwrap();
            block_on(snapshots.save(&partition(1), snapshot(5, 7, "five"))).unwrap();
            let change = format!("UPDATE snapshots SET {damage}");
            snapshots.connection.lock().unwrap().execute(&change, ()).unwrap();
            assert_eq!(block_on(snapshots.load(&partition(1))).unwrap(), None, "{damage}");
            block_on(snapshots.save(&partition(1), snapshot(8, 7, "eight"))).unwrap();
            assert_eq!(block_on(snapshots.load(&partition(1))).unwrap(), Some(snapshot(8, 7, "eight")));
        }
    }

    #[test]
    fn a_file_that_is_no_database_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("snapshots.db");
        std::fs::write(&path, vec![7; 4_096]).unwrap();
        assert!(SqliteSnapshots::new(&path).is_err());
    }
}
