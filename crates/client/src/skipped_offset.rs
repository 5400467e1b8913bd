//! The record that the owner of a partition passes over, as an operator has commanded.

use std::sync::{Arc, Mutex, PoisonError};

use kafka_assigner_types::id::Offset;

/// The offset of that record, shared by the driver, which hears of it, and the contexts of all grants; cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct SkippedOffset(Arc<Mutex<Option<Offset>>>);

impl SkippedOffset {
    /// The record that is passed over from now on; `None` = none is.
    pub(crate) fn set(&self, offset: Option<Offset>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = offset;
    }

    /// The record that is passed over; `None` = none is.
    pub(crate) fn get(&self) -> Option<Offset> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
