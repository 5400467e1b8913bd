//! A rebuild that begins with a snapshot of a SQLite database.

use std::num::NonZeroU64;

use bytes::Bytes;
use kafka_assigner_handler::{
    OpenedState, PartitionContext, Preparation, Record, RecordError, SnapshotStore as _, SqliteSnapshots,
    StateSnapshot,
};
use tokio::time::timeout;

use super::test_broker::{Grant, PATIENCE, RECORDS, TestBroker, partition};
use super::*;

/// Counts records, and notes those that a rebuild reads.
#[derive(Clone, Default)]
struct Counting {
    caught_up: Arc<Mutex<Vec<i64>>>,
}

impl RecordHandler for Counting {
    type State = i64;

    async fn open(
        &self,
        _: &Preparation,
        snapshot: Option<StateSnapshot>,
    ) -> Result<OpenedState<i64>, RecordError> {
        let Some(snapshot) = snapshot else { return Ok(OpenedState::empty(0)) };
        let count = std::str::from_utf8(&snapshot.bytes)?.parse()?;
        Ok(OpenedState::up_to(count, snapshot.next_offset, snapshot.topic_id))
    }

    async fn catch_up(
        &self,
        _: &TopicPartition,
        count: &mut i64,
        record: &Record,
    ) -> Result<(), RecordError> {
        *count += 1;
        self.caught_up.lock().expect("no panic inside").push(record.offset().get());
        Ok(())
    }

    async fn process(&self, _: &PartitionContext, count: &mut i64, _: &Record) -> Result<(), RecordError> {
        *count += 1;
        Ok(())
    }

    fn snapshot(&self, _: &TopicPartition, count: &i64) -> Result<Option<Bytes>, RecordError> {
        Ok(Some(count.to_string().into()))
    }
}

const GRANT: Grant = Grant { committed: None, start: None };

/// Owns the partition until each record is counted, in a process of its own. Returns what its rebuild read.
async fn own(broker: &TestBroker, snapshots: &SqliteSnapshots) -> Vec<i64> {
    let (handler, every) = (Counting::default(), NonZeroU64::MIN);
    let runner = KafkaRunner::new(&KafkaOptions::new(broker.servers(), "g"), handler.clone());
    let runner = runner.expect("valid options").with_snapshots(snapshots.clone(), every);
    let (handle, owned) = (runner.handle(), GRANT.owned());
    runner.warm(&GRANT.warm()).await.expect("it is warm");
    runner.assigned(&owned).await.expect("it begins");
    let counted = async {
        while handle.read(&partition(), |count, _| *count).await.ok() != Some(RECORDS) {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, counted).await.expect("each record is counted once");
    runner.drain(&owned).await.expect("it stops");
    std::mem::take(&mut *handler.caught_up.lock().expect("no panic inside"))
}

#[tokio::test]
async fn a_rebuild_begins_with_the_last_snapshot_and_at_the_start_where_that_is_of_no_use() {
    let (broker, folder) = (TestBroker::start().await, tempfile::tempdir().expect("a folder"));
    let path = folder.path().join("snapshots.db");
    let snapshots = SqliteSnapshots::new(&path).expect("a new database");
    let saved = async {
        loop {
            match snapshots.load(&partition()).await.expect("it can be read") {
                Some(snapshot) => return snapshot,
                None => tokio::task::yield_now().await,
            }
        }
    };
    own(&broker, &snapshots).await;
    let saved = timeout(PATIENCE, saved).await.expect("a snapshot is saved");
    // A later one may have been saved meanwhile.
    let read = own(&broker, &snapshots).await;
    let first = RECORDS - i64::try_from(read.len()).expect("small");
    assert!(first >= saved.next_offset.get() && first > 0, "{read:?}");
    assert_eq!(read, (first..RECORDS).collect::<Vec<_>>());
    for (name, damage) in [("bytes.db", "bytes = x'39'"), ("form.db", "form = 2")] {
        // A database of its own: an owner that has stopped may still save.
        let path = folder.path().join(name);
        let damaged = SqliteSnapshots::new(&path).expect("a new database");
        damaged.save(&partition(), saved.clone()).await.expect("it is saved");
        let database = rusqlite::Connection::open(&path).expect("it is there");
        assert_eq!(
            database.execute(&format!("UPDATE snapshots SET {damage}"), ()).expect("it is changed"),
            1
        );
        assert_eq!(own(&broker, &damaged).await, (0..RECORDS).collect::<Vec<_>>(), "{damage}");
    }
}
