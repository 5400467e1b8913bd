//! Journals: files of lines that processes of a run write about themselves. Whoever judges a run reads them whole, or
//! follows them while they are written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A file that lines are added to.
#[derive(Debug)]
pub struct Journal(File);

impl Journal {
    /// Opens the file, and creates it where it is missing.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(OpenOptions::new().create(true).append(true).open(path)?))
    }

    /// Adds an entry as a line of JSON.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn write(&self, entry: &impl Serialize) -> io::Result<()> {
        self.add(serde_json::to_string(entry)?)
    }

    /// Adds a line, with one write, so that lines of several tasks never mix.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn add(&self, mut line: String) -> io::Result<()> {
        line.push('\n');
        (&self.0).write_all(line.as_bytes())
    }
}

/// The entries of a journal of JSON, in their order. A killed process may have left half a line at the end, which counts
/// as not written; a process that wrote nothing has no file.
///
/// # Errors
/// When the file can't be read, or a line is no such entry.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(path).with_context(|| format!("{} can't be read", path.display()))?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let entries = whole.lines().map(serde_json::from_str);
    entries.collect::<Result<_, _>>().with_context(|| format!("{} makes no sense", path.display()))
}

/// A reader of a journal that is still being written.
#[derive(Debug)]
pub struct Follower {
    file: File,
    /// Half a line, whose rest is still to come. A killed process never writes it, and it counts as not written.
    rest: String,
}

impl Follower {
    /// A reader from the beginning of the file, which is created where it is missing.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).read(true).open(path)?;
        Ok(Self { file, rest: String::new() })
    }

    /// The whole lines that were written since the last call, with their ends.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn read(&mut self) -> Result<String> {
        self.file.read_to_string(&mut self.rest).context("a journal can't be read")?;
        let whole = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let rest = self.rest.split_off(whole);
        Ok(std::mem::replace(&mut self.rest, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_line_at_the_end_is_no_entry_and_one_in_between_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        assert!(read::<Vec<u8>>(&path).unwrap().is_empty());
        let journal = Journal::open(&path).unwrap();
        journal.write(&[1]).unwrap();
        journal.add("[2]".to_owned()).unwrap();
        (&journal.0).write_all(b"[3").unwrap();
        assert_eq!(read::<Vec<u8>>(&path).unwrap(), [[1], [2]]);
        (&journal.0).write_all(b"\n[4]\n").unwrap();
        assert!(read::<Vec<u8>>(&path).is_err());
    }

    #[test]
    fn a_follower_reads_each_line_once_and_waits_for_the_rest_of_half_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut follower = Follower::open(&path).unwrap();
        assert_eq!(follower.read().unwrap(), "");
        let journal = Journal::open(&path).unwrap();
        (&journal.0).write_all(b"1 2 3\n4 5").unwrap();
        assert_eq!(follower.read().unwrap(), "1 2 3\n");
        journal.add("5 6".to_owned()).unwrap();
        assert_eq!(follower.read().unwrap(), "4 55 6\n");
        assert_eq!(follower.read().unwrap(), "");
    }
}
