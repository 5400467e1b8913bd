//! The core's state as something that a view can keep.

use std::sync::Arc;

use kafka_assigner_core::state::{GroupState, Scope, Touched};
use kafka_assigner_store::view::Materialized;
use kafka_assigner_types::kv::{Change, Revision};
use kafka_assigner_types::name::MemberName;

use super::hub::Hub;

/// A group's state, kept by a view. Whoever reads it finds every stream rung for all that led there.
#[derive(Debug)]
pub struct GroupView {
    state: GroupState,
    hub: Arc<Hub>,
    routers: Arc<Hub>,
}

impl GroupView {
    pub(super) const fn new(state: GroupState, hub: Arc<Hub>, routers: Arc<Hub>) -> Self {
        Self { state, hub, routers }
    }

    /// The state.
    #[must_use]
    pub const fn state(&self) -> &GroupState {
        &self.state
    }

    fn is_suspected(&self, name: &MemberName) -> bool {
        self.state.registration(name).is_some_and(|registered| registered.suspected.is_some())
    }
}

impl Materialized for GroupView {
    type Touched = Touched;

    fn apply(&mut self, changes: &[Change], revision: Revision) -> Touched {
        let touched = self.state.apply(changes, revision);
        touched.members.iter().for_each(|(name, scope)| self.hub.ring(name, scope));
        // Their streams may know better.
        let suspected = touched.progress.iter().filter(|name| self.is_suspected(name));
        suspected.for_each(|name| self.hub.ring(name, &Scope::default()));
        if touched.topics {
            // Partitions that nobody was granted so far come and go with their topic alone.
            self.routers.ring_all(&Scope::Everything);
        } else if touched.routers || touched.routes != Scope::default() {
            self.routers.ring_all(&touched.routes);
        }
        touched
    }
}
