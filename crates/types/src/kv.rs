//! The vocabulary of the store: records, revisions and guarded transactions, as plain data.
//!
//! Decisions are made here as values ([`Txn`]); carrying them out is the store's work. The semantics
//! are those of etcd's v3 API, cut down to what the service relies on.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;

/// A point in the store's single, global history; every change gets the next one.
///
/// Zero means "before anything": no record has a revision of zero.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Revision(pub u64);

impl Revision {
    /// The revision after this one, where a watch starts that continues a listing.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names a lease; [`LeaseId::NONE`] is the absence of one, as on etcd's wire.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct LeaseId(pub i64);

impl LeaseId {
    /// No lease: the record stays until it is deleted.
    pub const NONE: Self = Self(0);
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

/// A lease as it was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Its id.
    pub id: LeaseId,
    /// The time to live that the store granted, which may be longer than what was asked for.
    pub ttl: Duration,
}

/// One key with its value and what the store knows about it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Record {
    /// The whole key, with every prefix.
    pub key: Bytes,
    /// The value as it was written.
    pub value: Bytes,
    /// The revision in which the key came into being; a deleted and re-created key has a new one.
    pub create_revision: Revision,
    /// The revision of the last change.
    pub mod_revision: Revision,
    /// The lease that the key hangs on, or [`LeaseId::NONE`].
    pub lease: LeaseId,
}

/// A change of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The key was created or rewritten.
    Put(Record),
    /// The key was deleted, or its lease ended.
    Delete {
        /// The key that is gone.
        key: Bytes,
        /// The revision of the deletion.
        revision: Revision,
    },
}

impl Change {
    /// The key that changed.
    #[must_use]
    pub const fn key(&self) -> &Bytes {
        match self {
            Self::Put(record) => &record.key,
            Self::Delete { key, .. } => key,
        }
    }

    /// The revision in which it changed.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        match self {
            Self::Put(record) => record.mod_revision,
            Self::Delete { revision, .. } => *revision,
        }
    }
}

/// A listing of a prefix at one revision, in the order of the keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// The records.
    pub records: Vec<Record>,
    /// The store's revision at which all of them were read.
    pub revision: Revision,
}

/// A condition of a transaction on one key, or on all keys with one prefix.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Compare {
    /// The key that is looked at; for a condition on a range the prefix of its keys.
    pub key: Bytes,
    /// The condition on that key.
    pub must: Must,
}

/// The condition of a [`Compare`] on its key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Must {
    /// The key does not exist.
    BeAbsent,
    /// The key exists.
    Exist,
    /// The key was last changed in exactly this revision (so it exists).
    HaveModRevision(Revision),
    /// The key was created in exactly this revision (so it exists).
    HaveCreateRevision(Revision),
    /// The key exists and hangs on exactly this lease.
    HaveLease(LeaseId),
    /// The key exists with exactly this value.
    HaveValue(Bytes),
    /// It is a prefix with which no key begins.
    HaveNoKeys,
    /// It is a prefix, and no key that begins with it was written after this revision. Keys that were deleted since do not
    /// count.
    HaveNoChangesSince(Revision),
}

impl Compare {
    /// A condition on `key`.
    pub fn new(key: impl Into<Bytes>, must: Must) -> Self {
        Self { key: key.into(), must }
    }
}

/// One operation of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Write a value; the key hangs on `lease` from then on.
    Put {
        /// The key.
        key: Bytes,
        /// The new value.
        value: Bytes,
        /// The lease, or [`LeaseId::NONE`].
        lease: LeaseId,
    },
    /// Remove a key; removing an absent one is no error.
    Delete {
        /// The key.
        key: Bytes,
    },
    /// Remove every key that starts with this prefix.
    DeletePrefix {
        /// The prefix; never empty.
        prefix: Bytes,
    },
    /// Read one key as the operations before it in its branch leave it.
    Get {
        /// The key.
        key: Bytes,
    },
}

impl Op {
    /// A write without a lease.
    pub fn put(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        Self::Put { key: key.into(), value: value.into(), lease: LeaseId::NONE }
    }

    /// A write that hangs on a lease.
    pub fn put_leased(key: impl Into<Bytes>, value: impl Into<Bytes>, lease: LeaseId) -> Self {
        Self::Put { key: key.into(), value: value.into(), lease }
    }

    /// A deletion of one key.
    pub fn delete(key: impl Into<Bytes>) -> Self {
        Self::Delete { key: key.into() }
    }
}

/// An atomic, guarded change: where every compare holds `then` is applied, else `or_else`.
///
/// The store refuses a transaction over its limits ([`Limits`]) as a whole. No key may be written
/// twice in one branch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Txn {
    /// The guards; none means always.
    pub compares: Vec<Compare>,
    /// The operations that are applied when all compares hold.
    pub then: Vec<Op>,
    /// The operations that are applied otherwise.
    pub or_else: Vec<Op>,
}

impl Txn {
    /// A transaction that does `then` when all `compares` hold, and nothing otherwise.
    #[must_use]
    pub const fn guarded(compares: Vec<Compare>, then: Vec<Op>) -> Self {
        Self { compares, then, or_else: Vec::new() }
    }

    /// The sizes that count against [`Limits::bytes`]: keys and values of everything it carries.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let compares: usize = self.compares.iter().map(compare_bytes).sum();
        let ops: usize = self.then.iter().chain(&self.or_else).map(op_bytes).sum();
        compares + ops
    }
}

fn compare_bytes(compare: &Compare) -> usize {
    let value = if let Must::HaveValue(value) = &compare.must { value.len() } else { 0 };
    compare.key.len() + value + PER_ITEM_BYTES
}

fn op_bytes(op: &Op) -> usize {
    PER_ITEM_BYTES
        + match op {
            Op::Put { key, value, .. } => key.len() + value.len(),
            Op::Delete { key } | Op::Get { key } => key.len(),
            Op::DeletePrefix { prefix } => 2 * prefix.len(),
        }
}

/// The cost of one compare or operation on the wire besides its key and value; generous on purpose,
/// so that our own count is never below the store's.
const PER_ITEM_BYTES: usize = 32;

/// The outcome of a transaction that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TxnOutcome {
    /// True if all compares held, so that `then` was applied.
    pub succeeded: bool,
    /// The store's revision after it.
    pub revision: Revision,
    /// The records that the branch's [`Op::Get`]s read, in their order; `None` where the key is absent.
    pub reads: Vec<Option<Record>>,
}

/// The largest transaction that a store takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Operations in one branch, and compares, each.
    pub operations: usize,
    /// Bytes of a whole transaction, as [`Txn::bytes`] counts them.
    pub bytes: usize,
}

impl Limits {
    /// etcd's defaults (`--max-txn-ops` 128, `--max-request-bytes` 1.5 MiB).
    pub const ETCD: Self = Self { operations: 128, bytes: 3 * 512 * 1024 };
}

impl Default for Limits {
    fn default() -> Self {
        Self::ETCD
    }
}
