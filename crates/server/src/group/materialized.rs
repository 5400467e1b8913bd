//! The core's state as something that a view can keep.

use kafka_assigner_core::key::Layout;
use kafka_assigner_core::kv::{Change, Revision};
use kafka_assigner_core::state::{GroupState, Touched};
use kafka_assigner_store::view::Materialized;

/// A group's state, kept by a view.
#[derive(Debug)]
pub struct GroupView(GroupState);

impl GroupView {
    pub(crate) fn new(layout: Layout) -> Self {
        Self(GroupState::new(layout))
    }

    /// The state.
    #[must_use]
    pub const fn state(&self) -> &GroupState {
        &self.0
    }
}

impl Materialized for GroupView {
    type Touched = Touched;

    fn apply(&mut self, changes: &[Change], revision: Revision) -> Touched {
        self.0.apply(changes, revision)
    }
}
