//! A partition that is read, with its state.

use kafka_assigner_handler::{Record, RecordFailures};

use super::reader::PartitionReader;

/// A partition with its state.
pub(super) struct Partition<S> {
    pub(super) reader: PartitionReader,
    pub(super) state: S,
    /// The failures of its records that were known when it was prepared.
    pub(super) failures: RecordFailures,
    /// True while a record is with the handler. A call that is dropped then takes the record along, and leaves the state
    /// as nobody knows.
    pub(super) is_cut: bool,
}

impl<S> Partition<S> {
    pub(super) fn new(reader: PartitionReader, state: S, failures: RecordFailures) -> Self {
        Self { reader, state, failures, is_cut: false }
    }

    /// Takes the record that is ahead, until [`settle`](Self::settle) or [`put_back`](Self::put_back).
    pub(super) fn take(&mut self) -> Option<Record> {
        let record = self.reader.take()?;
        self.is_cut = true;
        Some(record)
    }

    /// The same with records that were received already, up to `most`.
    pub(super) fn take_some(&mut self, most: usize, into: &mut Vec<Record>) {
        self.reader.take_some(most, into);
        self.is_cut = true;
    }

    /// The record that was taken is done with.
    pub(super) const fn settle(&mut self) {
        self.is_cut = false;
    }

    /// The record that was taken is ahead again; the state is as it was before.
    pub(super) fn put_back(&mut self, record: Record) {
        self.reader.put_back(record);
        self.is_cut = false;
    }
}
