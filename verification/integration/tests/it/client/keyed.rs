//! A handler that keeps the last value of each key.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use kafka_assigner_client::TopicPartition;
use kafka_assigner_client::kafka::{
    OpenedState, OrUnchanged as _, PartitionContext, Preparation, Record, RecordError, RecordHandler,
    StateSnapshot,
};
use tokio::sync::watch;
use tokio::time::timeout;

use super::PATIENCE;

/// The last value of each key; a tombstone removes its key.
pub(super) type Table = BTreeMap<String, u64>;

/// No record fails.
const NONE: i64 = -1;

/// Keeps the last values, and notes the offsets that it has seen.
#[derive(Debug, Clone)]
pub(super) struct Keyed {
    processed: Arc<watch::Sender<Vec<i64>>>,
    caught_up: Arc<watch::Sender<Vec<i64>>>,
    /// The offset of the record that fails whenever it is processed.
    fails_at: Arc<AtomicI64>,
}

impl Default for Keyed {
    fn default() -> Self {
        Self {
            processed: Arc::default(),
            caught_up: Arc::default(),
            fails_at: Arc::new(AtomicI64::new(NONE)),
        }
    }
}

impl Keyed {
    /// One that can't process the record at `offset`.
    pub(super) fn failing_at(offset: i64) -> Self {
        Self { fails_at: Arc::new(AtomicI64::new(offset)), ..Self::default() }
    }

    /// Processes everything from now on.
    pub(super) fn heal(&self) {
        self.fails_at.store(NONE, Ordering::SeqCst);
    }

    /// Waits until the offsets that were processed are as they should be.
    pub(super) async fn wait_for(&self, reached: impl Fn(&[i64]) -> bool) -> Vec<i64> {
        let mut processed = self.processed.subscribe();
        let done = timeout(PATIENCE, processed.wait_for(|offsets| reached(offsets))).await;
        done.expect("in time").expect("the sender lives").clone()
    }

    /// The offsets that were processed, in their order.
    pub(super) fn processed(&self) -> Vec<i64> {
        self.processed.borrow().clone()
    }

    /// The offsets that went into states without being processed, in their order.
    pub(super) fn caught_up(&self) -> Vec<i64> {
        self.caught_up.borrow().clone()
    }
}

fn keep(table: &mut Table, record: &Record) -> Result<(), RecordError> {
    let key = String::from_utf8_lossy(record.key().unwrap_or_default()).into_owned();
    let Some(value) = record.value() else {
        table.remove(&key);
        return Ok(());
    };
    let value = std::str::from_utf8(value).unchanged()?.parse().unchanged()?;
    table.insert(key, value);
    Ok(())
}

impl RecordHandler for Keyed {
    type State = Table;

    async fn open(
        &self,
        _: &Preparation,
        _: Option<StateSnapshot>,
    ) -> Result<OpenedState<Table>, RecordError> {
        Ok(OpenedState::empty(Table::new()))
    }

    async fn catch_up(
        &self,
        _: &TopicPartition,
        table: &mut Table,
        record: &Record,
    ) -> Result<(), RecordError> {
        keep(table, record)?;
        self.caught_up.send_modify(|offsets| offsets.push(record.offset().get()));
        Ok(())
    }

    async fn process(
        &self,
        context: &PartitionContext,
        table: &mut Table,
        record: &Record,
    ) -> Result<(), RecordError> {
        assert!(context.may_act());
        let offset = record.offset().get();
        if offset == self.fails_at.load(Ordering::SeqCst) {
            return Err(RecordError::unchanged("not this record"));
        }
        keep(table, record)?;
        self.processed.send_modify(|offsets| offsets.push(offset));
        Ok(())
    }
}
