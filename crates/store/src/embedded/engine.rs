//! The state of an embedded store and every change to it, without I/O, tasks or a clock of its own.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_types::kv::{
    Change, Compare, Lease, LeaseId, Limits, Must, Op, Record, Revision, Snapshot, Txn, TxnOutcome,
};
use tokio::time::Instant;

use super::check;
use super::history::{ChangeHistory, Retention};
use super::leases::LeaseTable;
use crate::error::Error;

/// A change that has to be stored to restore the same state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// A key was written or removed.
    Changed(Change),
    /// A lease was granted.
    Granted(Lease),
    /// A lease ended.
    Ended(LeaseId),
}

/// The state that a store is opened with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seed {
    pub(crate) revision: Revision,
    pub(crate) next_lease: i64,
    pub(crate) leases: Vec<Lease>,
    pub(crate) records: Vec<Record>,
}

/// Records, leases and history. `now` must never go back from one call to the next.
#[derive(Debug)]
pub(crate) struct Engine {
    records: BTreeMap<Bytes, Record>,
    leases: LeaseTable,
    history: ChangeHistory,
    revision: Revision,
    effects: Vec<Effect>,
}

impl Engine {
    /// An engine that goes on from `seed`; its leases start afresh.
    pub(crate) fn new(seed: Seed, retention: Retention, now: Instant) -> Self {
        // Zero is the absence of a lease.
        let mut leases = LeaseTable::starting_at(seed.next_lease.max(1));
        seed.leases.into_iter().for_each(|lease| leases.insert(lease, now));
        seed.records.iter().for_each(|record| leases.attach(&record.key, record.lease));
        let records = seed.records.into_iter().map(|record| (record.key.clone(), record)).collect();
        let history = ChangeHistory::after(seed.revision, retention);
        Self { records, leases, history, revision: seed.revision, effects: Vec::new() }
    }

    /// Everything that is stored now, as an engine can be opened with.
    pub(crate) fn seed(&self) -> Seed {
        Seed {
            revision: self.revision,
            next_lease: self.next_lease(),
            leases: self.leases.all().collect(),
            records: self.records.values().cloned().collect(),
        }
    }

    pub(crate) const fn revision(&self) -> Revision {
        self.revision
    }

    pub(crate) const fn history(&self) -> &ChangeHistory {
        &self.history
    }

    pub(crate) const fn next_lease(&self) -> i64 {
        self.leases.next_id()
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.leases.next_deadline()
    }

    /// Takes the effects since the last call.
    pub(crate) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Ends every lease whose time is over, each in a revision of its own, in the order of their deadlines.
    pub(crate) fn expire(&mut self, now: Instant) {
        while let Some(lease) = self.leases.due(now) {
            self.revoke(lease);
        }
    }

    pub(crate) fn range(&self, prefix: &[u8]) -> Snapshot {
        Snapshot { records: self.under(prefix).cloned().collect(), revision: self.revision }
    }

    pub(crate) fn get(&self, key: &[u8]) -> (Option<Record>, Revision) {
        (self.records.get(key).cloned(), self.revision)
    }

    pub(crate) fn txn(&mut self, txn: &Txn) -> Result<TxnOutcome, Error> {
        check::shape(txn, Limits::ETCD)?;
        let succeeded = txn.compares.iter().all(|compare| self.holds(compare));
        let branch = if succeeded { &txn.then } else { &txn.or_else };
        branch.iter().try_for_each(|op| self.check_lease(op))?;
        let mut changes = Vec::new();
        let reads = branch.iter().filter_map(|op| self.carry_out(op, &mut changes)).collect();
        self.close(changes);
        Ok(TxnOutcome { succeeded, revision: self.revision, reads })
    }

    pub(crate) fn grant(&mut self, ttl: Duration, now: Instant) -> Lease {
        let lease = self.leases.grant(ttl, now);
        self.effects.push(Effect::Granted(lease));
        lease
    }

    pub(crate) fn keep_alive(&mut self, lease: LeaseId, now: Instant) -> Result<Duration, Error> {
        self.leases.keep_alive(lease, now)
    }

    pub(crate) fn revoke(&mut self, lease: LeaseId) {
        let Some(keys) = self.leases.end(lease) else { return };
        self.effects.push(Effect::Ended(lease));
        let mut changes = Vec::new();
        keys.iter().for_each(|key| self.delete(key, &mut changes));
        self.close(changes);
    }

    pub(crate) fn time_to_live(&self, lease: LeaseId, now: Instant) -> Option<Duration> {
        self.leases.remaining(lease, now)
    }

    pub(crate) fn compact(&mut self, oldest: Revision) {
        self.history.compact(oldest);
    }

    fn under(&self, prefix: &[u8]) -> impl Iterator<Item = &Record> {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        self.records
            .range::<[u8], _>(from)
            .map(|(_, record)| record)
            .take_while(move |it| it.key.starts_with(prefix))
    }

    fn holds(&self, compare: &Compare) -> bool {
        match compare.must {
            Must::HaveNoKeys => return self.under(&compare.key).next().is_none(),
            Must::HaveNoChangesSince(since) => {
                return self.under(&compare.key).all(|record| record.mod_revision <= since);
            }
            _ => {}
        }
        let Some(record) = self.records.get(&compare.key) else { return compare.must == Must::BeAbsent };
        match &compare.must {
            Must::BeAbsent | Must::HaveNoKeys | Must::HaveNoChangesSince(_) => false,
            Must::Exist => true,
            Must::HaveModRevision(revision) => record.mod_revision == *revision,
            Must::HaveCreateRevision(revision) => record.create_revision == *revision,
            Must::HaveLease(lease) => record.lease == *lease,
            Must::HaveValue(value) => record.value == *value,
        }
    }

    fn check_lease(&self, op: &Op) -> Result<(), Error> {
        match op {
            Op::Put { lease, .. } if *lease != LeaseId::NONE && !self.leases.contains(*lease) => {
                Err(Error::LeaseNotFound(*lease))
            }
            _ => Ok(()),
        }
    }

    /// Performs one operation; for a read its result.
    fn carry_out(&mut self, op: &Op, changes: &mut Vec<Change>) -> Option<Option<Record>> {
        match op {
            Op::Put { key, value, lease } => self.put(key, value, *lease, changes),
            Op::Delete { key } => self.delete(key, changes),
            Op::DeletePrefix { prefix } => {
                let keys: Vec<_> = self.under(prefix).map(|record| record.key.clone()).collect();
                keys.iter().for_each(|key| self.delete(key, changes));
            }
            Op::Get { key } => return Some(self.records.get(key).cloned()),
        }
        None
    }

    fn put(&mut self, key: &Bytes, value: &Bytes, lease: LeaseId, changes: &mut Vec<Change>) {
        let revision = self.revision.next();
        let old = self.records.get(key);
        let create_revision = old.map_or(revision, |old| old.create_revision);
        let old_lease = old.map_or(LeaseId::NONE, |old| old.lease);
        self.leases.detach(key, old_lease);
        self.leases.attach(key, lease);
        let (key, value) = (key.clone(), value.clone());
        let record = Record { key: key.clone(), value, create_revision, mod_revision: revision, lease };
        self.records.insert(key, record.clone());
        changes.push(Change::Put(record));
    }

    fn delete(&mut self, key: &Bytes, changes: &mut Vec<Change>) {
        if let Some(record) = self.records.remove(key) {
            self.leases.detach(key, record.lease);
            changes.push(Change::Delete { key: record.key, revision: self.revision.next() });
        }
    }

    /// Ends a change: where nothing changed, no revision is spent.
    fn close(&mut self, changes: Vec<Change>) {
        if changes.is_empty() {
            return;
        }
        self.revision = self.revision.next();
        self.effects.extend(changes.iter().cloned().map(Effect::Changed));
        self.history.push(changes.into());
    }
}

#[cfg(test)]
#[path = "engine_test.rs"]
mod engine_test;
