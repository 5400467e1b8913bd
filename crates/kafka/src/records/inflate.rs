//! The one place at which compressed bytes grow.

use std::error::Error;
use std::io::{self, Read};

use bytes::Bytes;

use super::BatchError;

/// The size from which a batch is measured before it is stored: what does not fit is found out with little more memory
/// than this. Batches of Kafka's clients have 1 MiB at most unless they are set otherwise.
const STORED_AT_ONCE: usize = 1024 * 1024;

/// The bytes that a measuring step takes.
const STEP: usize = 16 * 1024;

/// Bounds on what a compressed batch may inflate to: the least of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// The most bytes; 64 MiB.
    pub most: usize,
    /// The most bytes for each compressed one, beside 1 MiB for any batch; 1 000. No codec gets more out of records that
    /// mean anything.
    pub ratio: usize,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self { most: 64 * 1024 * 1024, ratio: 1000 }
    }
}

impl BatchLimits {
    /// The most bytes that a batch of `compressed` bytes may inflate to.
    pub(super) fn most_for(self, compressed: usize) -> usize {
        compressed.saturating_mul(self.ratio).saturating_add(1024 * 1024).min(self.most)
    }
}

pub(super) fn failed(error: impl Error) -> BatchError {
    BatchError::Inflate(error.to_string())
}

/// All that a reader has, if that is no more than `most`. Long ones are read twice, first only to be measured.
pub(super) fn inflate<R: Read>(
    most: usize,
    open: impl Fn() -> Result<R, BatchError>,
) -> Result<Bytes, BatchError> {
    let (mut reader, mut inflated) = (open()?, Vec::new());
    let at_once = most.min(STORED_AT_ONCE);
    let first = reader.by_ref().take(at_once as u64 + 1).read_to_end(&mut inflated).map_err(failed)?;
    if first <= at_once {
        return Ok(inflated.into());
    }
    let whole = measured(first, most, reader)?;
    inflated = Vec::with_capacity(whole);
    open()?.take(whole as u64).read_to_end(&mut inflated).map_err(failed)?;
    Ok(inflated.into())
}

/// The bytes that a reader has in all, `first` of which are read already.
fn measured(first: usize, most: usize, mut reader: impl Read) -> Result<usize, BatchError> {
    let (mut whole, mut step) = (first, [0; STEP]);
    while whole <= most {
        match reader.read(&mut step) {
            Ok(0) => return Ok(whole),
            Ok(read) => whole += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(BatchError::TooLarge { most })
}
