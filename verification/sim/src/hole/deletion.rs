//! Bends the transaction that deletes a group.

use kafka_assigner_core::key::Layout;
use kafka_assigner_types::kv::{Op, Txn};

/// Leaves no word of the claims that the group had.
pub(super) fn forget_claims(layout: &Layout, txn: &mut Txn) {
    if deletes(layout, txn) {
        let gone = layout.gone();
        txn.then.retain(|op| !matches!(op, Op::Put { key, .. } if *key == gone));
    }
}

fn deletes(layout: &Layout, txn: &Txn) -> bool {
    let group = layout.prefix();
    txn.then.iter().any(|op| matches!(op, Op::DeletePrefix { prefix } if *prefix == group))
}
