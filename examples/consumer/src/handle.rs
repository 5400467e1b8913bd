//! All that this consumer does with records.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use async_trait::async_trait;
use kafka_assigner_audit::{FinalState, Handled, KeyState};
use kafka_assigner_client::kafka::{Message as _, Record, RecordHandler, Restored};
use kafka_assigner_client::{HandlerError, Offset, OwnedContext, PartitionHandler, TopicPartition};

use crate::journal::Journal;

/// Counts records by key, and writes down what it handled and what it had when it gave a partition up.
#[derive(Debug)]
pub(crate) struct Counting {
    process: String,
    handled: Journal,
    states: Option<Journal>,
    /// The states of all partitions, for when they are given up.
    shelf: Mutex<BTreeMap<TopicPartition, Counts>>,
}

/// The state of one partition: what was seen of each key. Shared by the library, which keeps it, and the shelf.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts(Arc<Mutex<BTreeMap<String, KeyState>>>);

impl Counts {
    fn add(&self, record: &Record) {
        let key = String::from_utf8_lossy(record.key().unwrap_or_default()).into_owned();
        lock(&self.0).entry(key).or_default().fold(id(record));
    }
}

/// The first word of the payload; a record that begins with no number is known by its offset.
fn id(record: &Record) -> u64 {
    let payload = String::from_utf8_lossy(record.payload().unwrap_or_default());
    let first = payload.split(' ').next().and_then(|word| word.parse().ok());
    first.unwrap_or_else(|| u64::try_from(record.offset()).unwrap_or_default())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Counting {
    /// `process` names this process in what is written; without `states` the counts are not written.
    pub(crate) fn new(process: String, handled: Journal, states: Option<Journal>) -> Self {
        Self { process, handled, states, shelf: Mutex::default() }
    }

    fn write_state(&self, owned: &OwnedContext) -> Result<(), HandlerError> {
        let counts = lock(&self.shelf).get(owned.partition()).cloned();
        if let (Some(states), Some(counts)) = (&self.states, counts) {
            states.write(&FinalState {
                slot: owned.partition().clone(),
                epoch: owned.epoch(),
                process: self.process.clone(),
                keys: lock(&counts.0).clone(),
            })?;
        }
        Ok(())
    }
}

#[async_trait]
impl PartitionHandler for Counting {
    async fn assigned(&self, _: &OwnedContext) -> Result<(), HandlerError> {
        Ok(())
    }

    /// The last record was handled: the counts are final, unless the partition comes back.
    async fn drain(&self, owned: &OwnedContext) -> Result<Option<Offset>, HandlerError> {
        self.write_state(owned)?;
        Ok(None)
    }

    async fn release(&self, partition: &TopicPartition) -> Result<(), HandlerError> {
        lock(&self.shelf).remove(partition);
        Ok(())
    }

    async fn lost(&self, owned: &OwnedContext) {
        lock(&self.shelf).remove(owned.partition());
    }
}

#[async_trait]
impl RecordHandler for Counting {
    type State = Counts;

    /// Nothing is stored between processes: the counts are built from the partition's beginning.
    async fn restore(&self, partition: &TopicPartition) -> Result<Restored<Counts>, HandlerError> {
        let state = Counts::default();
        lock(&self.shelf).insert(partition.clone(), state.clone());
        Ok(Restored { state, next_offset: Some(Offset::ZERO), topic_id: None })
    }

    fn catch_up(&self, _: &TopicPartition, counts: &mut Counts, record: &Record) -> Result<(), HandlerError> {
        counts.add(record);
        Ok(())
    }

    async fn process(
        &self,
        owned: &OwnedContext,
        counts: &mut Counts,
        record: &Record,
    ) -> Result<(), HandlerError> {
        self.handled.write(&Handled {
            slot: owned.partition().clone(),
            offset: Offset::new(record.offset())?,
            id: id(record),
            epoch: owned.epoch(),
            process: self.process.clone(),
            at: u64::try_from(UNIX_EPOCH.elapsed()?.as_micros())?,
        })?;
        counts.add(record);
        Ok(())
    }
}
