//! A partition that is read, with its state.

use std::sync::Arc;

use kafka_assigner_handler::{Confirmations, PartitionContext, Record, RecordFailures};
use kafka_assigner_types::id::Offset;

use super::ownership::context_of;
use super::reader::PartitionReader;
use crate::context::OwnedContext;

/// A partition with its state.
pub(super) struct Partition<S> {
    pub(super) reader: PartitionReader,
    pub(super) state: S,
    /// The offset at which its reading began.
    pub(super) begun: Offset,
    /// True if the handler's state said itself that it is up to there; another one is there only since processing was to start
    /// there.
    pub(super) is_own_place: bool,
    /// The offset below which this owner does not start, whatever it is told: it was committed in this topic when the partition
    /// was prepared under its grant; 0 = none was, or the grant comes later.
    pub(super) least_start: Offset,
    /// The place behind which this owner was to go back, until the state is built anew for it.
    pub(super) sought: Option<Offset>,
    /// The place up to which records are read into the state only, though processing has begun; 0 = there is none.
    pub(super) place: Offset,
    /// The failures of its records that were known when it was prepared.
    pub(super) failures: RecordFailures,
    /// True while a record is with the handler. A call that is dropped then takes the record along, and leaves the state
    /// as nobody knows.
    pub(super) is_cut: bool,
    /// The records that were confirmed since the start; `None` = what is processed is committed without a word, or nothing has
    /// started yet.
    pub(super) confirmed: Option<Confirmations>,
}

impl<S> Partition<S> {
    pub(super) fn new(reader: PartitionReader, state: S, failures: RecordFailures) -> Self {
        let begun = reader.next();
        Self {
            reader,
            state,
            begun,
            is_own_place: false,
            least_start: Offset::ZERO,
            sought: None,
            place: Offset::ZERO,
            failures,
            is_cut: false,
            confirmed: None,
        }
    }

    /// The context for its handler, with which it confirms records of this state.
    pub(super) fn context(&self, owned: &OwnedContext) -> PartitionContext {
        let context = context_of(owned);
        match &self.confirmed {
            Some(confirmed) => context.confirmed_by(Arc::new(confirmed.clone())),
            None => context,
        }
    }

    /// The offset up to which the state says itself that it is, if nothing was read since; `None` = it does not say so.
    pub(super) fn own_place(&self) -> Option<Offset> {
        let says_so = self.is_own_place && self.begun == self.reader.next();
        says_so.then_some(self.begun)
    }

    /// The offset at which this owner goes on to process.
    pub(super) fn start(&self) -> Offset {
        self.reader.next().max(self.place)
    }

    /// The offset at which another owner is to start: the records before it were processed, and confirmed where that counts.
    pub(super) fn stop(&self) -> Offset {
        let next = self.sought.unwrap_or_else(|| self.start());
        self.confirmed.as_ref().map_or(next, |confirmed| confirmed.next().min(next))
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
