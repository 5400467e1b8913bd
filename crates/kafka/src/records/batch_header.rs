//! The beginning of a batch.

use super::{BatchError, Compression};
use crate::wire::{Decode as _, WireReader, WireVersion};

/// The bytes of a batch before its records.
pub(super) const HEADER: usize = 61;

/// The bytes before those that the length counts: the offset, and the length itself.
pub(super) const BEFORE_LENGTH: usize = 12;

/// The place of the byte that tells the format.
pub(super) const FORMAT_AT: usize = 16;

/// The place of the checksum, which counts all that follows it.
pub(super) const CHECKSUM_AT: usize = 17;

/// The first byte that the checksum counts.
pub(super) const CHECKED_FROM: usize = 21;

const RIGID: WireVersion = WireVersion { number: 0, flexible: false };

/// The beginning of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    /// The offset of the first record that the batch had; a compacted log may have it no more.
    pub base_offset: i64,
    /// The last offset that the batch had, from the first one.
    pub last_offset_delta: i32,
    /// The epoch of the leader that wrote it; −1: not known.
    pub leader_epoch: i32,
    /// The codec.
    pub compression: Compression,
    /// The meaning of the times.
    pub timestamp_type: TimestampType,
    /// The time from which records count theirs, in milliseconds since 1970.
    pub base_timestamp: i64,
    /// The latest time of its records.
    pub max_timestamp: i64,
    /// The producer, where it is idempotent.
    pub producer: Option<BatchProducer>,
    /// True if it belongs to a transaction.
    pub is_transactional: bool,
    /// True if it has no records of applications, but a word on a transaction.
    pub is_control: bool,
    /// The number of records that it says.
    pub(super) records: i32,
}

/// The meaning of a record's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampType {
    /// The time that the producer gave it.
    Create,
    /// The time at which the broker wrote it.
    LogAppend,
}

/// An idempotent producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchProducer {
    /// Its id.
    pub id: i64,
    /// Its epoch.
    pub epoch: i16,
    /// The number of the batch's first record.
    pub base_sequence: i32,
}

impl BatchHeader {
    /// The offset behind the batch, at which reading goes on.
    #[must_use]
    pub const fn next_offset(&self) -> i64 {
        self.base_offset + self.last_offset_delta as i64 + 1
    }

    /// Reads a header of the format that is read. The reader then stands at the records.
    pub(super) fn read(reader: &mut WireReader<'_>) -> Result<Self, BatchError> {
        let (base_offset, _length) = (long(reader)?, int(reader)?);
        let (leader_epoch, _format, _checksum) = (int(reader)?, byte(reader)?, int(reader)?);
        let (attributes, last_offset_delta) = (short(reader)?, int(reader)?);
        let (base_timestamp, max_timestamp) = (long(reader)?, long(reader)?);
        let producer =
            BatchProducer { id: long(reader)?, epoch: short(reader)?, base_sequence: int(reader)? };
        let ends =
            last_offset_delta >= 0 && base_offset.checked_add(i64::from(last_offset_delta) + 1).is_some();
        if !ends || base_offset < 0 {
            return Err(BatchError::Offset { delta: 0, last: last_offset_delta });
        }
        let timestamp_type =
            if attributes & 0x08 == 0 { TimestampType::Create } else { TimestampType::LogAppend };
        Ok(Self {
            base_offset,
            last_offset_delta,
            leader_epoch,
            compression: Compression::of_number(attributes & 0x07)?,
            timestamp_type,
            base_timestamp,
            max_timestamp,
            producer: (producer.id >= 0).then_some(producer),
            is_transactional: attributes & 0x10 != 0,
            is_control: attributes & 0x20 != 0,
            records: int(reader)?,
        })
    }
}

fn byte(reader: &mut WireReader<'_>) -> Result<i8, BatchError> {
    Ok(i8::decode(reader, RIGID)?)
}

fn short(reader: &mut WireReader<'_>) -> Result<i16, BatchError> {
    Ok(i16::decode(reader, RIGID)?)
}

fn int(reader: &mut WireReader<'_>) -> Result<i32, BatchError> {
    Ok(i32::decode(reader, RIGID)?)
}

fn long(reader: &mut WireReader<'_>) -> Result<i64, BatchError> {
    Ok(i64::decode(reader, RIGID)?)
}
