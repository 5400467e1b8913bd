//! Topics that lie as evenly over members as balance and moves allow: [`spread`].
//!
//! ```text
//!          takes one              has one more
//!  topic ───────────► member ────────────────────► ground
//!        ◄───────────        ◄────────────────────
//!          gives one              has one less
//! ```
//!
//! A placement is a number of units for each topic and member. All terms are convex in these numbers, so a placement
//! that no cycle along these arcs makes better is a best one.

mod alike;
mod grid;
mod search;

use super::budget;
use super::roles::{MemberRole, Roles};
use crate::{MemberIndex, Problem, TopicIndex, TopicSpread};
use alike::AlikeUnits;
use grid::Grid;
use search::Search;

/// The number of arcs that may be looked at where no move may be spent, beside [`LOOKS_PER_UNIT`]: enough for an end of
/// the search in groups of a few thousand pairs of a topic and a member, in 0.2 ms.
const LOOKS: usize = 30_000;

/// As many more for each unit: about a tenth of the time that a placement of the unit takes in all.
const LOOKS_PER_UNIT: usize = 2;

/// The most looks where no move may be spent: some milliseconds.
const MOST_LOOKS: usize = 1_000_000;

/// The same where moves may be spent: about half a second, for a search that somebody asked for.
const MOST_LOOKS_WITH_MOVES: usize = 100_000_000;

/// The rounds of a search that must be within reach for it to start.
const FEWEST_ROUNDS: usize = 4;

/// Changes owners such that each topic lies as evenly as possible, without a worse balance and, unless the options say
/// otherwise, without one more move. Where weights differ, units change places with others of their weight that the same members
/// may own, which leaves loads, and what could be traded, as they are.
/// Does nothing if replicas have racks or copies are held: those come before topics. A unit with bans or pins stays.
pub(super) fn spread(problem: &Problem, roles: &Roles, owners: &mut [Option<MemberIndex>]) {
    if problem.has_replica_racks() || problem.has_standbys() {
        return;
    }
    let in_proportion = (LOOKS + LOOKS_PER_UNIT * problem.units()).min(MOST_LOOKS);
    let mut looks = if spends_moves(problem) { MOST_LOOKS_WITH_MOVES } else { in_proportion };
    // With weights, a look at each pair tells which units are alike.
    if problem.has_weights() && problem.topics().len() * problem.members().len() > looks {
        return;
    }
    for alike in alike::units(problem) {
        looks = spread_alike(problem, roles, &alike, looks, owners);
    }
}

fn spends_moves(problem: &Problem) -> bool {
    problem.options().spread_topics == TopicSpread::Moves
}

/// Changes the owners of units that are alike, with at most so many `looks`; the number that is left of these.
fn spread_alike(
    problem: &Problem,
    roles: &Roles,
    alike: &AlikeUnits,
    looks: usize,
    owners: &mut [Option<MemberIndex>],
) -> usize {
    let arcs = 2 * alike.topics.len() * problem.members().len();
    if alike.topics.len() < 2 || arcs.saturating_mul(FEWEST_ROUNDS) > looks {
        return looks;
    }
    if Evenness::of(problem, roles).is_even(&alike.topics, owners) {
        return looks;
    }
    let mut grid = Grid::of(problem, roles, alike, owners);
    let with_moves = spends_moves(problem);
    let moves_left = if with_moves { budget::left(problem, roles, owners) } else { None };
    let mut search = Search::new(&grid, with_moves, looks, moves_left);
    if search.run(&mut grid) {
        grid.carry_out(problem, owners);
    }
    search.looks_left()
}

/// A look at owners that takes no longer than to count them, as most placements are even.
struct Evenness<'a> {
    problem: &'a Problem,
    /// The members that take and give.
    takers: Vec<MemberIndex>,
    /// By member: how many units of the topic at hand it has.
    counts: Vec<u32>,
}

impl<'a> Evenness<'a> {
    fn of(problem: &'a Problem, roles: &Roles) -> Self {
        let takes = |member: &MemberIndex| roles.role(*member) == MemberRole::Takes;
        let takers = problem.member_indices().filter(takes).collect();
        Self { problem, takers, counts: vec![0; problem.members().len()] }
    }

    /// True if all takers have one capacity, and no two that may take units of one of `topics` differ by two of them.
    fn is_even(&mut self, topics: &[TopicIndex], owners: &[Option<MemberIndex>]) -> bool {
        let capacity = |member: &MemberIndex| self.problem.member(*member).capacity;
        self.takers.windows(2).all(|pair| capacity(&pair[0]) == capacity(&pair[1]))
            && topics.iter().all(|topic| self.lies_evenly(*topic, owners))
    }

    fn lies_evenly(&mut self, topic: TopicIndex, owners: &[Option<MemberIndex>]) -> bool {
        let first = self.problem.first_unit(topic);
        let of_topic = &owners[first..first + self.problem.topic(topic).partitions as usize];
        let mut most = 0;
        for owner in of_topic.iter().flatten() {
            let count = &mut self.counts[owner.index()];
            *count += 1;
            most = most.max(*count);
        }
        let is_even = most < 2 || self.differ_by_one(topic);
        of_topic.iter().flatten().for_each(|owner| self.counts[owner.index()] = 0);
        is_even
    }

    fn differ_by_one(&self, topic: TopicIndex) -> bool {
        let takes = |member: &&MemberIndex| self.problem.is_subscribed(topic, **member);
        let counts = || self.takers.iter().filter(takes).map(|member| self.counts[member.index()]);
        counts().max().unwrap_or(0) - counts().min().unwrap_or(0) < 2
    }
}
