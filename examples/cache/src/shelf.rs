//! The state: the last value of each key of a partition.

use std::collections::BTreeMap;

use bytes::Bytes;
use kafka_assigner_client::kafka::{
    OpenedState, PartitionContext, Preparation, Record, RecordError, RecordHandler, StateSnapshot,
};
use kafka_assigner_client::{Offset, TopicPartition};

/// The last value of each key.
#[derive(Debug, Default)]
pub(crate) struct Shelf(BTreeMap<Vec<u8>, ShelfEntry>);

/// A value, and where it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShelfEntry {
    /// The value of the record.
    pub(crate) value: Bytes,
    /// The offset of the record: a later one has a newer value.
    pub(crate) offset: Offset,
}

impl Shelf {
    /// The last value of a key; `None` = it has none, or it was deleted.
    pub(crate) fn get(&self, key: &str) -> Option<ShelfEntry> {
        self.0.get(key.as_bytes()).cloned()
    }

    /// Takes a record in. One without a key says nothing, one without a value deletes its key.
    fn put(&mut self, record: &Record) {
        let Some(key) = record.key() else { return };
        // A copy, since a part of a record would keep all of it in memory.
        match record.value().map(Bytes::copy_from_slice) {
            Some(value) => {
                self.0.insert(key.to_vec(), ShelfEntry { value, offset: record.offset() });
            }
            None => {
                self.0.remove(key);
            }
        }
    }
}

/// Keeps a shelf for each partition.
#[derive(Debug)]
pub(crate) struct Keeper;

impl RecordHandler for Keeper {
    type State = Shelf;

    async fn open(
        &self,
        _: &Preparation,
        _: Option<StateSnapshot>,
    ) -> Result<OpenedState<Shelf>, RecordError> {
        Ok(OpenedState::empty(Shelf::default()))
    }

    async fn catch_up(
        &self,
        _: &TopicPartition,
        shelf: &mut Shelf,
        record: &Record,
    ) -> Result<(), RecordError> {
        shelf.put(record);
        Ok(())
    }

    /// There are no effects: the shelf is all.
    async fn process(
        &self,
        _: &PartitionContext,
        shelf: &mut Shelf,
        record: &Record,
    ) -> Result<(), RecordError> {
        shelf.put(record);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_handler::testing::SimulatedPartition;

    use super::*;

    fn seen(partition: &SimulatedPartition<Keeper>, key: &str) -> Option<ShelfEntry> {
        partition.state().and_then(|shelf| shelf.get(key))
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_owner_has_the_last_value_of_each_key() {
        let mut partition = SimulatedPartition::new("prices", 0, || Keeper);
        partition.produce("a", "1");
        partition.produce("b", "2");
        partition.produce("a", "3");
        partition.run().await;
        partition.move_owner().await;
        let a = seen(&partition, "a").unwrap();
        assert_eq!((&a.value[..], a.offset.get()), (&b"3"[..], 2));
        assert_eq!(seen(&partition, "b").unwrap().offset.get(), 1);
        assert_eq!(seen(&partition, "c"), None);
    }

    #[test]
    fn a_record_without_a_value_deletes_its_key() {
        let at = TopicPartition::try_from(("prices", 0)).unwrap();
        let record = |value: Option<&'static str>| {
            let record = Record::new(at.clone(), Offset::ZERO).with_key("a");
            value.map_or(record.clone(), |value| record.with_value(value))
        };
        let mut shelf = Shelf::default();
        shelf.put(&record(Some("1")));
        assert!(shelf.get("a").is_some());
        shelf.put(&record(None));
        assert!(shelf.get("a").is_none());
    }
}
