//! The record that the owner of a partition passes over, as an operator has commanded.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use kafka_assigner_types::id::Offset;

/// Stands for no offset.
const NONE: i64 = -1;

/// The offset of that record, shared by the driver, which hears of it, and the contexts of all grants; cheap to clone, and
/// to be asked for each record.
#[derive(Debug, Clone)]
pub(crate) struct SkippedOffset(Arc<AtomicI64>);

impl Default for SkippedOffset {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(NONE)))
    }
}

impl SkippedOffset {
    /// The record that is passed over from now on; `None` = none is.
    pub(crate) fn set(&self, offset: Option<Offset>) {
        self.0.store(offset.map_or(NONE, Offset::get), Ordering::SeqCst);
    }

    /// The record that is passed over; `None` = none is.
    pub(crate) fn get(&self) -> Option<Offset> {
        Offset::new(self.0.load(Ordering::SeqCst)).ok()
    }
}
