//! `cooperative-sticky`: `sticky`, in two steps.

use super::claims::Claims;
use super::reduction::{Counting, place};
use super::sticky::{settle_claims, steady};
use super::{Group, GroupAssignment};
use crate::{Placement, Problem, Strategy};

/// Kafka's `CooperativeStickyAssignor`: [`sticky`](super::sticky()), except that what some member claims to own and
/// another is to have is given to no member ([`GroupAssignment::withheld`]). Its owner lets go of it, which
/// makes the group rebalance again, and only then does the other get it.
pub fn cooperative_sticky(group: &Group) -> GroupAssignment {
    let claims = Claims::of(group);
    let mut assignment = settle_claims(group, &claims, group.racks_matter());
    let is_alike = group.all_subscribe_alike();
    assignment.withhold(|unit, member| {
        let owner = if is_alike { claims.uncontested(unit) } else { claims.owner(unit) };
        claims.is_claimed(unit) && owner != Some(member)
    });
    assignment
}

/// [`cooperative_sticky`] as a strategy. It places like [`Sticky`](super::Sticky): what it would
/// withhold until its owner lets go, the service moves by a handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CooperativeSticky;

impl Strategy for CooperativeSticky {
    fn name(&self) -> &'static str {
        "cooperative-sticky"
    }

    fn summary(&self) -> &'static str {
        "Places like sticky; that owners let go first is what handoffs are for"
    }

    fn assign(&self, problem: &Problem) -> Placement {
        place(problem, Counting::Counted, steady)
    }
}
