//! The placement where nothing tells members apart but their racks, and any may take anything: numbers say it all.

mod near;
mod release;

use std::cmp::Reverse;
use std::ops::Range;

use crate::{MemberIndex, MemberState, Problem, Subscription};

/// The owner of each unit, if nothing but numbers and racks matters: the same as the cheapest flow's, in a fraction of
/// the time.
///
/// Each member's share is the mean, rounded down, and one more for as many as are left over: first for those that would
/// lose it otherwise, the fullest before the others. Who has more than its share gives units with no replica in its
/// rack, then its last ones. Those and what nobody has go to who has less: first to members in one of their racks, then
/// to any, each time in the order of their ids.
pub(super) fn place(problem: &Problem) -> Option<Vec<Option<MemberIndex>>> {
    if !is_plain(problem) {
        return None;
    }
    let owned = problem.owned();
    let shares = shares(&owned, problem.units());
    let mut owner = problem.owners();
    let mut pool = release::release(problem, &owned, &shares, &mut owner);
    let mut missing: Vec<_> =
        shares.iter().zip(&owned).map(|(share, has)| share.saturating_sub(*has)).collect();
    if problem.has_replica_racks() {
        pool = near::serve(problem, pool, &mut missing, &mut owner);
    }
    deal(pool, &missing, &mut owner);
    Some(owner)
}

/// Whether members and units are all alike to this strategy but for racks, and nothing restricts who may have what.
fn is_plain(problem: &Problem) -> bool {
    let Some(first) = problem.members().first() else { return false };
    let restricted = problem.has_fixed() || problem.has_cooling() || problem.is_ever_banned();
    let choosy = problem.has_standbys() || problem.has_weights();
    if restricted || choosy || problem.options().movement_budget.is_some() {
        return false;
    }
    problem.topics().iter().all(|topic| topic.standbys == 0)
        && problem.members().iter().all(|member| {
            member.state == MemberState::Active
                && member.subscription == Subscription::All
                && member.max_partitions.is_none()
                && (member.capacity, member.generation) == (first.capacity, first.generation)
        })
}

/// By member how many of all `units` it is to have, where it has as many as `owned` says.
fn shares(owned: &[u32], units: usize) -> Vec<u32> {
    let members = owned.len();
    let share = u32::try_from(units / members).expect("units are counted in u32");
    let (mut shares, over) = (vec![share; members], units % members);
    if over == 0 {
        return shares;
    }
    let has_more = |member: &usize| owned[*member] > share;
    let mut fuller: Vec<usize> = (0..members).filter(has_more).collect();
    if over < fuller.len() {
        fuller.select_nth_unstable_by_key(over, |member| (Reverse(owned[*member]), *member));
    }
    let others = (0..members).filter(|member| !has_more(member));
    fuller.iter().copied().chain(others).take(over).for_each(|member| shares[member] += 1);
    shares
}

/// Adds `position` to `runs`, all of which end before it.
fn append(runs: &mut Vec<Range<usize>>, position: usize) {
    match runs.last_mut().filter(|last| last.end == position) {
        Some(last) => last.end += 1,
        None => runs.push(position..position + 1),
    }
}

/// Gives everybody what is `missing` from `pool`, which has as many units as that takes.
// Compiled into its caller, it makes a fresh placement of a million units a fifth slower.
#[inline(never)]
fn deal(pool: Vec<Range<usize>>, missing: &[u32], owner: &mut [Option<MemberIndex>]) {
    let mut pool = pool.into_iter();
    let mut next = 0..0;
    for (member, missing) in missing.iter().enumerate() {
        let mut missing = *missing as usize;
        while missing > 0 {
            if next.is_empty() {
                next = pool.next().expect("shares add up to the units");
            }
            let end = next.end.min(next.start + missing);
            owner[next.start..end].fill(Some(MemberIndex::new(member)));
            missing -= end - next.start;
            next.start = end;
        }
    }
}

#[cfg(test)]
#[path = "plain_test.rs"]
mod tests;
