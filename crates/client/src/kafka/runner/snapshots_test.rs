//! Snapshots that a handler can't take.

use std::error::Error as StdError;
use std::num::NonZeroU64;

use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt as _, ready};
use kafka_assigner_handler::{
    OpenedState, PartitionContext, Preparation, Record, RecordError, SnapshotStore, StateSnapshot,
};
use tokio::time::timeout;

use super::test_broker::{Grant, PATIENCE, RECORDS, TestBroker, partition};
use super::*;

const GRANT: Grant = Grant { committed: None, start: Some(0) };

/// Answers each wish for a snapshot with this error.
struct Unwritten(fn(&'static str) -> RecordError);

impl RecordHandler for Unwritten {
    type State = i64;

    async fn open(&self, _: &Preparation, _: Option<StateSnapshot>) -> Result<OpenedState<i64>, RecordError> {
        Ok(OpenedState::empty(0))
    }

    async fn catch_up(&self, _: &TopicPartition, _: &mut i64, _: &Record) -> Result<(), RecordError> {
        Ok(())
    }

    async fn process(&self, _: &PartitionContext, count: &mut i64, _: &Record) -> Result<(), RecordError> {
        *count += 1;
        Ok(())
    }

    fn snapshot(&self, _: &TopicPartition, _: &i64) -> Result<Option<Bytes>, RecordError> {
        Err((self.0)("the disk is gone"))
    }
}

/// Has none, and is given none.
struct Nowhere;

type StoreResult<T> = Result<T, Box<dyn StdError + Send + Sync>>;

impl SnapshotStore for Nowhere {
    fn load<'a>(&'a self, _: &'a TopicPartition) -> BoxFuture<'a, StoreResult<Option<StateSnapshot>>> {
        ready(Ok(None)).boxed()
    }

    fn save<'a>(&'a self, _: &'a TopicPartition, _: StateSnapshot) -> BoxFuture<'a, StoreResult<()>> {
        ready(Err("there was none to save".into())).boxed()
    }
}

/// The reason for which the process is of no use, once all records are processed.
async fn fatal_after(error: fn(&'static str) -> RecordError) -> Option<String> {
    let broker = TestBroker::start().await;
    let runner = KafkaRunner::new(&KafkaOptions::new(broker.servers(), "g"), Unwritten(error));
    let runner = runner.expect("valid options").with_snapshots(Nowhere, NonZeroU64::MIN);
    runner.warm(&GRANT.warm()).await.expect("it is warm");
    let owned = GRANT.owned();
    runner.assigned(&owned).await.expect("it begins");
    let handle = runner.handle();
    let all = async {
        while handle.read(&partition(), |count, _| *count).await.ok() != Some(RECORDS) {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, all).await.expect("records go on");
    runner.drain(&owned).await.expect("it stops");
    assert_eq!(runner.stopped(), []);
    runner.fatal()
}

#[tokio::test]
async fn a_snapshot_that_is_not_taken_ends_the_consumer_only_where_its_handler_says_so() {
    assert_eq!(fatal_after(RecordError::new).await, None);
    assert_eq!(fatal_after(RecordError::stop).await, None);
    assert_eq!(fatal_after(RecordError::fatal).await, Some("the disk is gone".to_owned()));
}
