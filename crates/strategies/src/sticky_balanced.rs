//! The strategy `sticky-balanced`: keep what is there, even out the rest.

mod level;
mod share;

use crate::ledger::Ledger;
use crate::placement::{Placement, Surplus};
use crate::problem::Problem;
use crate::strategy::{Manner, Strategy};

/// Five steps: preserve, collect, target, strip, fill. The totals over all topics are balanced,
/// not each topic by itself. (Seed: Kafka Assigner architecture, "Sticky balanced assignment".)
///
/// 1. **Preserve**: each unit stays with its owner if that may own it.
/// 2. **Collect** the units without an owner, and those of draining members.
/// 3. **Target**: N units over M active members make N/M each, and one more for N mod M of them:
///    for those that hold most today, so that nothing moves needlessly, then by id. What is fixed
///    to a member is the least it gets, and its limit the most; the others share the difference.
/// 4. **Strip** a member that is above its target of its highest units.
/// 5. **Fill** the members up to their targets by id with the collected units in order. The seed's
///    text says "emptiest first" while its worked example fills one consumer after the other; the
///    two agree in every number, and where they differ in which unit goes where, the example is
///    followed. So a fresh placement gives each member contiguous units.
///
/// A unit that finds no room goes back to its owner if it has one, though that is draining or
/// over its limit: nothing is taken from a live member only to have no owner.
///
/// **When active members' subscriptions differ, or there are bans**, one target for all does not
/// exist. Then units without an owner go to the emptiest member that may own them, topics with the
/// fewest takers first; then draining members and those over their limit give what others can take;
/// then a unit moves from a fuller to an emptier member while that brings two members closer.
/// It ends when no single move helps. That is its bound: for every unit, no member that may own it
/// and has room is two or more below the unit's owner. A better balance that takes a chain of
/// moves, each useless alone, is not looked for.
///
/// A second run on its own result moves nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct StickyBalanced;

impl Strategy for StickyBalanced {
    fn name(&self) -> &'static str {
        "sticky-balanced"
    }

    fn summary(&self) -> &'static str {
        "keeps partitions where they are and moves the fewest that even out the members' totals"
    }

    fn manner(&self) -> Manner {
        Manner::Partitions
    }

    fn assign(&self, problem: &Problem) -> Placement {
        let mut ledger = Ledger::preserve(problem);
        if is_uniform(problem) {
            share::share(&mut ledger);
        } else {
            level::settle(&mut ledger);
        }
        Placement::new(problem, ledger.into_owners(), Surplus::Count)
    }
}

/// True if all active members may own the same units, so that each can have the same target.
fn is_uniform(problem: &Problem) -> bool {
    let mut subscriptions = problem.active().map(|member| &problem.member(member).subscription);
    let first = subscriptions.next();
    !problem.is_ever_banned() && subscriptions.all(|other| Some(other) == first)
}

#[cfg(test)]
#[path = "sticky_balanced_test.rs"]
mod tests;
