//! What a member writes down, and how it is read while it is being written.
//!
//! A line `joining MICROS` when it is ready and begins to join, then a line `PARTITION OFFSET MICROS` for each record
//! that it handled as the partition's owner. Times are microseconds since 1970.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use kafka_assigner_audit::Micros;

use crate::moment::now;

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

/// Writes one; each line with one write, so that lines of several partitions never mix.
#[derive(Debug)]
pub(crate) struct Writer(File);

impl Writer {
    /// Begins a history.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self(OpenOptions::new().create(true).append(true).open(path)?))
    }

    /// The member begins to join.
    pub(crate) fn joining(&self) -> io::Result<()> {
        (&self.0).write_all(format!("joining {}\n", now()).as_bytes())
    }

    /// The member handled a record.
    pub(crate) fn handled(&self, partition: i32, offset: i64) -> io::Result<()> {
        (&self.0).write_all(format!("{partition} {offset} {}\n", now()).as_bytes())
    }
}

/// Reads one.
#[derive(Debug)]
pub(crate) struct Reader {
    file: File,
    /// Half a line, whose rest is still to come. A killed member never writes it, and it counts as not written.
    rest: String,
}

impl Reader {
    /// A reader of the history at `path`, which is made where it is missing.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).read(true).open(path)?;
        Ok(Self { file, rest: String::new() })
    }

    /// The lines that were written since the last call.
    pub(crate) fn read(&mut self) -> Result<Vec<Line>> {
        self.file.read_to_string(&mut self.rest).context("a history can't be read")?;
        let whole = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let rest = self.rest.split_off(whole);
        let lines = std::mem::replace(&mut self.rest, rest);
        let parse = |line| Line::parse(line).with_context(|| format!("{line:?} is no line of a history"));
        lines.lines().map(parse).collect()
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
    fn half_a_line_waits_for_its_rest_and_nonsense_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        let mut reader = Reader::open(&path).unwrap();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"1 2 3\n4 5").unwrap();
        assert_eq!(reader.read().unwrap(), [Line::Handled { partition: 1, offset: 2, at: 3 }]);
        file.write_all(b"5 6\n").unwrap();
        assert_eq!(reader.read().unwrap(), [Line::Handled { partition: 4, offset: 55, at: 6 }]);
        file.write_all(b"Exception in\n").unwrap();
        assert!(reader.read().is_err());
    }
}
