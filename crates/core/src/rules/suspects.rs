//! The rows of suspects. Most of them stand in the tables of all modes.

use super::{BEFORE, Follow, Rule, unwanted};
use crate::reason::CancelReason;
use crate::record::Phase;

/// A failure, an abort and a deadline end a warm-up also while the end of a session is waited for, which may take long.
pub(super) const GIVEN_UP: Rule = Rule {
    name: "given up while it waits",
    phases: BEFORE,
    when: |f| (f.owners_die || f.old_awaited) && f.new_gives_up(),
    then: |f| Follow::Cancel(unwanted(f)),
};

/// A record that kills its owners must not do so faster than by the ends of their sessions.
pub(super) const OWNERS_DIE: Rule = Rule {
    name: "its owners die",
    phases: BEFORE,
    when: |f| f.owners_die && !f.new_is_out(),
    then: |_| Follow::Wait,
};

pub(super) const MAY_COME_BACK: Rule = Rule {
    name: "its owner may come back",
    phases: BEFORE,
    when: |f| f.old_awaited && !f.new_is_out(),
    then: |_| Follow::Wait,
};

pub(super) const HEARD_AGAIN: Rule = Rule {
    name: "old owner heard again",
    phases: BEFORE,
    when: |f| f.prepares_for_nothing(),
    then: |_| Follow::Cancel(CancelReason::OwnerHeard),
};

pub(super) const WARM_AHEAD: Rule = Rule {
    name: "warm ahead",
    phases: &[Phase::Ready],
    when: |f| f.handoff.is_ahead(),
    then: |_| Follow::Wait,
};

/// A process that seems to be dead is not asked to stop: it would not answer, and nobody acts until it has. Its next
/// heartbeat is waited for, or the end of its session.
pub(super) const OLD_SUSPECTED: Rule = Rule {
    name: "old owner suspected",
    phases: &[Phase::Ready],
    when: |f| f.old_suspected,
    then: |_| Follow::Wait,
};

/// Or an owner that works would begin no record until it is known what became of the new one.
pub(super) const NEW_SUSPECTED: Rule = Rule {
    name: "new owner suspected",
    phases: &[Phase::Ready],
    when: |f| f.new_suspected && f.holds_records_back() && !f.old_over(),
    then: |_| Follow::Cancel(CancelReason::NewOwnerGone),
};
