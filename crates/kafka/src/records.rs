//! Batches of records, in the one format that Kafka writes since 0.11 (version 2 of its message format).
//!
//! [`RecordBatches`] cuts the bytes of a partition into batches without looking into them; a [`BatchDecoder`] checks one
//! batch, inflates it and gives a [`RecordBatch`], whose records are slices of the answer where the batch was not
//! compressed. [`VisibleBatches`] does both, and hides what is not to be read: control batches always, and for those who
//! read only what transactions have decided the records of aborted ones.
//!
//! Nothing is believed: no memory is taken for a number of records, and a batch that inflates to more than
//! [`BatchLimits`] allows is measured, not stored.

mod batch_error;
mod batch_header;
mod batches;
#[cfg(any(test, feature = "testing"))]
mod build;
mod compression;
mod inflate;
mod record;
mod visible;

pub use batch_error::BatchError;
pub use batch_header::{BatchHeader, BatchProducer, TimestampType};
pub use batches::{RawBatch, RecordBatches};
#[cfg(any(test, feature = "testing"))]
pub use build::{BatchDraft, DraftRecord, SnappyFraming};
pub use compression::{BatchDecoder, Compression};
pub use inflate::BatchLimits;
pub use record::{BatchRecords, KafkaRecord, RecordBatch, RecordHeader};
pub use visible::{Isolation, VisibleBatches};

#[cfg(test)]
#[path = "records/records_test.rs"]
mod records_test;
