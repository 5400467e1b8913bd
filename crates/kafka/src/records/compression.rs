//! Codecs of batches.

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use lz4_flex::frame::FrameDecoder as Lz4Decoder;
use ruzstd::decoding::StreamingDecoder;

use super::inflate::{BatchLimits, failed, inflate};
use super::record::RecordBatch;
use super::{BatchError, RawBatch};

/// The beginning of snappy as Kafka's Java client frames it: blocks, each with its length.
pub(super) const XERIAL: &[u8] = b"\x82SNAPPY\0";

/// The bytes of that frame's header: its beginning, and two versions.
pub(super) const XERIAL_HEADER: usize = 16;

/// Snappy makes at most 64 bytes of three.
const SNAPPY_RATIO: usize = 22;

/// The longest window of zstd that is kept, as the format recommends to decoders (RFC 8878, 3.1.1.1.2). Levels up to 19
/// have none that is longer; the memory is taken when a frame announces it.
const ZSTD_WINDOW: u64 = 8 * 1024 * 1024;

/// The codec of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// None.
    Plain,
    /// gzip.
    Gzip,
    /// Snappy, raw or in the frames of Kafka's Java client.
    Snappy,
    /// LZ4 frames.
    Lz4,
    /// Zstandard.
    Zstd,
}

impl Compression {
    pub(super) const fn of_number(number: i16) -> Result<Self, BatchError> {
        match number {
            0 => Ok(Self::Plain),
            1 => Ok(Self::Gzip),
            2 => Ok(Self::Snappy),
            3 => Ok(Self::Lz4),
            4 => Ok(Self::Zstd),
            number => Err(BatchError::Codec(number)),
        }
    }
}

/// Inflates batches within limits.
#[derive(Debug, Clone, Copy, Default)]
pub struct BatchDecoder {
    limits: BatchLimits,
}

impl BatchDecoder {
    /// A decoder with `limits`.
    #[must_use]
    pub const fn new(limits: BatchLimits) -> Self {
        Self { limits }
    }

    /// The batch with its records, which are checked one by one as they are read.
    ///
    /// # Errors
    /// [`BatchError`] where it can't be inflated within the limits, or says to have more records than bytes.
    pub fn decode(&self, batch: RawBatch) -> Result<RecordBatch, BatchError> {
        let RawBatch { header, body } = batch;
        RecordBatch::new(header, self.inflated(header.compression, body)?)
    }

    fn inflated(&self, compression: Compression, body: Bytes) -> Result<Bytes, BatchError> {
        let most = self.limits.most_for(body.len());
        let bytes = &body[..];
        match compression {
            Compression::Plain => Ok(body),
            Compression::Gzip => inflate(most, || Ok(MultiGzDecoder::new(bytes))),
            Compression::Snappy => snappy(bytes, most),
            Compression::Lz4 => inflate(most, || Ok(Lz4Decoder::new(bytes))),
            Compression::Zstd => inflate(most, || {
                StreamingDecoder::new_with_max_window_size(bytes, ZSTD_WINDOW).map_err(failed)
            }),
        }
    }
}

fn snappy(bytes: &[u8], most: usize) -> Result<Bytes, BatchError> {
    let framed = bytes.starts_with(XERIAL).then(|| bytes.get(XERIAL_HEADER..)).flatten();
    let blocks = framed.map_or_else(|| Ok(vec![bytes]), xerial_blocks)?;
    let mut lengths = Vec::with_capacity(blocks.len());
    for block in &blocks {
        lengths.push(believable_length(block)?);
    }
    let whole: usize = lengths.iter().sum();
    if whole > most {
        return Err(BatchError::TooLarge { most });
    }
    let (mut inflated, mut at, mut decoder) = (vec![0; whole], 0, snap::raw::Decoder::new());
    for (block, length) in blocks.into_iter().zip(lengths) {
        decoder.decompress(block, &mut inflated[at..at + length]).map_err(failed)?;
        at += length;
    }
    Ok(inflated.into())
}

/// The length to which a block says that it inflates, where its bytes can hold so much.
fn believable_length(block: &[u8]) -> Result<usize, BatchError> {
    let length = snap::raw::decompress_len(block).map_err(failed)?;
    if length / SNAPPY_RATIO > block.len() {
        return Err(BatchError::Inflate(format!("{} bytes of snappy announce {length}", block.len())));
    }
    Ok(length)
}

fn xerial_blocks(mut bytes: &[u8]) -> Result<Vec<&[u8]>, BatchError> {
    let cut = || BatchError::Inflate("a block of snappy is cut off".to_owned());
    let mut blocks = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
        let length = usize::try_from(i32::from_be_bytes(*length)).map_err(|_| cut())?;
        let (block, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
        blocks.push(block);
        bytes = rest;
    }
    Ok(blocks)
}
