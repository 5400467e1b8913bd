//! Records whose bytes stay with the source that has read them.

use kafka_assigner_types::id::TopicPartition;

use crate::headers::RecordHeader;
use crate::record::RecordTime;

/// Some records of one partition, which a source lends to a handler without a copy of each, by their places from 0 on.
///
/// [`Record::lent`](crate::Record::lent) makes a record of each. Whoever keeps a record longer than the call that was given it
/// keeps a clone, which is a copy; so this is dropped once the last of the records was handled, and may hold what is scarce.
pub trait LentRecords: Send + Sync {
    /// The partition.
    fn at(&self) -> &TopicPartition;

    /// The time of a record.
    fn time(&self, place: usize) -> RecordTime;

    /// The key of a record; `None` = null, or there is no such record.
    fn key(&self, place: usize) -> Option<&[u8]>;

    /// The value of a record; `None` = null, or there is no such record.
    fn value(&self, place: usize) -> Option<&[u8]>;

    /// The header at `number`, from 0 on, of a record; `None` = it has fewer.
    fn header(&self, place: usize, number: usize) -> Option<RecordHeader<'_>>;
}
