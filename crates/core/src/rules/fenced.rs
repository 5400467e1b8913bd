//! The rows of owners in `exclusive` that neither stop nor say that they are at work.
//!
//! In `routed` there are none: requests can't be held back for a time to live, and go on to the old owner instead.

use super::{Follow, Rule};
use crate::record::Phase;
use kafka_assigner_types::mode::Mode;

/// It said that it has dropped the unit, or its claims are over.
pub(super) const FENCE_OVER: Rule = Rule {
    name: "fence is over",
    phases: &[Phase::Draining],
    when: |f| f.handoff.is_fenced && f.old_claim.is_over() && !f.old_over() && f.new_can_take(),
    then: |_| Follow::Next,
};

/// A move is called off once before: the owner may hear again by the time when it is tried anew. One that says that it is busy
/// has heard, and works under a valid claim: it is asked again, and never fenced.
pub(super) const NEVER_STOPS: Rule = Rule {
    name: "never stops",
    phases: &[Phase::Draining],
    when: |f| {
        let is_second = f.overdue && f.called_off_before && !f.is_busy;
        let may_be = f.handoff.mode == Mode::Exclusive && !f.handoff.is_fenced && f.old_can_be_fenced;
        is_second && may_be && !f.old_over()
    },
    then: |_| Follow::FenceOldOwner,
};
