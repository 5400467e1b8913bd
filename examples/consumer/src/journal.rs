//! The journals of this consumer: lines of JSON in the forms of `kafka-assigner-audit`, which can audit them.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use serde::Serialize;

/// A file that lines are appended to.
#[derive(Debug)]
pub(crate) struct Journal(File);

impl Journal {
    /// Opens the file at `path`, and creates it where it is missing.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(OpenOptions::new().create(true).append(true).open(path)?))
    }

    /// Appends a line, with one write, so that lines of several partitions never mix.
    pub(crate) fn write(&self, entry: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        (&self.0).write_all(&line)
    }
}
