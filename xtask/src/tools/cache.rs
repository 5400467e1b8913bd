//! The cache of tools under `target/tools`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A folder of the cache, named after a tool and its version: complete, or not there at all.
#[derive(Debug)]
pub(crate) struct Entry {
    cache: PathBuf,
    name: &'static str,
}

impl Entry {
    /// The entry called `name`, in the workspace's own cache.
    pub(crate) fn new(name: &'static str) -> Self {
        Self { cache: crate::run::workspace().join("target/tools"), name }
    }

    /// The entry's folder, when an earlier run has completed it.
    pub(crate) fn existing(&self) -> Option<PathBuf> {
        Some(self.folder()).filter(|folder| folder.is_dir())
    }

    /// Fills the entry: `make` gets an empty folder, which takes the entry's name once `make` is through.
    ///
    /// A run that is interrupted, or fails, leaves the entry as it was. When another run was faster, its
    /// result stays.
    pub(crate) fn fill(&self, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        fs::create_dir_all(&self.cache).context("failed to create target/tools")?;
        let unfinished = tempfile::Builder::new().prefix("unfinished-").tempdir_in(&self.cache)?;
        make(unfinished.path())?;
        let renamed = fs::rename(unfinished.path(), self.folder());
        if self.existing().is_none() {
            renamed.context("failed to complete the cache entry")?;
        }
        Ok(self.folder())
    }

    fn folder(&self) -> PathBuf {
        self.cache.join(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(cache: &Path) -> Entry {
        Entry { cache: cache.join("tools"), name: "hammer-1" }
    }

    #[test]
    fn a_filled_entry_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(entry(folder.path()).existing(), None);
        let made = entry(folder.path()).fill(|at| Ok(fs::write(at.join("hammer"), "x")?)).unwrap();
        assert_eq!(entry(folder.path()).existing(), Some(made.clone()));
        assert!(made.join("hammer").is_file());
    }

    #[test]
    fn a_failure_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let result = entry(folder.path()).fill(|at| {
            fs::write(at.join("hammer"), "half")?;
            anyhow::bail!("interrupted")
        });
        assert!(result.is_err());
        assert_eq!(entry(folder.path()).existing(), None);
        assert_eq!(fs::read_dir(folder.path().join("tools")).unwrap().count(), 0);
    }

    #[test]
    fn a_faster_run_wins() {
        let folder = tempfile::tempdir().unwrap();
        let slow = entry(folder.path());
        let made = slow.fill(|_| {
            entry(folder.path()).fill(|at| Ok(fs::write(at.join("first"), "x")?))?;
            Ok(())
        });
        assert!(made.unwrap().join("first").is_file());
    }
}
