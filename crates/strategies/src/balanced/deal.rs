//! From numbers to units: which ones leave, and who gets which.

use rustc_hash::FxHashMap;

use super::classes::{Class, Classes};
use super::equal::{ClassFlow, Flow};
use super::stock::{ClassStock, Holding, Stock};
use super::stretches::Stretches;
use crate::{MemberIndex, Problem, RackIndex, RackReader, UnitIndex};

/// The owner of each unit, such that everybody keeps and gets as many units as `flow` says.
///
/// Of a member's units those leave that it is not in a rack of, then those with the highest numbers. They go, as
/// far as numbers allow, to the standbys that are least behind, then to members in one of their racks, then to
/// members in the order of their ids.
pub(super) fn deal(
    problem: &Problem,
    classes: &Classes,
    mut stock: Stock,
    flow: Flow,
) -> Vec<Option<MemberIndex>> {
    let mut owner = std::mem::take(&mut stock.owner);
    let mut dealer = Dealer { problem, classes, takes: flow.takes, position: vec![0; classes.kinds.len()] };
    let mut pools = Vec::with_capacity(classes.classes.len());
    for ((class, of_class), held) in classes.classes.iter().zip(flow.classes).zip(&stock.classes) {
        let units = dealer.release(class, held, &stock.stretches, &of_class, &mut owner);
        pools.push(Pool { class, kinds: of_class.kinds, members: of_class.members, units });
    }
    if problem.has_standbys() {
        pools.iter_mut().for_each(|pool| dealer.serve_warm(pool, &mut owner));
    }
    if problem.has_replica_racks() {
        let mut nearby = Nearby::of(problem, classes);
        pools.iter_mut().for_each(|pool| dealer.serve_near(pool, &mut nearby, &mut owner));
    }
    pools.iter_mut().for_each(|pool| dealer.serve_rest(pool, &mut owner));
    owner
}

/// The units of a class that look for an owner, and how many of them go where.
struct Pool<'a> {
    class: &'a Class,
    /// In the order of the class's kinds.
    kinds: Vec<u32>,
    /// In the order of the class's members.
    members: Vec<u32>,
    /// Ascending.
    units: Vec<UnitIndex>,
}

impl Pool<'_> {
    /// Who may get units in `rack`, the next one last: one kind after the other, then the members.
    fn candidates(&self, problem: &Problem, nearby: &Nearby, rack: RackIndex) -> Vec<Candidate> {
        let is_near = |position: &usize| problem.member(self.class.members[*position]).rack == Some(rack);
        let members = (0..self.class.members.len()).filter(is_near).rev().map(Candidate::Member);
        let kind = |position: usize| {
            let list = nearby.list(self.class.kinds[position], rack)?;
            Some(Candidate::Kind { position, list })
        };
        members.chain((0..self.kinds.len()).rev().filter_map(kind)).collect()
    }

    /// Lets the class's member at `position` have one more, if it is to get more.
    fn give_member(&mut self, position: usize) -> Option<MemberIndex> {
        let left = &mut self.members[position];
        *left = left.checked_sub(1)?;
        Some(self.class.members[position])
    }
}

/// Who may get units of a class in one rack, by position.
#[derive(Clone, Copy)]
enum Candidate {
    Kind {
        position: usize,
        /// Which of the lists of [`Nearby`] has its members in the rack.
        list: usize,
    },
    Member(usize),
}

struct Dealer<'a> {
    problem: &'a Problem,
    classes: &'a Classes,
    /// By member: how many more it gets of what its kind gets.
    takes: Vec<u32>,
    /// By kind: the first of its members that may still get any.
    position: Vec<usize>,
}

impl Dealer<'_> {
    /// Takes from owners what they do not keep of `class`; returns that and what nobody has, ascending.
    fn release(
        &self,
        class: &Class,
        held: &ClassStock,
        stretches: &Stretches,
        flow: &ClassFlow,
        owner: &mut [Option<MemberIndex>],
    ) -> Vec<UnitIndex> {
        let mut leaving = Vec::new();
        for (holding, keeps) in held.holdings.iter().zip(&flow.keeps) {
            self.let_go(holding, (holding.units - keeps) as usize, stretches, &mut leaving);
        }
        leaving.iter().for_each(|unit| owner[unit.index()] = None);
        if leaving.len() + held.unowned as usize == class.len() {
            return class.unit_indices().collect();
        }
        leaving.extend(stretches.descending(held.unowned_tail));
        leaving.sort_unstable();
        leaving
    }

    /// Appends to `leaving` as many of the units of one owner as are its `surplus`.
    fn let_go(&self, holding: &Holding, surplus: usize, stretches: &Stretches, leaving: &mut Vec<UnitIndex>) {
        let units = stretches.descending(holding.tail);
        if !self.problem.has_replica_racks() {
            return leaving.extend(units.take(surplus));
        }
        let (rack, mut reader) = (self.problem.member(holding.owner).rack, RackReader::of(self.problem));
        far_first(units, surplus, |unit| is_far(reader.racks(unit), rack), leaving);
    }

    /// Gives units to their standbys: first to all that are near enough to be warm.
    fn serve_warm(&mut self, pool: &mut Pool<'_>, owner: &mut [Option<MemberIndex>]) {
        let acceptable = self.problem.options().acceptable_lag;
        for most in [acceptable, u64::MAX] {
            let problem = self.problem;
            self.give_some(pool, owner, |dealer, pool, unit| {
                let standbys = problem.standbys(unit).iter().take_while(|standby| standby.lag <= most);
                standbys.map(|standby| standby.member).find(|member| dealer.give(pool, *member))
            });
        }
    }

    /// Gives units to members in their racks.
    fn serve_near(&mut self, pool: &mut Pool<'_>, nearby: &mut Nearby, owner: &mut [Option<MemberIndex>]) {
        let problem = self.problem;
        let mut candidates = FxHashMap::default();
        let mut reader = RackReader::of(problem);
        self.give_some(pool, owner, |dealer, pool, unit| {
            reader.racks(unit).iter().find_map(|rack| {
                let in_rack =
                    candidates.entry(*rack).or_insert_with(|| pool.candidates(problem, nearby, *rack));
                dealer.give_near(pool, nearby, in_rack)
            })
        });
    }

    /// Gives the units for which `to` finds somebody.
    fn give_some(
        &mut self,
        pool: &mut Pool<'_>,
        owner: &mut [Option<MemberIndex>],
        mut to: impl FnMut(&mut Self, &mut Pool<'_>, UnitIndex) -> Option<MemberIndex>,
    ) {
        let mut units = std::mem::take(&mut pool.units);
        units.retain(|unit| {
            owner[unit.index()] = to(self, pool, *unit);
            owner[unit.index()].is_none()
        });
        pool.units = units;
    }

    /// Lets `member` have one more of the pool's units, if it is to get more of them.
    fn give(&mut self, pool: &mut Pool<'_>, member: MemberIndex) -> bool {
        let Some(kind) = self.classes.kind_of[member.index()] else { return false };
        match pool.class.kinds.binary_search(&kind) {
            Ok(position) => self.give_kind(pool, position, member),
            Err(_) => {
                let position = pool.class.members.binary_search(&member);
                position.is_ok_and(|position| pool.give_member(position).is_some())
            }
        }
    }

    /// Lets `member` have one more of what its kind, which is at `position`, gets of the pool.
    fn give_kind(&mut self, pool: &mut Pool<'_>, position: usize, member: MemberIndex) -> bool {
        let may = pool.kinds[position] > 0 && self.takes[member.index()] > 0;
        pool.kinds[position] -= u32::from(may);
        self.takes[member.index()] -= u32::from(may);
        may
    }

    /// Gives a unit of the pool to the last of `candidates` that is still to get any. Those that are not will not be
    /// either, so each is found wanting but once, however many units there are.
    fn give_near(
        &mut self,
        pool: &mut Pool<'_>,
        nearby: &mut Nearby,
        candidates: &mut Vec<Candidate>,
    ) -> Option<MemberIndex> {
        while let Some(candidate) = candidates.last() {
            let given = match *candidate {
                Candidate::Member(position) => pool.give_member(position),
                Candidate::Kind { position, list } => {
                    let member = nearby.next(list, &self.takes);
                    member.filter(|member| self.give_kind(pool, position, *member))
                }
            };
            if given.is_some() {
                return given;
            }
            candidates.pop();
        }
        None
    }

    /// Gives the units that are left to those that are to get some, by id.
    fn serve_rest(&mut self, pool: &mut Pool<'_>, owner: &mut [Option<MemberIndex>]) {
        let mut units = std::mem::take(&mut pool.units).into_iter();
        for (position, kind) in pool.class.kinds.iter().enumerate() {
            let mut left = pool.kinds[position];
            while left > 0 {
                let (member, most) = self.next_of(*kind, left);
                left -= most;
                units.by_ref().take(most as usize).for_each(|unit| owner[unit.index()] = Some(member));
            }
        }
        for (member, units_of) in pool.class.members.iter().zip(&pool.members) {
            for unit in units.by_ref().take(*units_of as usize) {
                owner[unit.index()] = Some(*member);
            }
        }
    }

    /// The first member of `kind` that is still to get units, and how many of `left` it gets now.
    fn next_of(&mut self, kind: usize, left: u32) -> (MemberIndex, u32) {
        let members = &self.classes.kinds[kind].members;
        while self.takes[members[self.position[kind]].index()] == 0 {
            self.position[kind] += 1;
        }
        let member = members[self.position[kind]];
        let takes = self.takes[member.index()].min(left);
        self.takes[member.index()] -= takes;
        (member, takes)
    }
}

/// Appends to `leaving` as many of `units` as are the `surplus`: first those that are far, then others, as they come.
fn far_first(
    mut units: impl Iterator<Item = UnitIndex>,
    surplus: usize,
    mut is_far: impl FnMut(UnitIndex) -> bool,
    leaving: &mut Vec<UnitIndex>,
) {
    let (enough, mut near) = (leaving.len() + surplus, Vec::with_capacity(surplus));
    while leaving.len() < enough
        && let Some(unit) = units.next()
    {
        if is_far(unit) {
            leaving.push(unit);
        } else if near.len() < surplus {
            near.push(unit);
        }
    }
    near.truncate(enough - leaving.len());
    leaving.append(&mut near);
}

/// Whether a unit with replicas in `racks` is known to have none in `rack`, where its owner is.
pub(super) fn is_far(racks: &[RackIndex], rack: Option<RackIndex>) -> bool {
    rack.is_some_and(|rack| !racks.is_empty() && !racks.contains(&rack))
}

/// By kind and rack the members that may still get units. There are as many lists as are not empty: members in racks of
/// their own that take topics of their own make a product of kinds and racks that is far larger than they are.
struct Nearby {
    list_of: FxHashMap<(usize, RackIndex), usize>,
    /// The next member last.
    lists: Vec<Vec<MemberIndex>>,
}

impl Nearby {
    fn of(problem: &Problem, classes: &Classes) -> Self {
        let mut nearby = Self { list_of: FxHashMap::default(), lists: Vec::new() };
        for member in problem.member_indices().rev() {
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

    /// The first member of `list` that is still to get units.
    fn next(&mut self, list: usize, takes: &[u32]) -> Option<MemberIndex> {
        let members = &mut self.lists[list];
        while members.last().is_some_and(|member| takes[member.index()] == 0) {
            members.pop();
        }
        members.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balanced::roles::Roles;
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
