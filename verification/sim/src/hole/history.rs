//! Bends the record that begins another history of the store.

use std::sync::LazyLock;

use bytes::Bytes;
use kafka_assigner_core::key::{ClusterLayout, DEFAULT_PREFIX};
use kafka_assigner_core::record::{ClusterRecord, decode, encode};
use kafka_assigner_types::kv::{Must, Op, Txn};

/// The key of the store's identity.
pub(crate) static IDENTITY: LazyLock<Bytes> = LazyLock::new(|| ClusterLayout::new(DEFAULT_PREFIX).cluster());

/// True if `txn` replaces the store's identity by another one.
pub(super) fn begins(txn: &Txn) -> bool {
    let knows = |must: &Must| matches!(must, Must::HaveModRevision(_));
    let is_guarded = txn.compares.iter().any(|compare| compare.key == *IDENTITY && knows(&compare.must));
    is_guarded && identity(txn).is_some()
}

/// Lets the epochs of the next history begin where those of the first one did.
pub(super) fn keep_epochs(txn: &mut Txn) {
    for op in &mut txn.then {
        if let Op::Put { key, value, .. } = op
            && *key == *IDENTITY
            && let Ok(identity) = decode::<ClusterRecord>(value)
        {
            *value = encode(&ClusterRecord { epoch_offset: 0, ..identity });
        }
    }
}

fn identity(txn: &Txn) -> Option<ClusterRecord> {
    txn.then.iter().find_map(|op| match op {
        Op::Put { key, value, .. } if *key == *IDENTITY => decode(value).ok(),
        _ => None,
    })
}
