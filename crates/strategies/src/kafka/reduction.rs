//! A problem as Kafka's rules can take it: [`place`].

mod round;
mod settled;

use super::{Group, GroupAssignment};
use crate::placement::Surplus;
use crate::{Placement, Problem};
use round::Round;
use settled::SettledUnits;

/// The treatment of units that a member has already: they count or do not count when a rule gives out the rest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Counting {
    Counted,
    Ignored,
}

/// Places with a rule of Kafka's what it can decide.
///
/// Kafka knows neither handoffs, holds, drains, bans nor limits. What is fixed, or kept by a member
/// on hold, is settled before the rule comes to it, and counts if `counting` says so: as a topic
/// to which no other member subscribes. A unit with bans is a topic of its own, to which those subscribe
/// that may own it. Members that drain are not in the group. A member that would get more than its
/// limit keeps as much as that allows, what it owns today first, and leaves; then the rule is asked
/// again for the rest, as often as limits are exceeded. What no member takes stays with its owner.
pub(super) fn place(problem: &Problem, counting: Counting, rule: fn(&Group) -> GroupAssignment) -> Placement {
    let mut settled = SettledUnits::of(problem);
    loop {
        let shares = Round::of(problem, &settled, counting).ask(problem, rule);
        if !settled.close_above_limits(problem, &shares) {
            settled.accept(&shares);
            break;
        }
    }
    settled.leave_rest_with_owners(problem);
    Placement::new(problem, settled.owner, Surplus::Count)
}
