//! The rules that a transaction must satisfy before any of it is carried out.

use std::collections::BTreeSet;

use bytes::Bytes;
use kafka_assigner_types::kv::{Limits, Op, Txn};

use crate::error::Error;

/// Refuses a transaction that etcd would refuse by its shape alone.
pub(crate) fn shape(txn: &Txn, limits: Limits) -> Result<(), Error> {
    within("compares", txn.compares.len(), limits.operations)?;
    within("operations", txn.then.len(), limits.operations)?;
    within("operations", txn.or_else.len(), limits.operations)?;
    within("bytes", txn.bytes(), limits.bytes)?;
    if txn.compares.iter().any(|compare| compare.key.is_empty()) {
        return Err(Error::Invalid("a compare has an empty key".into()));
    }
    branch(&txn.then)?;
    branch(&txn.or_else)
}

const fn within(what: &'static str, size: usize, limit: usize) -> Result<(), Error> {
    if size > limit {
        return Err(Error::TooLarge { what, size, limit });
    }
    Ok(())
}

/// A branch writes no key twice, and doesn't delete what it writes; overlapping deletions are harmless.
fn branch(ops: &[Op]) -> Result<(), Error> {
    if ops.iter().any(|op| target(op).is_empty()) {
        return Err(Error::Invalid("an operation has an empty key or prefix".into()));
    }
    let mut written = BTreeSet::new();
    for op in ops {
        if let Op::Put { key, .. } = op
            && !written.insert(&key[..])
        {
            return Err(twice(key));
        }
    }
    ops.iter().try_for_each(|op| not_deleted(&written, op))
}

fn not_deleted(written: &BTreeSet<&[u8]>, op: &Op) -> Result<(), Error> {
    let hit = match op {
        Op::Delete { key } => written.get(&key[..]).copied(),
        Op::DeletePrefix { prefix } => {
            written.range(&prefix[..]..).next().copied().filter(|key| key.starts_with(prefix))
        }
        Op::Put { .. } | Op::Get { .. } => None,
    };
    hit.map_or(Ok(()), |key| Err(twice(key)))
}

const fn target(op: &Op) -> &Bytes {
    match op {
        Op::Put { key, .. } | Op::Delete { key } | Op::Get { key } => key,
        Op::DeletePrefix { prefix } => prefix,
    }
}

fn twice(key: &[u8]) -> Error {
    Error::Invalid(format!("a branch changes the key {} twice", key.escape_ascii()))
}
