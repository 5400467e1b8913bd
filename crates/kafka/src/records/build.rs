//! Batches for tests.

use std::io::Write as _;

use bytes::Bytes;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::compression::XERIAL;
use super::{BatchProducer, Compression};
use crate::wire::{Encode as _, WireVersion, WireWriter};

const RIGID: WireVersion = WireVersion { number: 0, flexible: false };

/// The frames around snappy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SnappyFraming {
    /// None.
    #[default]
    Raw,
    /// Those of Kafka's Java client.
    Xerial,
}

/// A record of a [`BatchDraft`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DraftRecord {
    /// Its key.
    pub key: Option<Bytes>,
    /// Its value.
    pub value: Option<Bytes>,
    /// Its headers.
    pub headers: Vec<(String, Option<Bytes>)>,
}

/// A batch that a test writes.
#[derive(Debug, Clone)]
pub struct BatchDraft {
    /// The offset of its first record.
    pub base_offset: i64,
    /// The time of all its records.
    pub timestamp: i64,
    /// The codec.
    pub compression: Compression,
    /// The frames around snappy.
    pub framing: SnappyFraming,
    /// The producer.
    pub producer: Option<BatchProducer>,
    /// True if it belongs to a transaction.
    pub is_transactional: bool,
    /// True if it has a word on a transaction.
    pub is_control: bool,
    /// Its records.
    pub records: Vec<DraftRecord>,
}

impl BatchDraft {
    /// A batch of `records` at `base_offset`, not compressed, outside of any transaction.
    #[must_use]
    pub const fn new(base_offset: i64, records: Vec<DraftRecord>) -> Self {
        Self {
            base_offset,
            timestamp: 0,
            compression: Compression::Plain,
            framing: SnappyFraming::Raw,
            producer: None,
            is_transactional: false,
            is_control: false,
            records,
        }
    }

    /// The end of a producer's transaction.
    #[must_use]
    pub fn end_of_transaction(base_offset: i64, producer: i64, commits: bool) -> Self {
        let key = Some(Bytes::copy_from_slice(&[0, 0, 0, u8::from(commits)]));
        let word = DraftRecord { key, value: Some(Bytes::from_static(&[0; 6])), headers: Vec::new() };
        let producer = Some(BatchProducer { id: producer, epoch: 0, base_sequence: -1 });
        Self { producer, is_transactional: true, is_control: true, ..Self::new(base_offset, vec![word]) }
    }

    /// The bytes.
    ///
    /// # Panics
    /// A batch that has no records, or more than a batch can have.
    #[must_use]
    pub fn write(&self) -> Bytes {
        let body = self.compressed(&self.body());
        let last = i32::try_from(self.records.len()).expect("a test has few records") - 1;
        self.write_with(&body, last, last + 1)
    }

    /// The bytes of a batch with this body, this last offset delta and this number of records, whatever is true.
    ///
    /// # Panics
    /// A body that is longer than a batch can be.
    #[must_use]
    pub fn write_with(&self, body: &[u8], last_offset_delta: i32, records: i32) -> Bytes {
        let checked = self.checked(body, last_offset_delta, records);
        let length = i32::try_from(checked.len() + 9).expect("a test has short batches");
        let head = [&self.base_offset.to_be_bytes()[..], &length.to_be_bytes(), &[0, 0, 0, 0, 2]].concat();
        Bytes::from([&head[..], &crc32c::crc32c(&checked).to_be_bytes(), &checked].concat())
    }

    fn checked(&self, body: &[u8], last_offset_delta: i32, records: i32) -> Vec<u8> {
        let mut writer = WireWriter::default();
        let none = BatchProducer { id: -1, epoch: -1, base_sequence: -1 };
        let producer = self.producer.unwrap_or(none);
        self.attributes().encode(&mut writer, RIGID).expect("a number");
        last_offset_delta.encode(&mut writer, RIGID).expect("a number");
        self.timestamp.encode(&mut writer, RIGID).expect("a number");
        self.timestamp.encode(&mut writer, RIGID).expect("a number");
        producer.id.encode(&mut writer, RIGID).expect("a number");
        producer.epoch.encode(&mut writer, RIGID).expect("a number");
        producer.base_sequence.encode(&mut writer, RIGID).expect("a number");
        records.encode(&mut writer, RIGID).expect("a number");
        [writer.into_bytes(), body.to_vec()].concat()
    }

    fn attributes(&self) -> i16 {
        let codec = match self.compression {
            Compression::Plain => 0,
            Compression::Gzip => 1,
            Compression::Snappy => 2,
            Compression::Lz4 => 3,
            Compression::Zstd => 4,
        };
        codec | i16::from(self.is_transactional) << 4 | i16::from(self.is_control) << 5
    }

    /// The records, not compressed.
    ///
    /// # Panics
    /// A record that is longer than a batch can have.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        let mut whole = WireWriter::default();
        for (delta, record) in (0..).zip(&self.records) {
            let bytes = record.write(delta);
            whole.varint(i32::try_from(bytes.len()).expect("a test has short records"));
            whole.raw(&bytes);
        }
        whole.into_bytes()
    }

    fn compressed(&self, body: &[u8]) -> Vec<u8> {
        match self.compression {
            Compression::Plain => body.to_vec(),
            Compression::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(body).expect("memory takes all");
                encoder.finish().expect("memory takes all")
            }
            Compression::Snappy => self.snappy(body),
            Compression::Lz4 => {
                let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
                encoder.write_all(body).expect("memory takes all");
                encoder.finish().expect("memory takes all")
            }
            Compression::Zstd => compress_to_vec(body, CompressionLevel::Fastest),
        }
    }

    fn snappy(&self, body: &[u8]) -> Vec<u8> {
        let block = |bytes: &[u8]| snap::raw::Encoder::new().compress_vec(bytes).expect("a short block");
        if self.framing == SnappyFraming::Raw {
            return block(body);
        }
        let mut framed = [XERIAL, &[0, 0, 0, 1, 0, 0, 0, 1]].concat();
        for part in body.chunks(32 * 1024) {
            let block = block(part);
            framed.extend(u32::try_from(block.len()).expect("a short block").to_be_bytes());
            framed.extend(block);
        }
        framed
    }
}

impl DraftRecord {
    /// A record with a value alone.
    #[must_use]
    pub fn of_value(value: impl Into<Bytes>) -> Self {
        Self { value: Some(value.into()), ..Self::default() }
    }

    fn write(&self, delta: i32) -> Vec<u8> {
        let mut writer = WireWriter::default();
        // No attributes, and the time of the batch.
        writer.raw(&[0, 0]);
        writer.varint(delta);
        bytes(&mut writer, self.key.as_deref());
        bytes(&mut writer, self.value.as_deref());
        writer.varint(i32::try_from(self.headers.len()).expect("a test has few headers"));
        for (name, value) in &self.headers {
            bytes(&mut writer, Some(name.as_bytes()));
            bytes(&mut writer, value.as_deref());
        }
        writer.into_bytes()
    }
}

fn bytes(writer: &mut WireWriter, bytes: Option<&[u8]>) {
    let length = bytes.map_or(-1, |bytes| i32::try_from(bytes.len()).expect("a test has short records"));
    writer.varint(length);
    writer.raw(bytes.unwrap_or_default());
}
