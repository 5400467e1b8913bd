//! Cutting the bytes of a partition into batches.

use bytes::Bytes;

use super::batch_header::{BEFORE_LENGTH, CHECKED_FROM, CHECKSUM_AT, FORMAT_AT, HEADER};
use super::{BatchError, BatchHeader};
use crate::wire::WireReader;

/// A batch whose records were not looked at yet. Its checksum is right.
#[derive(Debug, Clone)]
pub struct RawBatch {
    /// Its beginning.
    pub header: BatchHeader,
    /// Its records, as they were sent.
    pub(super) body: Bytes,
}

/// The batches in the bytes of a partition. The last one may be cut off, as brokers send them: it ends the list. After
/// an error the list is over.
#[derive(Debug, Clone)]
pub struct RecordBatches {
    rest: Bytes,
    is_first: bool,
}

impl RecordBatches {
    /// The batches in `bytes`.
    #[must_use]
    pub const fn new(bytes: Bytes) -> Self {
        Self { rest: bytes, is_first: true }
    }

    /// The next batch with its checksum checked; `None` where the rest has none that is whole.
    fn cut(&mut self) -> Result<Option<RawBatch>, BatchError> {
        let Some(length) = whole_length(&self.rest)?.filter(|length| *length <= self.rest.len()) else {
            return if self.is_first && !self.rest.is_empty() { Err(BatchError::Cut) } else { Ok(None) };
        };
        self.is_first = false;
        let bytes = self.rest.split_to(length);
        let header = BatchHeader::read(&mut WireReader::new(&bytes))?;
        check(&bytes, header.base_offset)?;
        Ok(Some(RawBatch { header, body: bytes.slice(HEADER..) }))
    }
}

impl Iterator for RecordBatches {
    type Item = Result<RawBatch, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        let cut = self.cut();
        if cut.is_err() {
            (self.rest, self.is_first) = (Bytes::new(), false);
        }
        cut.transpose()
    }
}

/// The bytes that the batch at the beginning of `rest` has; `None` where not even its format is there.
fn whole_length(rest: &Bytes) -> Result<Option<usize>, BatchError> {
    let Some((Some(length), format)) = rest.get(FORMAT_AT).map(|format| (rest[8..].first_chunk(), *format))
    else {
        return Ok(None);
    };
    if format != 2 {
        return Err(BatchError::Format(format.cast_signed()));
    }
    let length = i32::from_be_bytes(*length);
    let whole = usize::try_from(length).ok().and_then(|length| length.checked_add(BEFORE_LENGTH));
    whole.filter(|whole| *whole >= HEADER).map(Some).ok_or(BatchError::Length(length))
}

fn check(bytes: &Bytes, offset: i64) -> Result<(), BatchError> {
    let said = &bytes[CHECKSUM_AT..CHECKED_FROM];
    let is_right = said == crc32c::crc32c(&bytes[CHECKED_FROM..]).to_be_bytes();
    if is_right { Ok(()) } else { Err(BatchError::Checksum { offset }) }
}
