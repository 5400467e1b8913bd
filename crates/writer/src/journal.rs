//! The journal of a writer: lines of JSON in the form of `kafka-assigner-audit`, which can audit them.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::UNIX_EPOCH;

use kafka_assigner_audit::Handled;
use kafka_assigner_client::{Epoch, Offset, OwnedContext};

/// Sees what a writer executes, before it is acknowledged.
pub trait Witness: Send + Sync + 'static {
    /// The request `id` was executed under `epoch` just now: it is in the log at `offset`.
    ///
    /// # Errors
    ///
    /// It can't be noted; then it is not acknowledged either.
    fn executed(&self, context: &OwnedContext, epoch: Epoch, offset: Offset, id: u64) -> io::Result<()>;
}

/// A file that a line is added to for each addition.
#[derive(Debug)]
pub struct Journal {
    process: String,
    file: File,
}

impl Journal {
    /// Opens the file at `path`, and creates it where it is missing. `process` names this process in what is written.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn open(path: &Path, process: String) -> io::Result<Self> {
        Ok(Self { process, file: OpenOptions::new().create(true).append(true).open(path)? })
    }
}

impl Witness for Journal {
    /// One write, so that lines of several partitions never mix.
    fn executed(&self, context: &OwnedContext, epoch: Epoch, offset: Offset, id: u64) -> io::Result<()> {
        let (at, now) = (context.partition(), UNIX_EPOCH.elapsed().map_err(io::Error::other)?);
        let handled = Handled {
            slot: at.clone(),
            offset,
            id,
            epoch,
            process: self.process.clone(),
            at: u64::try_from(now.as_micros()).map_err(io::Error::other)?,
        };
        let mut line = serde_json::to_vec(&handled)?;
        line.push(b'\n');
        (&self.file).write_all(&line)
    }
}
