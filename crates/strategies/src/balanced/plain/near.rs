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
        owner[position] = takers.next(reader.racks(UnitIndex::new(position)), missing);
        if owner[position].is_none() {
            append(&mut left, position);
        }
    }
    takers.settle(missing);
    left
}

/// Those that miss units, by rack.
struct Takers {
    /// By rack the first of them.
    first: Vec<Option<Taker>>,
    /// By member the one after it in its rack.
    following: Vec<Option<MemberIndex>>,
}

/// A member, and how many units it still misses.
#[derive(Clone, Copy)]
struct Taker {
    member: MemberIndex,
    missing: u32,
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
        let taker = |member: MemberIndex| Taker { member, missing: missing[member.index()] };
        Self { first: first.into_iter().map(|first| first.map(taker)).collect(), following }
    }

    /// The first member in the first of `racks` that has any, which misses one less from now on.
    #[inline]
    fn next(&mut self, racks: &[RackIndex], missing: &mut [u32]) -> Option<MemberIndex> {
        let rack = racks.iter().map(|rack| rack.index()).find(|rack| self.first[*rack].is_some())?;
        let taker = self.first[rack].as_mut()?;
        let member = taker.member;
        taker.missing -= 1;
        if taker.missing == 0 {
            missing[member.index()] = 0;
            let next = self.following[member.index()];
            self.first[rack] = next.map(|member| Taker { member, missing: missing[member.index()] });
        }
        Some(member)
    }

    /// Says what those still miss whose turn it would be.
    fn settle(self, missing: &mut [u32]) {
        self.first.into_iter().flatten().for_each(|taker| missing[taker.member.index()] = taker.missing);
    }
}
