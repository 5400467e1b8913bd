//! The history that a member writes, and how it is read while it is being written.
//!
//! A line `joining MICROS` when it is ready and begins to join, then a line `PARTITION OFFSET MICROS` for each record
//! that it handled as the partition's owner. Times are microseconds since 1970.

use std::io;
use std::path::Path;

use anyhow::{Context as _, Result};
use kafka_assigner_audit::Micros;
use kafka_assigner_rig::clock::wall;
use kafka_assigner_rig::journal::{Follower, Journal};

/// A line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// The member begins to join.
    Joining(Micros),
    /// The member handled a record.
    Handled { partition: i32, offset: i64, at: Micros },
}

impl Line {
    fn parse(text: &str) -> Option<Self> {
        if let Some(at) = text.strip_prefix("joining ") {
            return Some(Self::Joining(at.parse().ok()?));
        }
        let mut words = text.split(' ');
        let (partition, offset, at) = (words.next()?, words.next()?, words.next()?);
        Some(Self::Handled {
            partition: partition.parse().ok()?,
            offset: offset.parse().ok()?,
            at: at.parse().ok()?,
        })
    }
}

/// Writes a history.
#[derive(Debug)]
pub(crate) struct Writer(Journal);

impl Writer {
    /// Begins a history.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self(Journal::open(path)?))
    }

    /// The member begins to join.
    pub(crate) fn joining(&self) -> io::Result<()> {
        self.0.add(format!("joining {}", wall()))
    }

    /// The member handled a record.
    pub(crate) fn handled(&self, partition: i32, offset: i64) -> io::Result<()> {
        self.0.add(format!("{partition} {offset} {}", wall()))
    }
}

/// Reads a history while it is being written.
#[derive(Debug)]
pub(crate) struct Reader(Follower);

impl Reader {
    /// A reader of the history at `path`, which is made where it is missing.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(Follower::open(path)?))
    }

    /// The lines that were written since the last call.
    pub(crate) fn read(&mut self) -> Result<Vec<Line>> {
        let parse = |line| Line::parse(line).with_context(|| format!("{line:?} is no line of a history"));
        self.0.read()?.lines().map(parse).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        let mut reader = Reader::open(&path).unwrap();
        assert_eq!(reader.read().unwrap(), []);
        let writer = Writer::create(&path).unwrap();
        writer.joining().unwrap();
        assert!(matches!(reader.read().unwrap()[..], [Line::Joining(at)] if at > 0));
        writer.handled(7, 42).unwrap();
        assert!(
            matches!(reader.read().unwrap()[..], [Line::Handled { partition: 7, offset: 42, at }] if at > 0)
        );
    }

    #[test]
    fn nonsense_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        let mut reader = Reader::open(&path).unwrap();
        let journal = Journal::open(&path).unwrap();
        journal.add("1 2 3".to_owned()).unwrap();
        assert_eq!(reader.read().unwrap(), [Line::Handled { partition: 1, offset: 2, at: 3 }]);
        journal.add("Exception in".to_owned()).unwrap();
        assert!(reader.read().is_err());
    }
}
