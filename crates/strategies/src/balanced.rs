//! The strategy `balanced`: the best balance, and of all placements with it the one with the fewest moves.

mod alike;
mod budget;
mod cheapen;
mod classes;
mod cost;
mod deal;
mod equal;
mod fill;
mod holdings;
mod level;
mod network;
mod release;
mod roles;
mod spread_topics;
mod standbys;
mod topic_counts;
mod turns;
mod weighted;

use crate::placement::Surplus;
use crate::strategy::Manner;
use crate::{Place, Placement, Problem, Strategy};
use classes::Classes;
use roles::Roles;

/// One objective; the first of its terms in which two placements differ decides:
///
/// 1. **Constraints.** No member owns what it must not. As few units as possible have no owner, then as few
///    as possible are at draining members, then above limits.
/// 2. **Balance**: the least sum of squared loads over capacities. That is also the fairest: no member's load could be
///    lowered without raising that of one that has as much or more.
/// 3. **Moves**: the fewest units leave an owner that could have kept them.
/// 4. **Standbys** that are warm, then those least behind, take what moves.
/// 5. **Racks**: what moves goes to members in a rack with a replica, and comes from others.
/// 6. **Standbys to be** are spread evenly, over the units of every owner, and over racks.
///
/// # Without weights
///
/// The first three terms are exact: no placement is better, but for two cases:
///
/// - Several members have more than their limits today. While a member has, it takes nothing; which of them are
///   relieved first is not searched for. No placement in which they take nothing is better.
/// - The least common multiple of all capacities is more than 2⁴⁰ times the smallest of them, in thousandths. Then each
///   capacity counts as slightly larger than it is: by less than the part `r ÷ (2⁴⁰ - r)`, if it is `r` times the
///   smallest. So the sum of squares is that close to the least, a part of 10⁻⁹ at most if no capacity is more than a
///   thousand times another.
///
/// Units that the same members can take count as one class, members that take the same units as one kind, and the
/// cheapest flow from classes to members is found: a first flow fills up the emptiest, then units are shifted along any
/// way from a fuller to an emptier member, then along any cycle that needs fewer moves. The last search proves that
/// there is none left. It stops after 50 million steps, which only problems made to be hard come near; then moves may
/// be more than the fewest, and balance is exact still.
///
/// Of numbers of units by topic and member that are as good, those are taken that spread each topic most evenly;
/// [`TopicSpread`](crate::TopicSpread) says whether moves may be spent on that. This search is bounded too: of large
/// groups with many topics it may find less.
///
/// The units that make up the numbers are chosen after that, for terms four and five. This is a choice in order, not a
/// search: it may miss a pairing that serves more standbys or racks.
///
/// # With weights
///
/// Members that can take the same units form a **component**, with all that hang together by such pairs; no unit passes
/// from one component to another. A component's mean is that of what can be evened out: a unit that is more than a
/// member's share counts with a member of its own. Members within the tolerance of that mean count as balanced
/// ([`Options::tolerance`](crate::Options), in parts of the mean), and those within the tolerance of the level to which
/// their heaviest unit alone brings them.
///
/// Units without an owner go to the emptiest, the heaviest first. While a member is out of tolerance, a unit moves, or
/// two are swapped, if that lowers the higher of two levels by a quarter of the tolerance at least; units too light for
/// that move if several together do that. A member above tolerance looks at the 32 lightest of its component that can
/// trade with it, one below at the 32 heaviest. So the bound is, for each of these pairs:
///
/// - No unit of the heavier can move to the lighter, or be swapped for one of it, such that the higher of the two
///   levels falls by more than a quarter of the tolerance.
/// - If to be level with each other would lower the heavier by half of the tolerance, the units that could move and are
///   no heavier than that takes weigh, together, at most a quarter of the tolerance, if limits leave the lighter one
///   room for all of them.
///
/// Where subscriptions overlap only in part, the mean may be out of every member's reach; the bound holds all the same.
/// The search stops after a hundred million looks at units, which only problems made to be hard come near; then trades
/// that would help may be left, and a later run goes on with them.
///
/// # Who takes part
///
/// - Members **on hold** keep what they have, copies too, and take nothing; **draining** ones give both. What is
///   **cooling** stays with an active owner.
/// - While members of several **generations** are active, all keep what they have, and those of the newest take
///   units without an owner; if there are no weights, each up to its share among all that are active. Older ones take
///   only the rest. So a rolling deployment moves each partition once.
/// - A **movement budget** takes back the moves for balance that help least.
///
/// A second run on its own result moves nothing, unless a budget or the end of a search left something to do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Balanced;

impl Strategy for Balanced {
    fn name(&self) -> &'static str {
        "balanced"
    }

    fn summary(&self) -> &'static str {
        "the best balance there is with the fewest moves; heeds weights, capacities, racks and standbys"
    }

    fn manner(&self) -> Manner {
        Manner::Loads
    }

    fn assign(&self, problem: &Problem) -> Placement {
        let roles = Roles::of(problem);
        let classes = Classes::of(problem, &roles, Place::Owner);
        let (mut owner, surplus) = if problem.has_weights() {
            weighted::place(problem, &roles, &classes)
        } else {
            (equal::place(problem, &roles, &classes), Surplus::Count)
        };
        budget::restrict(problem, &roles, &mut owner);
        spread_topics::spread(problem, &roles, &mut owner);
        let standbys = standbys::place(problem, &roles, &classes, &owner);
        Placement { standbys, ..Placement::new(problem, owner, surplus) }
    }
}
