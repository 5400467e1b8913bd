//! What members give that have more than their share.

use std::ops::Range;

use crate::balanced::deal::is_far;
use crate::balanced::stock;
use crate::{MemberIndex, Problem, RackReader, UnitIndex};

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
    let pool = if nobodys > 0 { runs_of(owner, |owner| owner.is_none()) } else { Vec::new() };
    if given == 0 {
        return pool;
    }
    let runs = runs_of(owner, |owner| owner.is_some_and(|owner| surplus[owner.index()] > 0));
    let mut givers = Givers { problem, surplus, given, pool };
    givers.let_go(&runs, owner);
    // They are a few rows, each of which ascends or descends; this way to sort makes use of that.
    givers.pool.sort_by_key(|positions| positions.start);
    givers.pool
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
    /// Takes from each what it gives of what it has in `runs`, from the last to the first.
    fn let_go(&mut self, runs: &[Range<usize>], owner: &mut [Option<MemberIndex>]) {
        if self.problem.has_replica_racks() {
            let problem = self.problem;
            let mut reader = RackReader::of(problem);
            self.let_go_if(runs, owner, |position, giver| {
                is_far(reader.racks(UnitIndex::new(position)), problem.member(giver).rack)
            });
        }
        self.let_go_if(runs, owner, |_, _| true);
    }

    fn let_go_if(
        &mut self,
        runs: &[Range<usize>],
        owner: &mut [Option<MemberIndex>],
        mut may: impl FnMut(usize, MemberIndex) -> bool,
    ) {
        for run in runs.iter().rev() {
            if self.given == 0 {
                return;
            }
            for position in run.clone().rev() {
                // It may have gone for a better reason already.
                let Some(giver) = owner[position] else { continue };
                if self.surplus[giver.index()] == 0 {
                    break;
                }
                if may(position, giver) {
                    owner[position] = None;
                    self.surplus[giver.index()] -= 1;
                    self.release(position);
                }
            }
        }
    }

    fn release(&mut self, position: usize) {
        self.given -= 1;
        match self.pool.last_mut().filter(|last| last.start == position + 1) {
            Some(last) => last.start = position,
            None => self.pool.push(position..position + 1),
        }
    }
}

/// Where units follow each other with one owner that is `wanted`; ascending.
fn runs_of(
    owners: &[Option<MemberIndex>],
    wanted: impl Fn(Option<MemberIndex>) -> bool,
) -> Vec<Range<usize>> {
    /// How many units are looked at together, to see that they have one owner or that none is wanted.
    const STRIDE: usize = 16;
    let mut runs: Vec<Range<usize>> = Vec::new();
    let strides = owners.chunks_exact(STRIDE);
    let rest = owners.len() - strides.remainder().len();
    for (stride, start) in strides.zip((0..).step_by(STRIDE)) {
        if is_uniform(stride) {
            if wanted(stride[0]) {
                append(&mut runs, owners, start..start + STRIDE);
            }
        } else if stride.iter().fold(false, |any, owner| any | wanted(*owner)) {
            append_each(&mut runs, owners, start..start + STRIDE, &wanted);
        }
    }
    append_each(&mut runs, owners, rest..owners.len(), &wanted);
    runs
}

/// Adds those of the units at `positions` whose owner is `wanted`.
fn append_each(
    runs: &mut Vec<Range<usize>>,
    owners: &[Option<MemberIndex>],
    positions: Range<usize>,
    wanted: impl Fn(Option<MemberIndex>) -> bool,
) {
    let of_owners = stock::runs(&owners[positions.clone()], positions);
    of_owners.filter(|(owner, _)| wanted(*owner)).for_each(|(_, run)| append(runs, owners, run));
}

/// Whether all of `owners` are the same.
fn is_uniform(owners: &[Option<MemberIndex>]) -> bool {
    let differs = |owner: &Option<MemberIndex>| MemberIndex::bits(*owner) ^ MemberIndex::bits(owners[0]);
    owners.last() == owners.first() && owners.iter().fold(0, |any, owner| any | differs(owner)) == 0
}

/// Adds `run`, or lets the last of `runs` go on with it.
fn append(runs: &mut Vec<Range<usize>>, owners: &[Option<MemberIndex>], run: Range<usize>) {
    match runs.last_mut().filter(|last| last.end == run.start && owners[last.start] == owners[run.start]) {
        Some(last) => last.end = run.end,
        None => runs.push(run),
    }
}
