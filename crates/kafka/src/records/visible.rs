//! The records that a reader may see.

use std::collections::BTreeSet;

use super::{BatchDecoder, BatchError, BatchHeader, RawBatch, RecordBatch, RecordBatches};
use crate::messages::{AbortedTransaction, FetchedPartition};

/// The records that a reader wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// All, also those of transactions that are open or were aborted.
    #[default]
    Uncommitted,
    /// Those of transactions that were committed, and those outside of any.
    Committed,
}

impl Isolation {
    /// Kafka's number, as requests have it.
    #[must_use]
    pub const fn number(self) -> i8 {
        match self {
            Self::Uncommitted => 0,
            Self::Committed => 1,
        }
    }
}

/// The word of a control batch that ends a transaction without its records: bytes 2 and 3 of its key.
const ABORT: [u8; 2] = [0, 0];

/// The batches of a fetched partition. Those that are not to be read come without records, so that the reader learns
/// where they end. After an error the list is over.
#[derive(Debug)]
pub struct VisibleBatches {
    batches: RecordBatches,
    decoder: BatchDecoder,
    isolation: Isolation,
    /// The transactions that begin later, the first one last.
    to_come: Vec<AbortedTransaction>,
    /// The producers whose transaction is aborted and not over yet.
    aborting: BTreeSet<i64>,
}

impl VisibleBatches {
    /// The batches of `partition`.
    #[must_use]
    pub fn new(partition: &FetchedPartition, isolation: Isolation, decoder: BatchDecoder) -> Self {
        let mut to_come = partition.aborted_transactions.clone().unwrap_or_default();
        to_come.sort_by_key(|aborted| std::cmp::Reverse(aborted.first_offset));
        let bytes = partition.records.clone().unwrap_or_default().0;
        Self { batches: RecordBatches::new(bytes), decoder, isolation, to_come, aborting: BTreeSet::new() }
    }

    fn decode(&mut self, batch: RawBatch) -> Result<RecordBatch, BatchError> {
        let header = batch.header;
        self.begin_transactions(&header);
        if header.is_control {
            self.end_transaction(&self.decoder.decode(batch)?)?;
            return Ok(RecordBatch::hidden(header));
        }
        if self.hides(&header) { Ok(RecordBatch::hidden(header)) } else { self.decoder.decode(batch) }
    }

    fn begin_transactions(&mut self, header: &BatchHeader) {
        while let Some(aborted) = self.to_come.pop_if(|aborted| aborted.first_offset < header.next_offset()) {
            self.aborting.insert(aborted.producer_id);
        }
    }

    fn end_transaction(&mut self, batch: &RecordBatch) -> Result<(), BatchError> {
        let (Some(producer), Some(word)) = (batch.header.producer, batch.records().next()) else {
            return Ok(());
        };
        let is_abort = word?.key.is_some_and(|key| key.get(2..4) == Some(&ABORT));
        if is_abort {
            self.aborting.remove(&producer.id);
        }
        Ok(())
    }

    fn hides(&self, header: &BatchHeader) -> bool {
        let is_aborted = header.producer.is_some_and(|producer| self.aborting.contains(&producer.id));
        self.isolation == Isolation::Committed && header.is_transactional && is_aborted
    }
}

impl Iterator for VisibleBatches {
    type Item = Result<RecordBatch, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?;
        let decoded = batch.and_then(|batch| self.decode(batch));
        if decoded.is_err() {
            self.batches = RecordBatches::new(bytes::Bytes::new());
        }
        Some(decoded)
    }
}
