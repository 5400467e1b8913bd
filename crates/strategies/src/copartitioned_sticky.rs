//! The strategy `copartitioned-sticky`: equal partition numbers on one member, with standbys.

mod backups;
mod chain;
mod copartitioned_set;
mod copies;
mod owners;
mod rings;
mod seat;
mod slots;
mod standbys;
mod strays;

use crate::ledger::Ledger;
use crate::placement::Surplus;
use crate::{MemberIndex, Placement, Problem, Strategy, UnitIndex};
use copartitioned_set::CopartitionedSet;

/// Puts equal partition numbers of topics that belong together on one member, and keeps standbys
/// that take over from it. (Seed: Faust's partition assignor, its known faults mended.)
///
/// Topics with equal partition counts and the same subscribers make a **set**; partition `n` of all
/// of them is one **slot**, and goes to one member.
///
/// 1. **Keep.** A slot stays with its owner. One that is spread over several members gathers at the
///    one that has most of it, if that may have all of it and has room.
/// 2. **Share.** In each set every active member gets its share of the slots in proportion to its
///    [capacity](crate::ProblemMember::capacity), rounded down or up. Who has more keeps what rounding
///    leaves open; otherwise it goes to who has least over all sets. Limits turn slots away to the
///    members that are furthest below their shares.
/// 3. **Promote.** A slot whose owner left or must give it goes to the member whose copy is least
///    behind, of those that are to take slots. Then members above their share give: first slots
///    that a member below its share has a copy of, such as one that comes back; then their highest.
///    What is left is dealt in turn.
/// 4. **Exchange.** If a slot without a live owner went to a member without a copy, while another
///    has a copy within [`acceptable_lag`](crate::Options::acceptable_lag), the two exchange: that
///    one gives a slot of its own for it. So work goes on at once and stays even, for one more move.
/// 5. **Stand by.** Each topic has as many standbys as it [wants](crate::ProblemTopic::standbys), or as
///    there are members beside the owner. They are shared out like slots, in proportion to capacity,
///    and stay where they are; who gives a slot keeps its copy if one is wanting. A new one goes to
///    a rack in which the slot is not yet, if there is one to take it, and an owner's slots go to
///    different members, so that its work spreads over many when it is lost. A standby is never with
///    its owner. Draining members and those with a limit of zero hold none.
///
/// **When a slot cannot be whole**: a unit that is fixed, or with a member on hold, or that moved
/// lately, stays, and the others of its slot go to that member where they may; the rest stay. A slot
/// that no member may have all of, as units are banned or pinned, or for which no member has room, is
/// placed unit by unit: with the member that has most of it, or with a copy, or the emptiest. So are
/// its units that an owner above its limit has. Other slots are not split. A slot in several hands
/// has no standby at any of them.
///
/// It counts units and slots; weights and replica racks play no part. A second run on its own result
/// moves nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct CopartitionedSticky;

impl Strategy for CopartitionedSticky {
    fn name(&self) -> &'static str {
        "copartitioned-sticky"
    }

    fn summary(&self) -> &'static str {
        "matching topics of equal counts as one set, even if members stay empty; standbys take over first"
    }

    fn assign(&self, problem: &Problem) -> Placement {
        let sets = CopartitionedSet::all(problem);
        let mut ledger = Ledger::preserve(problem);
        while sets.iter().filter(|set| owners::settle(set, &mut ledger)).count() > 0 {}
        let standbys = standbys::place(&sets, &ledger);
        let owner = ledger.into_owners();
        let surplus = Surplus::Spread(spread(problem, &sets, &owner));
        Placement { standbys, ..Placement::new(problem, owner, surplus) }
    }
}

/// The units that leave their owners and whose slots were with several; ascending.
fn spread(problem: &Problem, sets: &[CopartitionedSet], owner: &[Option<MemberIndex>]) -> Vec<UnitIndex> {
    let mut set_of = vec![None; problem.topics().len()];
    for set in sets {
        set.topics().for_each(|topic| set_of[topic.index()] = Some(set));
    }
    let leaves = |unit: &UnitIndex| {
        let today = problem.current(*unit);
        today.is_some() && today != owner[unit.index()]
    };
    let is_spread = |unit: &UnitIndex| {
        let (topic, slot) = problem.topic_of(*unit);
        set_of[topic.index()].is_some_and(|set| set.is_spread(problem, slot))
    };
    problem.unit_indices().filter(leaves).filter(is_spread).collect()
}

#[cfg(test)]
#[path = "copartitioned_sticky_test.rs"]
mod tests;
