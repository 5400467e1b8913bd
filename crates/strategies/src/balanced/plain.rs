//! The placement where nothing tells members apart and any may take anything: numbers say it all.

use std::cmp::Reverse;
use std::ops::Range;

use super::stock;
use super::stretches::{Stretches, Tail};
use crate::{MemberIndex, MemberState, Problem, Subscription};

/// The owner of each unit, if nothing but numbers matters: the same as the cheapest flow's, in a fraction of the time.
///
/// Each member's share is the mean, rounded down, and one more for as many as are left over: first for those that would
/// lose it otherwise, the fullest before the others. Who has more than its share gives its last units; those and what
/// nobody has go to who has less, in the order of their ids.
pub(super) fn place(problem: &Problem) -> Option<Vec<Option<MemberIndex>>> {
    if !is_plain(problem) {
        return None;
    }
    let mut holdings = Holdings::of(problem);
    let shares = holdings.shares(problem.units());
    let pool = holdings.release(&shares);
    let mut owner = problem.owners();
    if !pool.is_empty() {
        deal(pool, &holdings.of_members, &shares, &mut owner);
    }
    Some(owner)
}

/// Whether members and units are all alike to this strategy, and nothing restricts who may have what.
fn is_plain(problem: &Problem) -> bool {
    let Some(first) = problem.members().first() else { return false };
    let restricted = problem.has_fixed() || problem.has_cooling() || problem.is_ever_banned();
    let choosy = !problem.racks().is_empty() || problem.has_standbys();
    if restricted || choosy || problem.options().movement_budget.is_some() || problem.has_weights() {
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

/// What somebody has.
#[derive(Clone, Copy, Default)]
struct Holding {
    units: u32,
    tail: Tail,
}

/// What everybody has before anything moves.
struct Holdings {
    stretches: Stretches,
    of_members: Vec<Holding>,
    of_nobody: Holding,
}

impl Holdings {
    fn of(problem: &Problem) -> Self {
        let mut stretches = Stretches::default();
        let mut of_members = vec![Holding::default(); problem.members().len()];
        let mut of_nobody = Holding::default();
        let positions = 0..problem.units();
        for (owner, positions) in stock::runs(problem.owners_at(positions.clone()), positions) {
            let holding = owner.map_or(&mut of_nobody, |owner| &mut of_members[owner.index()]);
            holding.units += u32::try_from(positions.len()).expect("units are counted in u32");
            stretches.append(&mut holding.tail, positions);
        }
        Self { stretches, of_members, of_nobody }
    }

    /// By member how many of all `units` it is to have.
    fn shares(&self, units: usize) -> Vec<u32> {
        let members = self.of_members.len();
        let share = u32::try_from(units / members).expect("units are counted in u32");
        let (mut shares, over) = (vec![share; members], units % members);
        if over == 0 {
            return shares;
        }
        let has_more = |member: &usize| self.of_members[*member].units > share;
        let mut fuller: Vec<usize> = (0..members).filter(has_more).collect();
        if over < fuller.len() {
            fuller.select_nth_unstable_by_key(over, |member| {
                (Reverse(self.of_members[*member].units), *member)
            });
        }
        let others = (0..members).filter(|member| !has_more(member));
        fuller.iter().copied().chain(others).take(over).for_each(|member| shares[member] += 1);
        shares
    }

    /// Where the units are that nobody has or that are above somebody's share, ascending.
    fn release(&mut self, shares: &[u32]) -> Vec<Range<usize>> {
        let Holding { units, tail } = self.of_nobody;
        let mut pool: Vec<_> = self.stretches.last_of(tail, units as usize).collect();
        for (holding, share) in self.of_members.iter_mut().zip(shares) {
            let surplus = holding.units.saturating_sub(*share);
            if surplus > 0 {
                holding.units = *share;
                pool.extend(self.stretches.last_of(holding.tail, surplus as usize));
            }
        }
        pool.sort_unstable_by_key(|positions| positions.start);
        pool
    }
}

/// Fills everybody up to its share from `pool`, which has as many units as that takes.
fn deal(pool: Vec<Range<usize>>, holdings: &[Holding], shares: &[u32], owner: &mut [Option<MemberIndex>]) {
    let mut pool = pool.into_iter();
    let mut next = 0..0;
    for (member, (holding, share)) in holdings.iter().zip(shares).enumerate() {
        let mut missing = (share - holding.units) as usize;
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
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::balanced::classes::Classes;
    use crate::balanced::equal;
    use crate::balanced::roles::Roles;
    use crate::{MemberSpec, Place};

    /// Topics of so many partitions; by unit the number of its owner, which is nobody's from `members` on.
    fn problem(members: usize, topics: &[u32], owners: &[usize], tell: fn(&mut MemberSpec)) -> Problem {
        let mut builder = Problem::builder();
        let topics = topics.iter().enumerate();
        let topics: Vec<_> =
            topics.map(|(at, size)| (builder.topic(format!("t{at}"), *size), *size)).collect();
        let mut specs: Vec<_> = (0..members).map(|at| MemberSpec::new(format!("m{at:02}"))).collect();
        specs.first_mut().into_iter().for_each(tell);
        let members: Vec<_> = specs.into_iter().map(|spec| builder.member(spec)).collect();
        let partitions =
            topics.iter().flat_map(|(topic, size)| (0..*size).map(|partition| (*topic, partition)));
        for ((topic, partition), owner) in partitions.zip(owners) {
            members.get(*owner).into_iter().for_each(|owner| builder.current(topic, partition, *owner));
        }
        builder.build().unwrap()
    }

    fn by_flow(problem: &Problem) -> Vec<Option<MemberIndex>> {
        let roles = Roles::of(problem);
        equal::place(problem, &roles, &Classes::of(problem, &roles, Place::Owner))
    }

    proptest! {
        #[test]
        fn numbers_come_to_what_the_cheapest_flow_does(
            members in 1..12_usize,
            topics in vec(0..40_u32, 0..4),
            owners in vec(0..14_usize, 120),
            stretch in 1..9_usize,
        ) {
            let owners: Vec<_> = owners.iter().flat_map(|owner| std::iter::repeat_n(*owner, stretch)).collect();
            let problem = problem(members, &topics, &owners, |_| {});
            prop_assert_eq!(place(&problem), Some(by_flow(&problem)));
        }
    }

    #[test]
    fn who_is_not_like_the_others_is_not_plain() {
        let tellers: [fn(&mut MemberSpec); 5] = [
            |spec| spec.max_partitions = Some(9),
            |spec| spec.capacity = 2.0,
            |spec| spec.state = MemberState::Draining,
            |spec| spec.generation = Some("v2".into()),
            |spec| spec.subscription = Subscription::from_iter([]),
        ];
        for tell in tellers {
            assert_eq!(place(&problem(3, &[5], &[0, 1, 2], tell)), None);
        }
        assert!(place(&problem(3, &[5], &[0, 1, 2], |_| {})).is_some());
        assert_eq!(place(&problem(0, &[5], &[], |_| {})), None);
    }
}
