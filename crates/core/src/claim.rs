//! The times at which an owner may act, and at which another member may.
//!
//! ```text
//!  sent a confirmed heartbeat                 lease runs out
//!  │◄───────────── claim: 2/3 ─────────────►│◄── margin: 1/3 ──►│
//! ```
//!
//! The owner stops by its own clock at two thirds; the store's clock, which started later, ends the lease after
//! the whole. Two clocks may differ by a third of the time to live before both would think it is theirs.
//!
//! In the strict modes nobody acts in the place of an owner before its claim is over. That is known where its lease
//! is gone, or was last kept alive so long ago that only the margin is left of it: the claim counts from before that.
//! The leader asks the store for the remaining time ([`Leases`]) after it saw that the session is over. It asks again
//! for each decision and does not remember the time. The one exception: a lease that is known to be gone stays gone.
//! A session that was seen to be over is not renewed any more, so a claim that is over stays over.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_types::claim::span;

use crate::leader::Memory;
use crate::record::{Assignment, Owner};
use crate::state::GroupState;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::kv::LeaseId;
use kafka_assigner_types::moment::Moment;

/// The remaining time of a lease, as the store reported it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remaining {
    /// It does not exist any more.
    Gone,
    /// So much of its time to live; a store that answers in whole seconds is rounded up.
    Left(Duration),
}

/// The store's answers about the leases that a decision depends on, after the state was read on which it is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leases(BTreeMap<LeaseId, Remaining>);

impl FromIterator<(LeaseId, Remaining)> for Leases {
    fn from_iter<I: IntoIterator<Item = (LeaseId, Remaining)>>(leases: I) -> Self {
        Self(leases.into_iter().collect())
    }
}

impl Leases {
    /// The remaining time of `lease`; `None` where the store was not asked, or gave no answer.
    #[must_use]
    pub fn remaining(&self, lease: LeaseId) -> Option<Remaining> {
        self.0.get(&lease).copied()
    }

    /// The leases that are gone.
    pub fn gone(&self) -> impl Iterator<Item = LeaseId> {
        self.0.iter().filter(|(_, left)| **left == Remaining::Gone).map(|(lease, _)| *lease)
    }
}

/// The state of an owner's right to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimEnd {
    /// It may not, whatever it believes.
    Over,
    /// It may, for so long at most.
    Running(Duration),
    /// The store has to be asked first.
    Unasked,
}

impl ClaimEnd {
    /// True if another one may act.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Over)
    }
}

/// The leases to ask the store about before anything is decided about `partitions`: those of their owners whose
/// session is over, in the strict modes, each with its time to live. The state on which they were found has to be the
/// one on which is decided, or an older one.
#[must_use]
pub fn doubtful<'a>(
    state: &GroupState,
    partitions: impl IntoIterator<Item = &'a TopicPartition>,
) -> BTreeMap<LeaseId, Duration> {
    let owners = partitions.into_iter().filter_map(|at| ended_owner(state, at));
    owners.map(|owner| (owner.lease, ttl(owner))).collect()
}

/// The owner of `at` in a strict mode, where its session is over: it may still act.
pub(crate) fn ended_owner<'s>(state: &'s GroupState, at: &TopicPartition) -> Option<&'s Owner> {
    let assignment = state.assignment(at).filter(|assignment| assignment.mode.is_strict())?;
    let owner = assignment.owner.as_ref()?;
    state.presence(&owner.member()).is_over().then_some(owner)
}

/// The end of the claim of the owner that `assignment` names, whose session is over.
#[must_use]
pub fn end_of(
    assignment: &Assignment,
    wait_out_revocations: bool,
    leases: &Leases,
    memory: &Memory,
    now: Moment,
) -> ClaimEnd {
    let Some(owner) = assignment.owner.as_ref().filter(|_| assignment.mode.is_strict()) else {
        return ClaimEnd::Over;
    };
    let is_known_gone = || memory.lease_gone_since(owner.lease).map(|_| Remaining::Gone);
    // The rest that was read while the session was there says nothing: it may have been kept alive since.
    let is_late = |left: &Remaining| *left == Remaining::Gone || !memory.is_asked_early(owner.lease);
    match leases.remaining(owner.lease).filter(is_late).or_else(is_known_gone) {
        None => ClaimEnd::Unasked,
        Some(Remaining::Gone) => gone((assignment, owner), wait_out_revocations, memory, now),
        Some(Remaining::Left(left)) => after(left.saturating_sub(margin(owner)) + grace(assignment)),
    }
}

/// A lease that vanished may have been revoked from outside a moment after it was kept alive, and an owner that has not
/// confirmed a stricter mode may act by the grace of the one before.
fn gone(
    (assignment, owner): (&Assignment, &Owner),
    wait_out_revocations: bool,
    memory: &Memory,
    now: Moment,
) -> ClaimEnd {
    let revoked = if wait_out_revocations { span(ttl(owner)) } else { Duration::ZERO };
    let waits = revoked.max(grace(assignment));
    if waits.is_zero() {
        return ClaimEnd::Over;
    }
    let seen = memory.lease_gone_since(owner.lease).unwrap_or(now);
    after((seen + waits).since(now))
}

const fn grace(assignment: &Assignment) -> Duration {
    Duration::from_millis(assignment.outlived_grace_ms)
}

const fn after(left: Duration) -> ClaimEnd {
    if left.is_zero() { ClaimEnd::Over } else { ClaimEnd::Running(left) }
}

const fn ttl(owner: &Owner) -> Duration {
    Duration::from_millis(owner.ttl_ms)
}

const fn margin(owner: &Owner) -> Duration {
    margin_of(ttl(owner))
}

/// The rest of a lease with that time to live once the claims that hang on it are over.
pub(crate) const fn margin_of(ttl: Duration) -> Duration {
    ttl.saturating_sub(span(ttl))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reason::Reason;
    use kafka_assigner_types::id::{Epoch, Incarnation};
    use kafka_assigner_types::mode::Mode;
    use kafka_assigner_types::moment::WallMillis;

    fn owned(mode: Mode) -> Assignment {
        let owner = Owner {
            name: "a".parse().unwrap(),
            incarnation: Incarnation::new("1").unwrap(),
            lease: LeaseId(7),
            ttl_ms: 30_000,
            outage_grace_ms: 0,
            extra: crate::record::Extra::new(),
        };
        Assignment::unowned(mode).granted(owner, Epoch(1), mode, WallMillis(0), Reason::Unowned)
    }

    fn end(mode: Mode, said: &[Remaining]) -> ClaimEnd {
        let leases = said.iter().map(|left| (LeaseId(7), *left)).collect();
        end_of(&owned(mode), false, &leases, &Memory::default(), Moment(Duration::ZERO))
    }

    #[test]
    fn a_claim_is_over_once_only_the_margin_is_left_of_its_lease() {
        let left = |seconds| [Remaining::Left(Duration::from_secs(seconds))];
        assert_eq!(end(Mode::Exclusive, &left(11)), ClaimEnd::Running(Duration::from_secs(1)));
        assert_eq!(end(Mode::Exclusive, &left(10)), ClaimEnd::Over);
        assert_eq!(end(Mode::Exclusive, &[Remaining::Gone]), ClaimEnd::Over);
    }

    #[test]
    fn what_the_store_was_not_asked_is_not_over() {
        assert_eq!(end(Mode::Routed, &[]), ClaimEnd::Unasked);
        assert_eq!(end(Mode::Overlap, &[]), ClaimEnd::Over, "in overlap nobody waits");
    }

    #[test]
    fn a_vanished_lease_is_waited_out_where_revocations_are() {
        let gone: Leases = [(LeaseId(7), Remaining::Gone)].into_iter().collect();
        let (assignment, mut memory) = (owned(Mode::Exclusive), Memory::default());
        let at = |seconds| Moment(Duration::from_secs(seconds));
        memory.see_leases(&gone, at(100));
        memory.see_leases(&gone, at(110));
        let end = |seconds| end_of(&assignment, true, &gone, &memory, at(seconds));
        assert_eq!(end(110), ClaimEnd::Running(Duration::from_secs(10)));
        assert_eq!(end(120), ClaimEnd::Over);
    }
}
