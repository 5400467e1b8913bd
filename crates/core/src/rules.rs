//! The handoff protocol as a table: in which phase, when what holds, which step follows.
//!
//! ```text
//!  (plan) ─► Warming ──ready──► Ready ──────► Complete ──taken, released──► (deleted)
//!               │                 │               │
//!               ├── old owner gone: granted to the target, or to whoever the plan names
//!               │                 │               └── never taken: back to the old owner
//!               └─────────────────┴──► Cancelled ─► (deleted)
//! ```
//!
//! Each mode has its own rows over the same facts, so that a stronger mode is more rows and not another
//! machine. The first row that applies wins. What members say (ready, taken, released) is recorded by the
//! instance that hears it, see [`crate::ack`]; everything here is the leader's.

mod fenced;
mod row;
mod suspects;

use crate::claim::ClaimEnd;
use crate::reason::{CancelReason, FenceReason};
use crate::record::{Handoff, IntentKind, Phase};
use crate::state::Presence;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::name::MemberName;

use fenced::{FENCE_OVER, NEVER_STOPS};
pub use row::{Follow, Rule};
use suspects::{GIVEN_UP, HEARD_AGAIN, MAY_COME_BACK, NEW_SUSPECTED, OLD_SUSPECTED, OWNERS_DIE, WARM_AHEAD};

/// The part of a unit that still exists, its topics being deleted or re-created one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// Some of its partitions are gone, others are not.
    Part,
    /// Nothing.
    Gone,
}

/// The facts that the table looks at, worked out once for a unit.
#[derive(Debug)]
pub struct Facts<'a> {
    /// The handoff.
    pub handoff: &'a Handoff,
    /// True while somebody may act whom no record names, since the store was put back.
    pub restored: bool,
    /// The part of the unit that still exists.
    pub extent: Extent,
    /// True if the assignments name whom they must: the old owner until `Complete`, the new one from then on.
    pub assignments_agree: bool,
    /// The old owner's session.
    pub old: Presence,
    /// True if the old owner's process seems to be dead, while its session is here.
    pub old_suspected: bool,
    /// True if the old owner gives up what it has, to leave.
    pub old_drains: bool,
    /// True if the unit's owners die one after the other: the end of the old owner's session is waited for.
    pub owners_die: bool,
    /// True if the old owner may still come back, for whose end the new one only prepares.
    pub old_awaited: bool,
    /// The end of the old owner's claim, if its session is over, or it was fenced of the unit.
    pub old_claim: ClaimEnd,
    /// The routers that a freeze waits for.
    pub missing: Vec<MemberName>,
    /// True if the old owner's name is registered in another session that can take it back.
    pub old_returned: bool,
    /// The new owner's session.
    pub new: Presence,
    /// True if the new owner's process seems to be dead: it is given nothing.
    pub new_suspected: bool,
    /// True if the new owner may have the unit: active, subscribed to all of it, and two owners have not stopped before one
    /// of its records.
    pub new_may_have_it: bool,
    /// True if the old owner has still to say that no record of the unit is in the works there.
    pub rest_awaited: bool,
    /// True if the old owner can be fenced of the unit alone.
    pub old_can_be_fenced: bool,
    /// True if the member that the handoff waits for says that it is busy with a record of the unit.
    pub is_busy: bool,
    /// True if an earlier move of the unit was called off since its owner did not stop in time.
    pub called_off_before: bool,
    /// A request about this very handoff.
    pub intent: Option<&'a IntentKind>,
    /// True if the phase has outlived its deadline.
    pub overdue: bool,
    /// The deadline of the phase, for the record.
    pub deadline_ms: u64,
}

impl Facts<'_> {
    const fn old_over(&self) -> bool {
        self.old.is_over()
    }

    const fn new_over(&self) -> bool {
        self.new.is_over()
    }

    const fn new_can_take(&self) -> bool {
        matches!(self.new, Presence::Here) && self.new_may_have_it
    }

    /// True if the new owner can take it, and nothing speaks for its death.
    const fn new_can_gain(&self) -> bool {
        self.new_can_take() && !self.new_suspected
    }

    /// True if the new owner will not have it, whatever becomes of the old one.
    const fn new_is_out(&self) -> bool {
        self.new_over() || !self.new_may_have_it || self.new_suspected
    }

    /// True if the new owner says that it can't prepare, or nobody wants that it does, or it makes no progress.
    const fn new_gives_up(&self) -> bool {
        self.intent.is_some() || (self.overdue && matches!(self.handoff.phase, Phase::Warming))
    }

    /// True if the new owner prepares for the end of an owner that was heard again, and stays. What is prepared for one
    /// that leaves becomes a move with the next plan.
    fn prepares_for_nothing(&self) -> bool {
        let is_heard = matches!(self.old, Presence::Here) && !self.old_suspected;
        self.handoff.is_ahead() && is_heard && !self.old_drains
    }

    /// True if the old owner begins no records for this handoff, or is asked to.
    fn holds_records_back(&self) -> bool {
        self.handoff.asks_for_rest() && (self.rest_awaited || !self.handoff.old_said.is_empty())
    }

    /// True if somebody may act in the old owner's place.
    const fn old_done(&self) -> bool {
        self.old_over() && self.old_claim.is_over()
    }

    const fn taken(&self) -> bool {
        self.handoff.taken.is_some()
    }
}

const ANY: &[Phase] = &Phase::ALL;
const IN_FLIGHT: &[Phase] =
    &[Phase::Warming, Phase::Ready, Phase::Freezing, Phase::Draining, Phase::CatchingUp];
const STANDING: &[Phase] =
    &[Phase::Warming, Phase::Ready, Phase::Freezing, Phase::Draining, Phase::CatchingUp, Phase::Complete];
const BEFORE: &[Phase] = &[Phase::Warming, Phase::Ready];

/// The rows of `overlap`.
pub const OVERLAP: &[Rule] = &[
    Rule { name: "topic gone", phases: ANY, when: |f| f.extent == Extent::Gone, then: |_| Follow::Forget },
    // The rest of the unit has its owner; from Complete on it needs the handoff to change hands without a gap.
    Rule {
        name: "part of it gone",
        phases: BEFORE,
        when: |f| f.extent == Extent::Part,
        then: |_| Follow::Clear,
    },
    Rule { name: "over", phases: &[Phase::Cancelled], when: |_| true, then: |_| Follow::Clear },
    Rule {
        name: "assignment changed under it",
        phases: &[Phase::Warming, Phase::Ready, Phase::Complete],
        when: |f| !f.assignments_agree,
        then: |_| Follow::Clear,
    },
    // Before Complete the old owner is the owner.
    GIVEN_UP,
    OWNERS_DIE,
    MAY_COME_BACK,
    Rule {
        name: "old owner came back",
        phases: BEFORE,
        when: |f| f.old_over() && f.old_returned && f.new_can_gain(),
        then: |_| Follow::Adopt,
    },
    Rule {
        name: "old owner gone",
        phases: BEFORE,
        when: |f| f.old_over() && f.new_can_gain(),
        then: |_| Follow::GrantToTarget,
    },
    Rule {
        name: "both gone",
        phases: BEFORE,
        when: |f| f.old_over() && f.new_is_out(),
        then: |_| Follow::LeaveToPlan,
    },
    Rule {
        name: "new owner gone",
        phases: BEFORE,
        when: |f| f.new_over(),
        then: |_| Follow::Cancel(CancelReason::NewOwnerGone),
    },
    Rule {
        name: "new owner may not have it",
        phases: BEFORE,
        when: |f| f.new == Presence::Here && !f.new_may_have_it,
        then: |_| Follow::Cancel(CancelReason::NotEligible),
    },
    Rule {
        name: "unwanted",
        phases: BEFORE,
        when: |f| f.intent.is_some(),
        then: |f| Follow::Cancel(unwanted(f)),
    },
    HEARD_AGAIN,
    WARM_AHEAD,
    // Before "overdue": a leader that could not act for a while goes on where it stood.
    Rule { name: "warm", phases: &[Phase::Ready], when: |f| f.new_can_gain(), then: |_| Follow::Complete },
    Rule { name: "overdue", phases: BEFORE, when: |f| f.overdue, then: |f| Follow::Cancel(deadline(f)) },
    // From Complete on: the new owner is the owner, and nothing is cancelled.
    Rule {
        name: "died before it took",
        phases: &[Phase::Complete],
        when: |f| !f.taken() && f.new_over() && f.old == Presence::Here,
        then: |_| Follow::GiveBack { avoid: false },
    },
    Rule {
        name: "an orphan",
        phases: &[Phase::Complete],
        when: |f| f.new_over(),
        then: |_| Follow::LeaveToPlan,
    },
    Rule {
        name: "nobody left to release it",
        phases: &[Phase::Complete],
        when: |f| f.old_over(),
        then: |_| Follow::Clear,
    },
    Rule {
        name: "never taken",
        phases: &[Phase::Complete],
        when: |f| f.overdue && !f.taken() && f.old == Presence::Here,
        then: |_| Follow::GiveBack { avoid: true },
    },
    Rule {
        name: "never released",
        phases: &[Phase::Complete],
        when: |f| f.overdue && f.taken() && f.old == Presence::Here,
        then: |f| match f.old_can_be_fenced {
            true => Follow::FenceOldOwner,
            false => Follow::EndOldSession(FenceReason::NeverReleased),
        },
    },
];

/// The rows of `exclusive` and `routed`: nobody acts in an owner's place before its claim is over, and the old owner
/// stops before the new one begins.
pub const STRICT: &[Rule] = &[
    // The assignments stay until their owners' claims are over: the topic may come back before.
    Rule { name: "topic gone", phases: ANY, when: |f| f.extent == Extent::Gone, then: |_| Follow::Clear },
    Rule {
        name: "part of it gone",
        phases: BEFORE,
        when: |f| f.extent == Extent::Part,
        then: |_| Follow::Clear,
    },
    Rule { name: "over", phases: &[Phase::Cancelled], when: |_| true, then: |_| Follow::Clear },
    Rule {
        name: "assignment changed under it",
        phases: STANDING,
        when: |f| !f.assignments_agree,
        then: |_| Follow::Clear,
    },
    // The lost history may have gone on from here: another one may be the owner that it ended with.
    Rule {
        name: "claims of a lost history run",
        phases: IN_FLIGHT,
        when: |f| f.restored,
        then: |_| Follow::Wait,
    },
    GIVEN_UP,
    OWNERS_DIE,
    // Up to Complete the old owner is the owner, and where it is gone, its claim counts.
    Rule {
        name: "its claim runs",
        phases: &[Phase::Warming, Phase::Ready, Phase::Freezing, Phase::Draining],
        when: |f| f.old_over() && !f.old_claim.is_over(),
        then: |_| Follow::Wait,
    },
    Rule {
        name: "both gone",
        phases: IN_FLIGHT,
        when: |f| f.old_over() && (f.new_over() || !f.new_may_have_it),
        then: |_| Follow::LeaveToPlan,
    },
    MAY_COME_BACK,
    Rule {
        name: "old owner came back",
        phases: BEFORE,
        when: |f| f.old_done() && f.old_returned && f.new_can_gain(),
        then: |_| Follow::Adopt,
    },
    Rule {
        name: "old owner gone",
        phases: BEFORE,
        when: |f| f.old_done() && f.new_can_gain(),
        then: |_| Follow::GrantToTarget,
    },
    // Nothing is asked of a new session of the old owner: it has stopped.
    Rule {
        name: "nobody left to drain",
        phases: &[Phase::Freezing, Phase::Draining],
        when: |f| f.old_done() && f.new_can_take(),
        then: |_| Follow::Next,
    },
    Rule {
        name: "new owner gone",
        phases: IN_FLIGHT,
        when: |f| f.new_over(),
        then: |_| Follow::Cancel(CancelReason::NewOwnerGone),
    },
    Rule {
        name: "new owner may not have it",
        phases: IN_FLIGHT,
        when: |f| f.new == Presence::Here && !f.new_may_have_it,
        then: |_| Follow::Cancel(CancelReason::NotEligible),
    },
    Rule {
        name: "unwanted",
        phases: IN_FLIGHT,
        when: |f| f.intent.is_some() && !f.old_over(),
        then: |f| Follow::Cancel(unwanted(f)),
    },
    HEARD_AGAIN,
    WARM_AHEAD,
    OLD_SUSPECTED,
    NEW_SUSPECTED,
    // Or requests would be held back for as long as that record takes.
    Rule {
        name: "a record is in the works",
        phases: &[Phase::Ready],
        when: |f| f.rest_awaited && !f.old_over(),
        then: |f| if f.overdue { Follow::Cancel(deadline(f)) } else { Follow::Wait },
    },
    Rule {
        name: "warm",
        phases: &[Phase::Ready],
        when: |f| f.new_can_gain(),
        then: |f| if f.handoff.mode == Mode::Routed { Follow::Freeze } else { Follow::Drain },
    },
    Rule {
        name: "frozen",
        phases: &[Phase::Freezing],
        when: |f| f.missing.is_empty() && f.new_can_take(),
        then: |_| Follow::Drain,
    },
    // The instance that heard it could not write what follows.
    Rule {
        name: "drained",
        phases: &[Phase::Draining],
        when: |f| f.handoff.old_has_said_all() && f.new_can_take(),
        then: |_| Follow::Next,
    },
    FENCE_OVER,
    NEVER_STOPS,
    Rule {
        name: "overdue",
        phases: IN_FLIGHT,
        when: |f| f.overdue && !f.old_over(),
        then: |f| Follow::Cancel(deadline(f)),
    },
    // Nobody can be granted it again who was the owner: the plan finds somebody.
    Rule {
        name: "stuck without an old owner",
        phases: &[Phase::CatchingUp],
        when: |f| (f.overdue || f.intent.is_some()) && f.old_over(),
        then: |_| Follow::Release,
    },
    // From Complete on the new owner is the owner, and nothing is cancelled.
    Rule {
        name: "an orphan",
        phases: &[Phase::Complete],
        when: |f| f.new_over(),
        then: |_| Follow::LeaveToPlan,
    },
    Rule {
        name: "nobody left to release it",
        phases: &[Phase::Complete],
        when: |f| f.old_over() || f.overdue,
        then: |_| Follow::Clear,
    },
];

fn unwanted(facts: &Facts<'_>) -> CancelReason {
    match facts.intent {
        Some(IntentKind::Failed { reason }) => CancelReason::WarmFailed { reason: reason.clone() },
        Some(IntentKind::Abort { reason }) => CancelReason::Aborted { reason: reason.clone() },
        None => deadline(facts),
    }
}

fn deadline(facts: &Facts<'_>) -> CancelReason {
    CancelReason::Deadline {
        phase: facts.handoff.phase,
        after_ms: facts.deadline_ms,
        missing: facts.missing.clone(),
    }
}

/// The rows of a mode.
#[must_use]
pub const fn of_mode(mode: Mode) -> &'static [Rule] {
    match mode {
        Mode::Overlap => OVERLAP,
        Mode::Exclusive | Mode::Routed => STRICT,
    }
}

/// The first row that applies.
#[must_use]
pub fn first<'r>(rules: &'r [Rule], facts: &Facts<'_>) -> Option<&'r Rule> {
    rules.iter().find(|rule| rule.phases.contains(&facts.handoff.phase) && (rule.when)(facts))
}
