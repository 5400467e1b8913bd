//! The changes of the recent past, for watches.

use std::collections::VecDeque;
use std::sync::Arc;

use kafka_assigner_types::kv::{Change, Revision};

use crate::error::Error;

/// The bounds of the kept history. The oldest transactions are dropped first, once either bound is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Changes. Default 100 000: a plan of ten thousand moves makes about five changes each, twice.
    pub changes: usize,
    /// Bytes of keys and values. Default 64 MiB.
    pub bytes: usize,
}

impl Default for Retention {
    fn default() -> Self {
        Self { changes: 100_000, bytes: 64 << 20 }
    }
}

/// One transaction's changes; shared, because many watches read the same ones.
type Commit = Arc<[Change]>;

/// Every transaction since `oldest`, one for each revision without a hole.
#[derive(Debug)]
pub(crate) struct ChangeHistory {
    retention: Retention,
    oldest: Revision,
    commits: VecDeque<Commit>,
    changes: usize,
    bytes: usize,
}

impl ChangeHistory {
    /// An empty history of a store that stands at `revision`.
    pub(crate) const fn after(revision: Revision, retention: Retention) -> Self {
        Self { retention, oldest: revision.next(), commits: VecDeque::new(), changes: 0, bytes: 0 }
    }

    /// Adds the next revision's changes.
    pub(crate) fn push(&mut self, commit: Commit) {
        self.changes += commit.len();
        self.bytes += commit.iter().map(size_of_change).sum::<usize>();
        self.commits.push_back(commit);
        while self.changes > self.retention.changes || self.bytes > self.retention.bytes {
            self.drop_oldest();
        }
    }

    /// Forgets everything before `oldest`, as far as it has happened.
    pub(crate) fn compact(&mut self, oldest: Revision) {
        while self.oldest < oldest && !self.commits.is_empty() {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let Some(commit) = self.commits.pop_front() else { return };
        self.changes -= commit.len();
        self.bytes -= commit.iter().map(size_of_change).sum::<usize>();
        self.oldest = self.oldest.next();
    }

    /// Fails when a change from `from` on is no longer there.
    pub(crate) fn check(&self, from: Revision) -> Result<(), Error> {
        // Revisions begin at one, so that zero misses nothing of a whole history.
        if from.max(Revision(1)) < self.oldest {
            return Err(Error::Compacted { asked: from, oldest: self.oldest });
        }
        Ok(())
    }

    /// The transactions from `from` up to and including `to`.
    pub(crate) fn between(
        &self,
        from: Revision,
        to: Revision,
    ) -> Result<impl Iterator<Item = &Commit>, Error> {
        self.check(from)?;
        let start = index(self.oldest, from).min(self.commits.len());
        let end = index(self.oldest, to.next()).clamp(start, self.commits.len());
        Ok(self.commits.range(start..end))
    }
}

fn index(oldest: Revision, revision: Revision) -> usize {
    usize::try_from(revision.0.saturating_sub(oldest.0)).unwrap_or(usize::MAX)
}

fn size_of_change(change: &Change) -> usize {
    match change {
        Change::Put(record) => record.key.len() + record.value.len(),
        Change::Delete { key, .. } => key.len(),
    }
}
