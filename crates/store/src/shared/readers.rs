//! The readers of the one watch: each gets what is under its prefix, and learns how far the watch is when it asks.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use kafka_assigner_types::kv::{Change, Revision};
use tokio::sync::mpsc;

use super::delivered::Delivered;
use super::prefixes::PrefixIndex;
use crate::error::Error;
use crate::traits::WatchBatch;

/// Batches that wait for one reader, and room for the error that ends it. A reader that falls behind further is
/// ended: it lists anew.
const ROOM: usize = 256 + 1;

/// The receiving end of a reader.
pub(super) type Items = mpsc::Receiver<Result<WatchBatch, Error>>;

/// The news that a reader wants without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interest {
    /// Changes, and at intervals how far the watch is.
    Progress,
    /// Changes alone: nobody wakes it up where nothing happens.
    Changes,
}

/// One reader.
#[derive(Debug)]
struct Reader {
    prefix: Bytes,
    interest: Interest,
    /// It has been told everything up to here.
    told: Revision,
    /// The revision that somebody waits for.
    wanted: Revision,
    items: mpsc::Sender<Result<WatchBatch, Error>>,
}

impl Reader {
    /// Tells it what happened up to `revision`; false if it reads no more, or too slowly.
    fn tell(&mut self, changes: Vec<Change>, revision: Revision) -> bool {
        if self.items.capacity() <= 1 {
            // An empty batch is no loss: a later one says more.
            return changes.is_empty() || self.end(too_slow());
        }
        self.told = revision;
        self.items.try_send(Ok(WatchBatch { changes, revision })).is_ok()
    }

    fn end(&self, error: Error) -> bool {
        // There is always room for one error, and nobody has to read it.
        let _ = self.items.try_send(Err(error));
        false
    }
}

/// All readers, and what they read.
#[derive(Debug, Default)]
pub(super) struct WatchReaders {
    readers: BTreeMap<u64, Reader>,
    index: PrefixIndex,
    /// The readers that want to know how far the watch is.
    waiting: BTreeSet<u64>,
    last_id: u64,
    delivered: Delivered,
}

impl WatchReaders {
    /// The revision up to which everything was delivered; zero before the beginning.
    pub(super) const fn position(&self) -> Revision {
        self.delivered.position()
    }

    /// Begins after `revision`, once there is no reader of what was before.
    pub(super) fn begin(&mut self, revision: Revision) {
        self.delivered.begin(revision);
    }

    /// Adds a reader of everything under `prefix` since `from`.
    ///
    /// # Errors
    /// [`Error::Compacted`] where that is no longer held, [`Error::Unavailable`] before the beginning.
    pub(super) fn add(&mut self, prefix: Bytes, from: Revision, interest: Interest) -> Result<Items, Error> {
        if self.position() == Revision::default() {
            return Err(not_begun());
        }
        let oldest = self.delivered.oldest();
        if from < oldest {
            return Err(Error::Compacted { asked: from, oldest });
        }
        let (items, delivered) = mpsc::channel(ROOM);
        let told = Revision(from.0.saturating_sub(1));
        let mut reader =
            Reader { prefix: prefix.clone(), interest, told, wanted: Revision::default(), items };
        if self.position() >= from {
            reader.tell(self.delivered.since(&prefix, from), self.position());
        }
        self.last_id += 1;
        self.index.add(prefix, self.last_id);
        self.readers.insert(self.last_id, reader);
        Ok(delivered)
    }

    /// Passes on what the watch delivered.
    pub(super) fn take(&mut self, batch: &WatchBatch) {
        let mut shares: BTreeMap<u64, Vec<Change>> = BTreeMap::new();
        for change in &batch.changes {
            for id in self.index.concerned(change.key()) {
                shares.entry(id).or_default().push(change.clone());
            }
        }
        self.delivered.add(&batch.changes, batch.revision);
        for (id, mut changes) in shares {
            let told = self.readers.get(&id).map_or(batch.revision, |reader| reader.told);
            changes.retain(|change| change.revision() > told);
            if !changes.is_empty() {
                self.tell(id, changes);
            }
        }
        self.tell_those_who_wait();
    }

    fn tell(&mut self, id: u64, changes: Vec<Change>) {
        let revision = self.delivered.position();
        if self.readers.get_mut(&id).is_some_and(|reader| !reader.tell(changes, revision)) {
            self.forget(id);
        }
    }

    /// Tells those who wait how far the watch is, also where that is not all that they want: of several that wait on one
    /// reader each wants another revision. A reader waits until it was told what it wants.
    fn tell_those_who_wait(&mut self) {
        let waiting: Vec<u64> = self.waiting.iter().copied().collect();
        waiting.into_iter().for_each(|id| self.tell_position(id));
        let readers = &self.readers;
        self.waiting.retain(|id| readers.get(id).is_some_and(|reader| reader.told < reader.wanted));
    }

    fn tell_position(&mut self, id: u64) {
        let position = self.position();
        if self.readers.get(&id).is_some_and(|reader| reader.told < position) {
            self.tell(id, Vec::new());
        }
    }

    /// Notes that somebody waits until the readers of `prefix` have come to `revision`. Returns true if the watch has not
    /// come so far.
    pub(super) fn want(&mut self, prefix: &[u8], revision: Revision) -> bool {
        for id in self.index.of(prefix) {
            let Some(reader) = self.readers.get_mut(&id) else { continue };
            reader.wanted = reader.wanted.max(revision);
            self.waiting.insert(id);
        }
        self.tell_those_who_wait();
        revision > self.position()
    }

    /// The latest revision that a reader waits for and the watch has not come to.
    pub(super) fn most_wanted(&self) -> Option<Revision> {
        let waiting = self.waiting.iter().filter_map(|id| Some(self.readers.get(id)?.wanted));
        waiting.max().filter(|wanted| *wanted > self.position())
    }

    /// Tells every reader that wants to know how far the watch is, and forgets those that read no more.
    pub(super) fn tell_all(&mut self) {
        let gone = self.readers.iter().filter(|(_, reader)| reader.items.is_closed());
        let gone: Vec<u64> = gone.map(|(id, _)| *id).collect();
        gone.into_iter().for_each(|id| self.forget(id));
        let interested = self.readers.iter().filter(|(_, reader)| reader.interest == Interest::Progress);
        let ids: Vec<u64> = interested.map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| self.tell_position(id));
    }

    /// Ends every reader.
    pub(super) fn end_all(&mut self, error: impl Fn() -> Error) {
        for reader in self.readers.values() {
            reader.end(error());
        }
        self.readers.clear();
        self.index = PrefixIndex::default();
        self.waiting.clear();
    }

    fn forget(&mut self, id: u64) {
        self.waiting.remove(&id);
        if let Some(reader) = self.readers.remove(&id) {
            self.index.remove(&reader.prefix, id);
        }
    }
}

fn not_begun() -> Error {
    Error::Unavailable { operation: "watch", source: Some("the watch has not begun".into()) }
}

fn too_slow() -> Error {
    Error::Unavailable { operation: "watch", source: Some("its reader fell behind".into()) }
}

#[cfg(test)]
#[path = "readers_test.rs"]
mod tests;
