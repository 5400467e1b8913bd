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

mod grid;
mod search;

use super::budget;
use super::roles::{MemberRole, Roles};
use crate::{MemberIndex, Problem, TopicIndex, TopicSpread};
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
/// otherwise, without one more move. Does nothing if units differ in weight, replicas have racks or copies are held:
/// those come before topics. A unit with bans or pins stays.
pub(super) fn spread(problem: &Problem, roles: &Roles, owners: &mut [Option<MemberIndex>]) {
    let with_moves = problem.options().spread_topics == TopicSpread::Moves;
    let in_proportion = (LOOKS + LOOKS_PER_UNIT * problem.units()).min(MOST_LOOKS);
    let looks = if with_moves { MOST_LOOKS_WITH_MOVES } else { in_proportion };
    let arcs = 2 * problem.topics().len() * problem.members().len();
    if problem.has_weights() || problem.has_replica_racks() || problem.has_standbys() {
        return;
    }
    if problem.topics().len() < 2 || arcs.saturating_mul(FEWEST_ROUNDS) > looks {
        return;
    }
    if Evenness::of(problem, roles).is_even(owners) {
        return;
    }
    let mut grid = Grid::of(problem, roles, owners);
    let moves_left = if with_moves { budget::left(problem, roles, owners) } else { None };
    if Search::new(&grid, with_moves, looks, moves_left).run(&mut grid) {
        grid.carry_out(problem, owners);
    }
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

    /// True if all takers have one capacity, and no two that may take units of a topic differ by two of them.
    fn is_even(&mut self, owners: &[Option<MemberIndex>]) -> bool {
        let capacity = |member: &MemberIndex| self.problem.member(*member).capacity;
        self.takers.windows(2).all(|pair| capacity(&pair[0]) == capacity(&pair[1]))
            && self.problem.topic_indices().all(|topic| self.lies_evenly(topic, owners))
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
