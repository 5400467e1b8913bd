//! The store of a [`TestGroup`](super::TestGroup): a map.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use kafka_assigner_types::kv::{Change, Compare, LeaseId, Must, Op, Record, Revision, Snapshot, Txn};

/// A store in a map: records, revisions and guards as the real ones have them; leases end when it is said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MapStore {
    records: BTreeMap<Bytes, Record>,
    revision: Revision,
}

impl MapStore {
    /// Carries out a transaction; `None` where a guard does not hold, else what changed.
    ///
    /// # Panics
    /// Where it changes a key twice: a store refuses that, so no decision may ask for it.
    pub fn txn(&mut self, txn: &Txn) -> Option<Vec<Change>> {
        txn.compares.iter().all(|compare| self.holds(compare)).then_some(())?;
        assert_changes_no_key_twice(&txn.then);
        let revision = self.revision.next();
        let ops: Vec<Op> = txn.then.iter().flat_map(|op| self.one_by_one(op)).collect();
        let changes: Vec<Change> = ops.iter().filter_map(|op| self.carry_out(op, revision)).collect();
        self.revision = if changes.is_empty() { self.revision } else { revision };
        Some(changes)
    }

    fn holds(&self, compare: &Compare) -> bool {
        let record = self.records.get(&compare.key);
        match &compare.must {
            Must::BeAbsent => record.is_none(),
            Must::Exist => record.is_some(),
            Must::HaveModRevision(revision) => record.is_some_and(|r| r.mod_revision == *revision),
            Must::HaveCreateRevision(revision) => record.is_some_and(|r| r.create_revision == *revision),
            Must::HaveLease(lease) => record.is_some_and(|r| r.lease == *lease),
            Must::HaveValue(value) => record.is_some_and(|r| r.value == *value),
            Must::HaveNoKeys => self.below(&compare.key).next().is_none(),
            Must::HaveNoChangesSince(since) => self.below(&compare.key).all(|r| r.mod_revision <= *since),
        }
    }

    fn below<'s>(&'s self, prefix: &'s [u8]) -> impl Iterator<Item = &'s Record> {
        self.records.values().filter(move |record| record.key.starts_with(prefix))
    }

    /// The removal of a prefix as the removals of its keys.
    fn one_by_one(&self, op: &Op) -> Vec<Op> {
        let Op::DeletePrefix { prefix } = op else { return vec![op.clone()] };
        self.records.keys().filter(|key| key.starts_with(prefix)).cloned().map(Op::delete).collect()
    }

    fn carry_out(&mut self, op: &Op, revision: Revision) -> Option<Change> {
        match op {
            Op::Put { key, value, lease } => {
                let create_revision = self.records.get(key).map_or(revision, |r| r.create_revision);
                let (key, value, lease) = (key.clone(), value.clone(), *lease);
                let record = Record { key, value, create_revision, mod_revision: revision, lease };
                self.records.insert(record.key.clone(), record.clone());
                Some(Change::Put(record))
            }
            Op::Delete { key } => {
                self.records.remove(key).map(|record| Change::Delete { key: record.key, revision })
            }
            Op::DeletePrefix { .. } => unreachable!("several changes: handled by the caller"),
            Op::Get { .. } => unreachable!("no decision reads in a transaction"),
        }
    }

    /// Ends a lease: its keys go.
    pub fn end_lease(&mut self, lease: LeaseId) -> Vec<Change> {
        let keys = self.records.values().filter(|record| record.lease == lease).map(|r| r.key.clone());
        let ops = keys.map(Op::delete).collect();
        self.txn(&Txn::guarded(Vec::new(), ops)).unwrap_or_default()
    }

    /// The record at `key`.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<&Record> {
        self.records.get(key)
    }

    /// Everything, in the order of the keys.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }

    /// The revision of the last change.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.revision
    }

    /// A listing of everything.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { records: self.records.values().cloned().collect(), revision: self.revision }
    }
}

fn assert_changes_no_key_twice(ops: &[Op]) {
    let mut put = BTreeSet::new();
    for op in ops {
        if let Op::Put { key, .. } = op {
            assert!(put.insert(key), "{} is written twice in one transaction", key.escape_ascii());
        }
    }
    let both = ops.iter().find(|op| matches!(op, Op::Delete { key } if put.contains(key)));
    assert!(both.is_none(), "{both:?} of a key that the same transaction writes");
}
