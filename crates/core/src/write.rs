//! Guarded writes: what one decision changes, and how many of them go into one transaction.

use std::collections::BTreeSet;
use std::ops::Range;

use bytes::Bytes;

use crate::key::Key;
use crate::state::{Entry, GroupState};
use kafka_assigner_types::kv::{Compare, Limits, Must, Op, Txn};

/// The changes of one decision with the guards under which they apply. They are never split.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Write {
    /// The condition.
    pub guards: Vec<Compare>,
    /// The write in that case.
    pub ops: Vec<Op>,
}

impl Write {
    /// Both as one.
    pub(crate) fn with(mut self, other: Self) -> Self {
        self.guards.extend(other.guards);
        self.ops.extend(other.ops);
        self
    }
}

/// The guard of a write that must land neither in a group that was deleted since `state` nor in one that was created in
/// its place. A state without a configuration is no group: then no write lands.
#[must_use]
pub fn same_group(state: &GroupState) -> Compare {
    let created = state.config_entry().and_then(Entry::readable).map(|config| config.create_revision);
    let must = created.map_or(Must::Exist, Must::HaveCreateRevision);
    Compare::new(state.layout().encode(&Key::GroupConfig), must)
}

/// A leader's right to write: its election key, created in the revision that began its term, in the history of the store
/// in which it was elected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence(Vec<Compare>);

impl Fence {
    /// The fence of the term whose key `guard` compares.
    #[must_use]
    pub fn new(guard: Compare) -> Self {
        Self(vec![guard])
    }

    /// The same fence, as long as `guard` holds as well.
    #[must_use]
    pub fn while_holds(mut self, guard: Compare) -> Self {
        self.0.push(guard);
        self
    }

    /// The guards that every write of the term carries.
    #[must_use]
    pub fn guards(&self) -> &[Compare] {
        &self.0
    }

    /// `write` as one transaction of its own.
    #[must_use]
    pub fn alone(&self, write: &Write) -> Txn {
        Chunker::new(Some(self), Limits::default()).with(write).txn
    }
}

/// Several writes in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The transaction; it applies all of its writes or none.
    pub txn: Txn,
    /// The writes that it carries.
    pub writes: Range<usize>,
}

/// Packs `writes`, in their order, into as few transactions as `limits` allow, each guarded by `fence`.
///
/// A write that is too large by itself gets a transaction of its own, which the store will refuse by name.
/// Guards that several writes share are carried once. Two writes that change the same key never share a
/// transaction, since a store takes none that changes a key twice: the later one then meets its guard.
#[must_use]
pub fn chunk(fence: &Fence, writes: &[Write], limits: Limits) -> Vec<Chunk> {
    pack(Some(fence), writes, limits)
}

/// [`chunk`] without a leader's fence, for whoever records what members said.
#[must_use]
pub fn chunk_unfenced(writes: &[Write], limits: Limits) -> Vec<Chunk> {
    pack(None, writes, limits)
}

fn pack(fence: Option<&Fence>, writes: &[Write], limits: Limits) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut current = Chunker::new(fence, limits);
    let mut begin = 0;
    for (at, write) in writes.iter().enumerate() {
        if at > begin && !current.has_room_for(write) {
            chunks.push(Chunk { txn: current.txn, writes: begin..at });
            current = Chunker::new(fence, limits);
            begin = at;
        }
        current = current.with(write);
    }
    if begin < writes.len() {
        chunks.push(Chunk { txn: current.txn, writes: begin..writes.len() });
    }
    chunks
}

struct Chunker {
    txn: Txn,
    seen: BTreeSet<Compare>,
    changed: BTreeSet<Bytes>,
    bytes: usize,
    limits: Limits,
}

impl Chunker {
    fn new(fence: Option<&Fence>, limits: Limits) -> Self {
        let guards: Vec<Compare> = fence.iter().flat_map(|fence| fence.0.clone()).collect();
        let seen = guards.iter().cloned().collect();
        let txn = Txn::guarded(guards, Vec::new());
        Self { bytes: txn.bytes(), seen, changed: BTreeSet::new(), txn, limits }
    }

    fn has_room_for(&self, write: &Write) -> bool {
        let guards = write.guards.iter().filter(|guard| !self.seen.contains(*guard)).count();
        self.txn.compares.len() + guards <= self.limits.operations
            && self.txn.then.len() + write.ops.len() <= self.limits.operations
            && self.bytes + write.bytes() <= self.limits.bytes
            && write.ops.iter().filter_map(changed_key).all(|key| !self.changed.contains(key))
    }

    fn with(mut self, write: &Write) -> Self {
        for guard in &write.guards {
            if self.seen.insert(guard.clone()) {
                self.txn.compares.push(guard.clone());
            }
        }
        self.changed.extend(write.ops.iter().filter_map(changed_key).cloned());
        self.txn.then.extend(write.ops.iter().cloned());
        self.bytes += write.bytes();
        self
    }
}

/// The key that an operation changes; no decision removes a whole prefix.
const fn changed_key(op: &Op) -> Option<&Bytes> {
    match op {
        Op::Put { key, .. } | Op::Delete { key } => Some(key),
        Op::DeletePrefix { .. } | Op::Get { .. } => None,
    }
}

impl Write {
    fn bytes(&self) -> usize {
        Txn::guarded(self.guards.clone(), self.ops.clone()).bytes()
    }

    /// The write as a transaction without a leader's fence, for whoever records what a member said.
    #[must_use]
    pub fn unfenced(self) -> Txn {
        Txn::guarded(self.guards, self.ops)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use kafka_assigner_types::kv::Revision;

    fn fence() -> Fence {
        Fence::new(Compare::new("leader", Must::HaveCreateRevision(Revision(9))))
    }

    fn write(n: usize, ops: usize, size: usize) -> Write {
        let key = |i: usize| format!("key-{n}-{i}");
        Write {
            guards: (0..ops)
                .map(|i| Compare::new(key(i), Must::BeAbsent))
                .chain([Compare::new("shared", Must::Exist)])
                .collect(),
            ops: (0..ops).map(|i| Op::put(key(i), vec![b'x'; size])).collect(),
        }
    }

    #[test]
    fn two_hundred_fifty_six_partitions_fit_into_chunks_of_the_servers_limit() {
        let writes: Vec<Write> = (0..256).map(|n| write(n, 1, 10)).collect();
        let chunks = chunk(&fence(), &writes, Limits::ETCD);
        // 126 guards of their own beside the fence and the shared one.
        assert_eq!(chunks.iter().map(|c| c.writes.len()).collect::<Vec<_>>(), [126, 126, 4]);
    }

    #[test]
    fn two_writes_of_one_key_never_share_a_transaction() {
        let twice = [write(0, 2, 1), write(1, 1, 1), write(0, 2, 1)];
        let chunks = chunk(&fence(), &twice, Limits::ETCD);
        assert_eq!(chunks.iter().map(|c| c.writes.clone()).collect::<Vec<_>>(), [0..2, 2..3]);
    }

    proptest! {
        #[test]
        fn every_write_lands_whole_in_one_fenced_chunk_within_the_limits(
            shapes in prop::collection::vec((1usize..40, 0usize..60_000), 0..60)
        ) {
            let writes: Vec<Write> =
                shapes.iter().enumerate().map(|(n, (ops, size))| write(n, *ops, *size)).collect();
            let fence = fence();
            let chunks = chunk(&fence, &writes, Limits::ETCD);
            let mut next = 0;
            for chunk in &chunks {
                prop_assert_eq!(chunk.writes.start, next);
                next = chunk.writes.end;
                prop_assert_eq!(&chunk.txn.compares[..1], fence.guards());
                let ops: Vec<Op> = writes[chunk.writes.clone()].iter().flat_map(|w| w.ops.clone()).collect();
                prop_assert_eq!(&chunk.txn.then, &ops);
                if chunk.writes.len() > 1 {
                    prop_assert!(chunk.txn.then.len() <= 128 && chunk.txn.compares.len() <= 128);
                    prop_assert!(chunk.txn.bytes() <= Limits::ETCD.bytes);
                }
            }
            prop_assert_eq!(next, writes.len());
        }
    }
}
