//! `sticky`: even, and then as little change as possible.

use super::claims::Claims;
use super::reduction::{Counting, place};
use super::{Assignment, Group, equal, mixed};
use crate::{Placement, Problem, Strategy};

/// Kafka's `StickyAssignor`: members end up as even as subscriptions allow and keep what they own
/// as far as that goes. Claims of older generations give way to newer ones, and where two of one
/// generation claim a partition neither has it.
///
/// A group whose members all subscribe to the same topics comes out within one of even, with the
/// fewest moves. If they do not, no single move makes it more even.
pub fn sticky(group: &Group) -> Assignment {
    settle(group, &Claims::of(group))
}

pub(super) fn settle(group: &Group, claims: &Claims) -> Assignment {
    let by_rack = group.racks_matter();
    match group.all_subscribe_alike() {
        true => equal::assign(group, claims, by_rack),
        false => mixed::assign(group, claims, by_rack),
    }
}

/// [`sticky`] as a strategy; how it treats what Kafka does not know, [the module](super) says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sticky;

impl Strategy for Sticky {
    fn name(&self) -> &'static str {
        "sticky"
    }

    fn summary(&self) -> &'static str {
        "Kafka's sticky rule: even, then as few moves as that takes"
    }

    fn assign(&self, problem: &Problem) -> Placement {
        place(problem, Counting::Counted, sticky)
    }
}
