//! From numbers to units: the members that get the units that look for an owner.

use rustc_hash::FxHashMap;

use super::classes::{Classes, UnitClass};
use super::equal::Flow;
use super::holdings::Holdings;
use super::release::Releases;
use super::roles::Roles;
use super::topic_counts::TopicCounts;
use super::turns::{self, Turns};
use crate::{MemberIndex, Problem, RackIndex, RackReader, UnitIndex};

/// The owner of each unit, such that every member keeps and gets as many units as `flow` says.
///
/// Units go, as far as numbers allow, to the standbys that are least behind, then to members in one of their racks,
/// then to others; of these to the one whose turn it is, or to one of the next if that has fewer of the topic.
pub(super) fn deal(
    problem: &Problem,
    roles: &Roles,
    classes: &Classes,
    stock: Holdings,
    flow: Flow,
) -> Vec<Option<MemberIndex>> {
    let mut releases = Releases::of(problem, roles, &stock, &flow);
    let Holdings { classes: held, mut owner, .. } = stock;
    let mut pools = Vec::with_capacity(classes.classes.len());
    let Flow { classes: flows, takes } = flow;
    for ((class, of_class), held) in classes.classes.iter().zip(flows).zip(held) {
        let units = releases.of_class(class, held, &of_class, &mut owner);
        pools.push(ClassPool { class, kinds: of_class.kinds, members: of_class.members, units });
    }
    let mut dealer = Dealer { problem, classes, takes };
    if problem.has_standbys() {
        pools.iter_mut().for_each(|pool| dealer.serve_warm(pool, &mut owner));
    }
    if problem.has_replica_racks() {
        let nearby = Nearby::of(problem, classes);
        let mut counts = TopicCounts::new(problem, problem.racks().len());
        pools.iter_mut().for_each(|pool| dealer.serve_near(pool, &nearby, &mut counts, &mut owner));
    }
    let mut counts = TopicCounts::new(problem, 1);
    pools.iter_mut().for_each(|pool| dealer.serve_rest(pool, &mut counts, &mut owner));
    owner
}

/// The units of a class that look for an owner, and how many of them go where.
struct ClassPool<'a> {
    class: &'a UnitClass,
    /// In the order of the class's kinds.
    kinds: Vec<u32>,
    /// In the order of the class's members.
    members: Vec<u32>,
    /// Ascending.
    units: Vec<UnitIndex>,
}

impl ClassPool<'_> {
    /// By rack how many of the units have a replica there.
    fn wanted(&self, problem: &Problem) -> FxHashMap<RackIndex, u32> {
        let (mut wanted, mut reader) = (FxHashMap::default(), RackReader::of(problem));
        for rack in self.units.iter().flat_map(|unit| reader.racks(*unit)) {
            *wanted.entry(*rack).or_default() += 1;
        }
        wanted
    }
}

struct Dealer<'a> {
    problem: &'a Problem,
    classes: &'a Classes,
    /// By member: how many more it gets of what its kind gets.
    takes: Vec<u32>,
}

impl Dealer<'_> {
    /// Gives units to their standbys: first to all that are near enough to be warm.
    fn serve_warm(&mut self, pool: &mut ClassPool<'_>, owner: &mut [Option<MemberIndex>]) {
        let acceptable = self.problem.options().acceptable_lag;
        for most in [acceptable, u64::MAX] {
            let problem = self.problem;
            self.give_some(pool, |dealer, pool, unit| {
                let standbys = problem.standbys(unit).iter().take_while(|standby| standby.lag <= most);
                let taker = standbys.map(|standby| standby.member).find(|member| dealer.give(pool, *member));
                owner[unit.index()] = taker;
                taker.is_some()
            });
        }
    }

    /// Gives units to members in their racks.
    fn serve_near(
        &mut self,
        pool: &mut ClassPool<'_>,
        nearby: &Nearby,
        counts: &mut TopicCounts<'_>,
        owner: &mut [Option<MemberIndex>],
    ) {
        let wanted = pool.wanted(self.problem);
        let mut lists: FxHashMap<RackIndex, Turns> = FxHashMap::default();
        let mut reader = RackReader::of(self.problem);
        self.give_some(pool, |dealer, pool, unit| {
            counts.turn_to(unit, owner);
            let racks = reader.racks(unit);
            for rack in racks {
                if !lists.contains_key(rack) {
                    lists.insert(*rack, dealer.turns_near(pool, nearby, counts, *rack, wanted[rack]));
                }
            }
            let taker = dealer.nearest(pool, &mut lists, racks, counts);
            taker.into_iter().for_each(|taker| counts.add(taker));
            owner[unit.index()] = taker;
            taker.is_some()
        });
    }

    /// The turns of the members in `rack` that may take units of the pool, of which `wanted` have a replica there.
    fn turns_near(
        &self,
        pool: &ClassPool<'_>,
        nearby: &Nearby,
        counts: &mut TopicCounts<'_>,
        rack: RackIndex,
        wanted: u32,
    ) -> Turns {
        let mut shares = Vec::new();
        for (kind, left) in pool.class.kinds.iter().zip(&pool.kinds).filter(|(_, left)| **left > 0) {
            let Some(list) = nearby.list(*kind, rack) else { continue };
            let mut of_kind = self.with_takes(&nearby.lists[list]);
            let most = of_kind.iter().map(|(_, takes)| *takes).sum::<u32>().min(*left);
            turns::in_proportion(&mut of_kind, most);
            shares.append(&mut of_kind);
        }
        let is_near = |member: MemberIndex| self.problem.member(member).rack == Some(rack);
        let members = pool.class.members.iter().copied().zip(pool.members.iter().copied());
        shares.extend(members.filter(|(member, left)| *left > 0 && is_near(*member)));
        let most = shares.iter().map(|(_, share)| *share).sum::<u32>().min(wanted);
        turns::in_proportion(&mut shares, most);
        counts.regroup(rack.index(), shares.iter().map(|(member, _)| *member));
        Turns::new(shares, rack.index())
    }

    /// Those of `members` that still get units, with how many.
    fn with_takes(&self, members: &[MemberIndex]) -> Vec<(MemberIndex, u32)> {
        let takes = members.iter().map(|member| (*member, self.takes[member.index()]));
        takes.filter(|(_, takes)| *takes > 0).collect()
    }

    /// Lets the member that has fewest of the topic among the next in `racks` have a unit of the pool; of racks in
    /// which that is the same, in the one with most turns left. A turn that is not to be any more is dropped.
    fn nearest(
        &mut self,
        pool: &mut ClassPool<'_>,
        lists: &mut FxHashMap<RackIndex, Turns>,
        racks: &[RackIndex],
        counts: &TopicCounts<'_>,
    ) -> Option<MemberIndex> {
        loop {
            let next = racks.iter().filter_map(|rack| {
                let turns = lists.get_mut(rack)?;
                let (level, member) = turns.peek(counts)?;
                Some((level, std::cmp::Reverse(turns.left()), *rack, member))
            });
            let (_, _, rack, member) = next.min()?;
            lists.get_mut(&rack).into_iter().for_each(Turns::advance);
            if self.give(pool, member) {
                return Some(member);
            }
        }
    }

    /// Takes those units off the pool that `gives` away.
    fn give_some(
        &mut self,
        pool: &mut ClassPool<'_>,
        mut gives: impl FnMut(&mut Self, &mut ClassPool<'_>, UnitIndex) -> bool,
    ) {
        let mut units = std::mem::take(&mut pool.units);
        units.retain(|unit| !gives(self, pool, *unit));
        pool.units = units;
    }

    /// Lets `member` have one more of the pool's units, if it is to get more of them.
    fn give(&mut self, pool: &mut ClassPool<'_>, member: MemberIndex) -> bool {
        let Some(kind) = self.classes.kind_of[member.index()] else { return false };
        let (left, takes) = match pool.class.kinds.binary_search(&kind) {
            Ok(position) => (&mut pool.kinds[position], Some(&mut self.takes[member.index()])),
            Err(_) => match pool.class.members.binary_search(&member) {
                Ok(position) => (&mut pool.members[position], None),
                Err(_) => return false,
            },
        };
        let may = *left > 0 && takes.as_ref().is_none_or(|takes| **takes > 0);
        *left -= u32::from(may);
        takes.into_iter().for_each(|takes| *takes -= u32::from(may));
        may
    }

    /// Gives the units that are left to those that are to get some.
    fn serve_rest(
        &mut self,
        pool: &mut ClassPool<'_>,
        counts: &mut TopicCounts<'_>,
        owner: &mut [Option<MemberIndex>],
    ) {
        let shares = self.shares(pool);
        if shares.is_empty() {
            return;
        }
        counts.regroup(0, shares.iter().map(|(member, _)| *member));
        let mut turns = Turns::new(shares, 0);
        for unit in std::mem::take(&mut pool.units) {
            counts.turn_to(unit, owner);
            let Some((_, taker)) = turns.peek(counts) else { return };
            turns.advance();
            counts.add(taker);
            owner[unit.index()] = Some(taker);
        }
    }

    /// The number of units of the pool that each member gets: of those of a kind, each of its members in proportion to
    /// what it gets of all pools.
    fn shares(&mut self, pool: &ClassPool<'_>) -> Vec<(MemberIndex, u32)> {
        let mut shares = Vec::new();
        for (kind, amount) in pool.class.kinds.iter().zip(&pool.kinds).filter(|(_, amount)| **amount > 0) {
            let mut of_kind = self.with_takes(&self.classes.kinds[*kind].members);
            turns::in_proportion(&mut of_kind, *amount);
            for (member, share) in &of_kind {
                self.takes[member.index()] -= share;
            }
            shares.append(&mut of_kind);
        }
        let members = pool.class.members.iter().copied().zip(pool.members.iter().copied());
        shares.extend(members.filter(|(_, amount)| *amount > 0));
        shares
    }
}

/// By kind and rack its members. There are as many lists as are not empty: members in racks of
/// their own that take topics of their own make a product of kinds and racks that is far larger than they are.
struct Nearby {
    list_of: FxHashMap<(usize, RackIndex), usize>,
    /// Ascending.
    lists: Vec<Vec<MemberIndex>>,
}

impl Nearby {
    fn of(problem: &Problem, classes: &Classes) -> Self {
        let mut nearby = Self { list_of: FxHashMap::default(), lists: Vec::new() };
        for member in problem.member_indices() {
            if let Some(at) = classes.kind_of[member.index()].zip(problem.member(member).rack) {
                let list = *nearby.list_of.entry(at).or_insert(nearby.lists.len());
                if list == nearby.lists.len() {
                    nearby.lists.push(Vec::new());
                }
                nearby.lists[list].push(member);
            }
        }
        nearby
    }

    /// The list of the members of `kind` in `rack`, if there are any.
    fn list(&self, kind: usize, rack: RackIndex) -> Option<usize> {
        self.list_of.get(&(kind, rack)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemberSpec, Place, ReplicaRacks};

    #[test]
    fn there_are_no_more_lists_than_members_however_many_kinds_and_racks_there_are() {
        let mut builder = Problem::builder();
        for at in 0..100 {
            let topic = builder.topic(format!("t{at}"), 1);
            let name = format!("rack-{at}");
            builder.replica_racks(topic, &ReplicaRacks::new([[&name]]));
            let rack = builder.rack(&name.as_str().into());
            builder.member(MemberSpec {
                subscription: [topic].into_iter().collect(),
                rack: Some(rack),
                ..MemberSpec::new(format!("m{at}"))
            });
        }
        let problem = builder.build().unwrap();
        let classes = Classes::of(&problem, &Roles::of(&problem), Place::Owner);
        assert_eq!((classes.kinds.len(), problem.racks().len()), (100, 100));
        assert_eq!(Nearby::of(&problem, &classes).lists.len(), 100);
    }
}
