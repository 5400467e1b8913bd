//! The sign that the store was put back: a read that shows less than was there before it began.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set once, and for good, for a history of the store and all of its groups: they are served anew with the next one.
#[derive(Debug, Default)]
pub(crate) struct FallenStore(AtomicBool);

impl FallenStore {
    /// Notes it; true where nobody had.
    pub(crate) fn note(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn is_noted(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
