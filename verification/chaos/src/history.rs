//! What consumers write down about themselves: lines of JSON.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::moment::Moment;
use crate::sink::Verdict;

/// One line of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "entry")]
pub(crate) enum Entry {
    /// The partition was granted.
    Granted(Claimed),
    /// A record was written to the sink, under the claim as it was right before.
    Wrote {
        /// The claim.
        #[serde(flatten)]
        claimed: Claimed,
        /// The record's offset.
        offset: i64,
        /// What the sink answered.
        verdict: Verdict,
    },
    /// The process stopped acting for the partition.
    Ended {
        /// The partition.
        partition: i32,
        /// When.
        at: Moment,
    },
}

/// A claim as its holder saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claimed {
    /// The partition.
    pub(crate) partition: i32,
    /// The epoch under which it was held.
    pub(crate) epoch: u64,
    /// When its holder looked.
    pub(crate) at: Moment,
    /// How long it was valid unless it was confirmed, or ended, before; `at` where it was not.
    pub(crate) until: Moment,
}

/// A file that lines are added to.
#[derive(Debug)]
pub(crate) struct Journal(File);

impl Journal {
    /// Opens the file, and creates it where it is missing.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(OpenOptions::new().create(true).append(true).open(path)?))
    }

    /// Adds a line, with one write, so that lines of several tasks never mix.
    pub(crate) fn write(&self, entry: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        (&self.0).write_all(&line)
    }
}

/// The entries of a history in their order. A killed process may have left half a line at the end, which counts as
/// not written; a process that wrote nothing has no file.
pub(crate) fn read(path: &Path) -> Result<Vec<Entry>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(path).with_context(|| format!("{} can't be read", path.display()))?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let entries = whole.lines().map(serde_json::from_str);
    entries.collect::<Result<_, _>>().with_context(|| format!("{} makes no sense", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_half_a_line_at_the_end_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        assert_eq!(read(&path).unwrap(), []);
        let claimed = Claimed { partition: 1, epoch: 7, at: Moment(10), until: Moment(20) };
        let entries = [
            Entry::Granted(claimed),
            Entry::Wrote { claimed, offset: 3, verdict: Verdict::Refused { epoch: 9 } },
            Entry::Wrote { claimed, offset: 3, verdict: Verdict::Applied },
            Entry::Ended { partition: 1, at: Moment(30) },
        ];
        let journal = Journal::open(&path).unwrap();
        entries.iter().for_each(|entry| journal.write(entry).unwrap());
        (&journal.0).write_all(b"{\"entry\":").unwrap();
        assert_eq!(read(&path).unwrap(), entries);
        (&journal.0).write_all(b"\n{}\n").unwrap();
        assert!(read(&path).is_err());
    }
}
