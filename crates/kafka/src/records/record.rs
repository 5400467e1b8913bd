//! Records.

use bytes::Bytes;

use super::{BatchError, BatchHeader, TimestampType};
use crate::wire::{CodecError, WireReader};

/// The least bytes of a record: its length, its attributes, a time, an offset, a key, a value and a number of headers.
const LEAST: usize = 7;

/// A batch whose records can be read.
#[derive(Debug, Clone)]
pub struct RecordBatch {
    /// Its beginning.
    pub header: BatchHeader,
    body: Bytes,
}

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaRecord {
    /// Its offset.
    pub offset: i64,
    /// Its time, in milliseconds since 1970; the batch says which time that is.
    pub timestamp: i64,
    /// Its key.
    pub key: Option<Bytes>,
    /// Its value; `None` deletes the key in a compacted topic.
    pub value: Option<Bytes>,
    /// Its headers.
    pub headers: Vec<RecordHeader>,
}

/// A header of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordHeader {
    /// Its name; not unique.
    pub name: String,
    /// Its value.
    pub value: Option<Bytes>,
}

impl RecordBatch {
    /// The batch with inflated records.
    pub(super) fn new(header: BatchHeader, body: Bytes) -> Result<Self, BatchError> {
        let fits = usize::try_from(header.records).is_ok_and(|records| records <= body.len() / LEAST);
        if fits {
            Ok(Self { header, body })
        } else {
            Err(BatchError::Count { records: header.records, bytes: body.len() })
        }
    }

    /// The batch without its records.
    pub(super) const fn hidden(header: BatchHeader) -> Self {
        Self { header: BatchHeader { records: 0, ..header }, body: Bytes::new() }
    }

    /// The records, in the order of their offsets. After an error the list is over.
    #[must_use]
    pub fn records(&self) -> BatchRecords<'_> {
        BatchRecords { header: &self.header, left: self.header.records, reader: WireReader::new(&self.body) }
    }
}

/// The records of a batch.
#[derive(Debug)]
pub struct BatchRecords<'a> {
    header: &'a BatchHeader,
    left: i32,
    reader: WireReader<'a>,
}

impl Iterator for BatchRecords<'_> {
    type Item = Result<KafkaRecord, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return self.rest();
        }
        self.left -= 1;
        let read = self.read();
        if read.is_err() {
            self.end();
        }
        Some(read)
    }
}

impl BatchRecords<'_> {
    /// Bytes behind the last record are an error, once.
    fn rest(&mut self) -> Option<Result<KafkaRecord, BatchError>> {
        let left = self.reader.left();
        self.end();
        (left > 0).then(|| Err(CodecError::Rest(left).into()))
    }

    fn end(&mut self) {
        self.left = 0;
        self.reader.skip_all();
    }

    fn read(&mut self) -> Result<KafkaRecord, BatchError> {
        let length = self.reader.varint()?;
        let mut reader = self.reader.part(usize::try_from(length).map_err(|_| CodecError::TooShort)?)?;
        let [_attributes] = reader.chunk()?;
        let (timestamp, delta) = (reader.varlong()?, reader.varint()?);
        let (key, value) = (reader.record_bytes()?, reader.record_bytes()?);
        let record = KafkaRecord {
            offset: self.offset(delta)?,
            timestamp: self.timestamp(timestamp),
            key,
            value,
            headers: headers(&mut reader)?,
        };
        reader.finish()?;
        Ok(record)
    }

    fn offset(&self, delta: i32) -> Result<i64, BatchError> {
        let last = self.header.last_offset_delta;
        if (0..=last).contains(&delta) {
            Ok(self.header.base_offset + i64::from(delta))
        } else {
            Err(BatchError::Offset { delta, last })
        }
    }

    const fn timestamp(&self, delta: i64) -> i64 {
        match self.header.timestamp_type {
            TimestampType::Create => self.header.base_timestamp.saturating_add(delta),
            TimestampType::LogAppend => self.header.max_timestamp,
        }
    }
}

fn headers(reader: &mut WireReader<'_>) -> Result<Vec<RecordHeader>, BatchError> {
    let count = usize::try_from(reader.varint()?).map_err(|_| CodecError::TooShort)?;
    // A header has two lengths.
    if count > reader.left() / 2 {
        return Err(CodecError::TooShort.into());
    }
    let mut headers = Vec::new();
    for _ in 0..count {
        let name = reader.record_bytes()?.ok_or(CodecError::Null)?;
        let name = str::from_utf8(&name).map_err(|_| CodecError::Text)?.to_owned();
        headers.push(RecordHeader { name, value: reader.record_bytes()? });
    }
    Ok(headers)
}
