//! What members give that have more than their share.

use std::ops::Range;

use super::append;
use crate::balanced::deal::is_far;
use crate::{MemberIndex, Problem, RackReader, UnitIndex};

/// How many units are looked at together, to see that none of them counts.
const STRIDE: usize = 16;

/// Takes from members what they own above their `shares`. Returns where the units are that nobody has then, ascending.
pub(super) fn release(
    problem: &Problem,
    owned: &[u32],
    shares: &[u32],
    owner: &mut [Option<MemberIndex>],
) -> Vec<Range<usize>> {
    let nobodys = owner.len() - owned.iter().map(|units| *units as usize).sum::<usize>();
    if nobodys == owner.len() {
        return std::iter::once(0..nobodys).collect();
    }
    let surplus: Vec<_> = owned.iter().zip(shares).map(|(has, share)| has.saturating_sub(*share)).collect();
    let given: usize = surplus.iter().map(|units| *units as usize).sum();
    let pool = if nobodys > 0 { nobodys_of(owner) } else { Vec::new() };
    if given == 0 {
        return pool;
    }
    let mut givers = Givers { problem, surplus, given, pool };
    givers.let_go(owner);
    // They are a few rows, each of which ascends or descends; this way to sort makes use of that.
    givers.pool.sort_by_key(|positions| positions.start);
    givers.pool
}

/// Where the units are that are nobody's, ascending.
fn nobodys_of(owners: &[Option<MemberIndex>]) -> Vec<Range<usize>> {
    let strides = owners.chunks(STRIDE).zip((0..).step_by(STRIDE));
    let strides = strides.filter(|(stride, _)| stride.iter().fold(false, |any, owner| any | owner.is_none()));
    let positions = strides.flat_map(|(stride, start)| (start..).zip(stride));
    let mut pool = Vec::new();
    for (position, _) in positions.filter(|(_, owner)| owner.is_none()) {
        append(&mut pool, position);
    }
    pool
}

/// Members that give some of their units.
struct Givers<'a> {
    problem: &'a Problem,
    /// By member how many units it is still to give.
    surplus: Vec<u32>,
    /// The sum of that.
    given: usize,
    /// Where the units are that nobody has.
    pool: Vec<Range<usize>>,
}

impl Givers<'_> {
    /// Takes from each what it gives: what is far from it, then what is not, from its last unit to its first.
    fn let_go(&mut self, owner: &mut [Option<MemberIndex>]) {
        let mut near = Vec::new();
        if self.problem.has_replica_racks() {
            let problem = self.problem;
            let mut reader = RackReader::of(problem);
            // More than these of its near units no giver will have to give.
            let mut enough = self.surplus.clone();
            self.let_go_if(owner, |position, giver| {
                let is_far = is_far(reader.racks(UnitIndex::new(position)), problem.member(giver).rack);
                if !is_far && enough[giver.index()] > 0 {
                    enough[giver.index()] -= 1;
                    near.push(position);
                }
                is_far
            });
        } else {
            self.let_go_if(owner, |_, _| true);
        }
        near.into_iter().for_each(|position| self.let_go_of(position, owner, |_, _| true));
    }

    /// Takes from each units that `may` go, until it has given enough.
    fn let_go_if(
        &mut self,
        owner: &mut [Option<MemberIndex>],
        mut may: impl FnMut(usize, MemberIndex) -> bool,
    ) {
        let mut end = owner.len();
        while self.given > 0 && end > 0 {
            let start = (end - 1) / STRIDE * STRIDE;
            if self.any_gives(&owner[start..end]) {
                for position in (start..end).rev() {
                    self.let_go_of(position, owner, &mut may);
                }
            }
            end = start;
        }
    }

    /// Takes the unit at `position` if its owner is still to give something and it `may` go.
    #[inline]
    fn let_go_of(
        &mut self,
        position: usize,
        owner: &mut [Option<MemberIndex>],
        may: impl FnOnce(usize, MemberIndex) -> bool,
    ) {
        let giver = owner[position].filter(|owner| self.surplus[owner.index()] > 0);
        let Some(giver) = giver.filter(|giver| may(position, *giver)) else { return };
        owner[position] = None;
        self.surplus[giver.index()] -= 1;
        self.given -= 1;
        match self.pool.last_mut().filter(|last| last.start == position + 1) {
            Some(last) => last.start = position,
            None => self.pool.push(position..position + 1),
        }
    }

    /// Whether any of `owners` is still to give something.
    fn any_gives(&self, owners: &[Option<MemberIndex>]) -> bool {
        let gives = |owner: &Option<MemberIndex>| owner.is_some_and(|owner| self.surplus[owner.index()] > 0);
        if is_uniform(owners) {
            return gives(&owners[0]);
        }
        owners.iter().fold(false, |any, owner| any | gives(owner))
    }
}

/// Whether all of `owners` are the same.
fn is_uniform(owners: &[Option<MemberIndex>]) -> bool {
    let Ok(owners) = <&[_; STRIDE]>::try_from(owners) else { return false };
    let differs = |owner: &Option<MemberIndex>| MemberIndex::bits(*owner) ^ MemberIndex::bits(owners[0]);
    owners[STRIDE - 1] == owners[0] && owners.iter().fold(0, |any, owner| any | differs(owner)) == 0
}
