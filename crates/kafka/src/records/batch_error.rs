//! The faults of batches.

use crate::wire::CodecError;

/// A batch can't be read. The same bytes fail again; the broker may send good ones when it is asked again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// A length that no batch has.
    #[error("a batch says that it has {0} bytes")]
    Length(i32),
    /// The first batch is not all there, so nothing can be read.
    #[error("the first batch is cut off")]
    Cut,
    /// A batch of an older format.
    #[error("a batch has message format {0}, and only 2 is read; rewrite the topic with Kafka 0.11 or newer")]
    Format(i8),
    /// The checksum is another one.
    #[error("the checksum of the batch at offset {offset} is wrong: its bytes were damaged")]
    Checksum {
        /// The offset at which the batch begins.
        offset: i64,
    },
    /// A codec that is not known.
    #[error("a batch is compressed by codec {0}, which is not known")]
    Codec(i16),
    /// Offsets beyond what a number can say, or out of the batch.
    #[error("a record says that it has offset delta {delta}, and the batch ends at {last}")]
    Offset {
        /// The record's offset, from that of the batch.
        delta: i32,
        /// The last one of the batch.
        last: i32,
    },
    /// More records than the bytes can hold.
    #[error("a batch says that it has {records} records, and has {bytes} bytes for them")]
    Count {
        /// The number that the batch says.
        records: i32,
        /// The bytes.
        bytes: usize,
    },
    /// More bytes than are allowed.
    #[error("a batch inflates to more than {most} bytes")]
    TooLarge {
        /// The bound.
        most: usize,
    },
    /// Compressed bytes that are none.
    #[error("a batch can't be inflated: {0}")]
    Inflate(String),
    /// A record that is none.
    #[error("a record can't be read")]
    Record(#[from] CodecError),
}
