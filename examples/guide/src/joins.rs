//! `docs/guide/client.md`: orders that are joined with the customers of the same partition number.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_client::kafka::Closing;
use kafka_assigner_client::prelude::*;

/// The names of the customers of one partition, which its own records make.
type Names = Arc<Mutex<BTreeMap<Bytes, Bytes>>>;

/// Joins two co-partitioned topics. Clones share the tables.
#[derive(Debug, Clone, Default)]
pub struct Join {
    /// By partition number: the tables that are complete.
    complete: Arc<Mutex<BTreeMap<u32, Names>>>,
    /// Who ordered what.
    pub joined: Arc<Mutex<Vec<(Bytes, Bytes)>>>,
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_customers(partition: &TopicPartition) -> bool {
    partition.topic.as_str() == "customers"
}

fn name(names: &Names, record: &Record) {
    if let (Some(key), Some(value)) = (record.key_bytes(), record.value_bytes()) {
        locked(names).insert(key, value);
    }
}

impl Join {
    fn names(&self, partition: &TopicPartition) -> Result<Names, RecordError> {
        let complete = locked(&self.complete).get(&partition.partition).cloned();
        complete.ok_or_else(|| RecordError::retry(Duration::from_millis(100), "no customers yet"))
    }

    fn join(&self, names: &Names, record: &Record) {
        if let (Some(key), Some(order)) = (record.key_bytes(), record.value_bytes()) {
            let name = locked(names).get(&key).cloned().unwrap_or_default();
            locked(&self.joined).push((name, order));
        }
    }
}

impl RecordHandler for Join {
    type State = Names;

    async fn open(
        &self,
        preparation: &Preparation,
        _: Option<StateSnapshot>,
    ) -> Result<OpenedState<Names>, RecordError> {
        match is_customers(&preparation.partition) {
            true => Ok(OpenedState::empty(Names::default())),
            false => Ok(OpenedState::without_history(Names::default())),
        }
    }

    async fn catch_up(
        &self,
        partition: &TopicPartition,
        names: &mut Names,
        record: &Record,
    ) -> Result<(), RecordError> {
        if is_customers(partition) {
            name(names, record);
        }
        Ok(())
    }

    async fn begin(&self, context: &PartitionContext, names: &mut Names) -> Result<(), RecordError> {
        let at = context.partition();
        if is_customers(at) {
            locked(&self.complete).insert(at.partition, names.clone());
            return Ok(());
        }
        self.names(at).map(drop)
    }

    async fn process(
        &self,
        context: &PartitionContext,
        names: &mut Names,
        record: &Record,
    ) -> Result<(), RecordError> {
        match is_customers(context.partition()) {
            true => name(names, record),
            false => self.join(&self.names(context.partition())?, record),
        }
        Ok(())
    }

    async fn close(&self, partition: &TopicPartition, _: Closing, names: Option<Names>) {
        let mut complete = locked(&self.complete);
        let is_ours = |known: &Names| names.as_ref().is_none_or(|names| Arc::ptr_eq(known, names));
        if is_customers(partition) && complete.get(&partition.partition).is_some_and(is_ours) {
            complete.remove(&partition.partition);
        }
    }
}
