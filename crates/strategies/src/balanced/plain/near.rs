//! Members in the racks of what they get.

use std::ops::Range;

use super::append;
use crate::{MemberIndex, Problem, RackIndex, RackReader, UnitIndex};

/// Gives units of `pool` to members that miss some and are in one of their racks: the first of them in the first such
/// rack. Returns where those are for which there is none, ascending.
pub(super) fn serve(
    problem: &Problem,
    pool: Vec<Range<usize>>,
    missing: &mut [u32],
    owner: &mut [Option<MemberIndex>],
) -> Vec<Range<usize>> {
    let mut takers = Takers::of(problem, missing);
    let mut reader = RackReader::of(problem);
    let mut left = Vec::new();
    for position in pool.into_iter().flatten() {
        let taker = takers.next(reader.racks(UnitIndex::new(position)), missing);
        owner[position] = taker;
        if taker.is_none() {
            append(&mut left, position);
        }
    }
    left
}

/// Those that miss units, by rack.
struct Takers {
    /// By rack the first of them.
    first: Vec<Option<MemberIndex>>,
    /// By member the one after it in its rack.
    following: Vec<Option<MemberIndex>>,
}

impl Takers {
    fn of(problem: &Problem, missing: &[u32]) -> Self {
        let mut first = vec![None; problem.racks().len()];
        let mut following = vec![None; missing.len()];
        for member in problem.member_indices().rev().filter(|member| missing[member.index()] > 0) {
            if let Some(rack) = problem.member(member).rack {
                following[member.index()] = first[rack.index()].replace(member);
            }
        }
        Self { first, following }
    }

    /// The first member in the first of `racks` that has any, which misses one less from now on.
    fn next(&mut self, racks: &[RackIndex], missing: &mut [u32]) -> Option<MemberIndex> {
        let (rack, taker) = racks.iter().find_map(|rack| Some((*rack, self.first[rack.index()]?)))?;
        let missing = &mut missing[taker.index()];
        *missing -= 1;
        if *missing == 0 {
            self.first[rack.index()] = self.following[taker.index()];
        }
        Some(taker)
    }
}
