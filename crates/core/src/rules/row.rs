//! One row of a table, and the step that it asks for: [`Rule`] and [`Follow`].

use super::Facts;
use crate::reason::{CancelReason, FenceReason};
use crate::record::Phase;

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Follow {
    /// The unit's records go: its topic is gone.
    Forget,
    /// The handoff goes, the assignments stay as they are.
    Clear,
    /// The old owner's new session takes the place of the old one.
    Adopt,
    /// The new owner gets the unit at once.
    GrantToTarget,
    /// Nothing for now: the old owner may still act.
    Wait,
    /// Routers hold requests back.
    Freeze,
    /// The old owner stops.
    Drain,
    /// The new owner catches up, or is the owner where it need not.
    Next,
    /// Both are gone: the plan finds somebody, and clears the handoff with the grant.
    LeaveToPlan,
    /// The handoff goes and nobody owns the unit: the plan finds somebody.
    Release,
    /// The attempt ends without a move.
    Cancel(CancelReason),
    /// The assignments name the new owner from now on.
    Complete,
    /// The old owner, which still works, stays the owner; with the failure noted or not.
    GiveBack {
        /// True if the new owner is passed over for a while.
        avoid: bool,
    },
    /// The old owner's session is ended.
    EndOldSession(FenceReason),
    /// The old owner's grants of the unit are fenced in its registration; it keeps its session, and everything else.
    FenceOldOwner,
}

/// One row of the table.
#[derive(Clone, Copy)]
pub struct Rule {
    /// The name of the row, in traces and tests.
    pub name: &'static str,
    /// The phases in which it applies.
    pub phases: &'static [Phase],
    /// The condition under which it applies.
    pub when: fn(&Facts<'_>) -> bool,
    /// The next step in that case.
    pub then: fn(&Facts<'_>) -> Follow,
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} in {:?}", self.name, self.phases)
    }
}
