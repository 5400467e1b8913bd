//! Holders of copies of a unit's state: never its owner, spread evenly over members and over racks.

mod spread;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::classes::{Classes, UnitClass};
use super::cost::{MarginalCost, Scale};
use super::fill::FillLevels;
use super::network::{ANY, MemberNode};
use super::roles::Roles;
use crate::{MemberIndex, MemberState, Place, Problem, RackIndex, Standbys, UnitIndex};

/// The number of next turns that are looked at. Consecutive members differ, and are in different racks, if they can be.
const LOOK_AHEAD: usize = 16;

/// The standbys of each unit whose owner is in `owners`.
///
/// Those that a unit has stay as far as they may, before them its previous owner, whose copy is as good as new. What is
/// missing goes to those that hold the fewest. Then copies move, but for those of members on hold, while that brings
/// two members closer without putting two copies in one rack, or takes two copies apart without making the loads more
/// uneven than by one.
///
/// Pins bind the owner only: copies of a pinned unit may be with any member that may have one.
pub(super) fn place(
    problem: &Problem,
    roles: &Roles,
    classes: &Classes,
    owners: &[Option<MemberIndex>],
) -> Standbys {
    if problem.topics().iter().all(|topic| topic.standbys == 0) {
        return Standbys::default();
    }
    let unpinned = problem.has_pins().then(|| Classes::of(problem, roles, Place::Standby));
    let classes = unpinned.as_ref().unwrap_or(classes);
    let mut copies = StandbyTable::keep(problem, classes, owners);
    for class in &classes.classes {
        copies.fill(class);
    }
    spread::spread(&mut copies);
    copies.into_standbys()
}

/// Standbys while they are placed.
struct StandbyTable<'a> {
    problem: &'a Problem,
    classes: &'a Classes,
    owners: &'a [Option<MemberIndex>],
    /// By unit where its places begin, and at the end their number.
    first: Vec<u32>,
    /// The places of standbys, unit after unit.
    places: Vec<Option<MemberIndex>>,
    /// By member: how many standbys it holds.
    held: Vec<u32>,
}

impl<'a> StandbyTable<'a> {
    fn keep(problem: &'a Problem, classes: &'a Classes, owners: &'a [Option<MemberIndex>]) -> Self {
        let mut first = Vec::with_capacity(problem.units() + 1);
        first.push(0);
        let members = u32::try_from(problem.members().len()).expect("members are counted in u32");
        for topic in problem.topics() {
            for _ in 0..topic.partitions {
                let unit = first.len() - 1;
                let others = members - u32::from(owners[unit].is_some());
                first.push(first[unit] + topic.standbys.min(others));
            }
        }
        let places = vec![None; first[problem.units()] as usize];
        let held = vec![0; problem.members().len()];
        let mut copies = Self { problem, classes, owners, first, places, held };
        for class in &classes.classes {
            for unit in class.unit_indices() {
                copies.keep_of(class, unit);
            }
        }
        copies
    }

    fn keep_of(&mut self, class: &UnitClass, unit: UnitIndex) {
        let owner = self.owners[unit.index()];
        let previous = self.problem.current(unit).filter(|previous| Some(*previous) != owner);
        let known = self.problem.standbys(unit).iter().map(|standby| standby.member);
        for member in previous.into_iter().chain(known) {
            let Some(place) = self.vacancy(unit) else { return };
            if self.may_keep(class, unit, member) {
                self.hold(place, member);
            }
        }
    }

    /// True if `member`, which has a copy of `unit`, may go on with it: a member on hold keeps what it may have,
    /// although it takes nothing.
    fn may_keep(&self, class: &UnitClass, unit: UnitIndex, member: MemberIndex) -> bool {
        if !self.is_on_hold(member) {
            return self.may_hold(class, unit, member);
        }
        self.problem.is_subscribed(self.problem.topic_of(unit).0, member)
            && !self.problem.is_barred(unit, member, Place::Standby)
            && !self.has(unit, member)
    }

    fn is_on_hold(&self, member: MemberIndex) -> bool {
        self.problem.member(member).state == MemberState::Hold
    }

    fn range(&self, unit: UnitIndex) -> std::ops::Range<usize> {
        self.first[unit.index()] as usize..self.first[unit.index() + 1] as usize
    }

    /// The first free place of the unit.
    fn vacancy(&self, unit: UnitIndex) -> Option<usize> {
        self.range(unit).find(|place| self.places[*place].is_none())
    }

    /// True if `member` takes units of `class` and has no copy of `unit` yet.
    fn may_hold(&self, class: &UnitClass, unit: UnitIndex, member: MemberIndex) -> bool {
        self.classes.takes(member, class) && !self.has(unit, member)
    }

    /// True if `member` owns `unit` or has a copy of it already.
    fn has(&self, unit: UnitIndex, member: MemberIndex) -> bool {
        self.owners[unit.index()] == Some(member) || self.places[self.range(unit)].contains(&Some(member))
    }

    /// The number of other copies of `unit`, apart from the one at `place`, in the rack of `member`.
    fn company(&self, unit: UnitIndex, place: usize, member: MemberIndex) -> usize {
        let Some(rack) = self.rack(member) else { return 0 };
        let others = self.range(unit).filter(|other| *other != place).filter_map(|other| self.places[other]);
        let holders = others.chain(self.owners[unit.index()]);
        holders.filter(|holder| self.rack(*holder) == Some(rack)).count()
    }

    fn rack(&self, member: MemberIndex) -> Option<RackIndex> {
        self.problem.member(member).rack
    }

    /// Gives the free places of `class` to its takers: to those that hold the fewest, one after the other, so that
    /// the units of one owner have their copies at many.
    fn fill(&mut self, class: &UnitClass) {
        let free: Vec<usize> = class
            .unit_indices()
            .flat_map(|unit| self.range(unit))
            .filter(|place| self.places[*place].is_none())
            .collect();
        if free.is_empty() {
            return;
        }
        let mut turns = self.turns(class, free.len());
        let mut at = 0;
        let mut others = None;
        // Owner after owner: owners alternate over the units of a topic as turns do, and would meet the same turns.
        let mut units: Vec<UnitIndex> =
            class.unit_indices().filter(|unit| self.vacancy(*unit).is_some()).collect();
        units.sort_unstable_by_key(|unit| (self.owners[unit.index()], *unit));
        for unit in units {
            while let Some(place) = self.vacancy(unit) {
                if let Some(turn) = self.find_turn(class, unit, place, &turns[at..]) {
                    turns.swap(at, at + turn);
                    self.hold(place, turns[at]);
                    at += 1;
                } else if !self.give_to_any(class, unit, place, &mut others) {
                    break;
                }
            }
        }
    }

    fn hold(&mut self, place: usize, member: MemberIndex) {
        self.places[place] = Some(member);
        self.held[member.index()] += 1;
    }

    /// The member whose turn it is, for each of `copies` copies.
    fn turns(&self, class: &UnitClass, copies: usize) -> Vec<MemberIndex> {
        let scale = Scale::of(self.problem.members().iter().map(|member| member.capacity));
        let mut takers: Vec<_> = self.classes.takers(class).collect();
        self.alternate_racks(&mut takers);
        let member_node = |member: &MemberIndex| MemberNode {
            load: self.held[member.index()],
            limit: ANY,
            most: ANY,
            marginal_cost: MarginalCost::taking(self.problem.member(*member).capacity, scale),
        };
        let copies = u32::try_from(copies).expect("standbys are counted in u32");
        let shares = FillLevels::of(takers.iter().map(member_node)).shares(copies, |_, _| Reverse(0));
        let mut left: Vec<(MemberIndex, u32)> = takers.into_iter().zip(shares).collect();
        let mut turns = Vec::with_capacity(copies as usize);
        while !left.is_empty() {
            left.retain(|(_, share)| *share > 0);
            for (member, share) in &mut left {
                turns.push(*member);
                *share -= 1;
            }
        }
        turns
    }

    /// Orders `members` so that neighbours are in different racks, as far as there are such.
    fn alternate_racks(&self, members: &mut [MemberIndex]) {
        let mut seen = vec![0_u32; self.problem.racks().len() + 1];
        let mut order: Vec<_> = members
            .iter()
            .map(|member| {
                let rack = self.rack(*member).map_or(seen.len() - 1, RackIndex::index);
                seen[rack] += 1;
                (seen[rack], rack, *member)
            })
            .collect();
        order.sort_unstable();
        members.iter_mut().zip(order).for_each(|(member, (_, _, ordered))| *member = ordered);
    }

    /// The next turn for `place`: the first of a member in a rack of its own, or else of any that may.
    fn find_turn(
        &self,
        class: &UnitClass,
        unit: UnitIndex,
        place: usize,
        turns: &[MemberIndex],
    ) -> Option<usize> {
        let near = turns.iter().take(LOOK_AHEAD).enumerate();
        let mut able = near.filter(|(_, member)| self.may_hold(class, unit, **member)).peekable();
        let first = able.peek().map(|(turn, _)| *turn);
        able.find(|(_, member)| self.company(unit, place, **member) == 0).map(|(turn, _)| turn).or(first)
    }

    /// Gives the place to the member with the fewest standbys for its capacity that may have it; false if there is
    /// none. `others` are the takers of the class in that order, once they were needed; only the owner and those that
    /// hold the unit already are passed over.
    fn give_to_any(
        &mut self,
        class: &UnitClass,
        unit: UnitIndex,
        place: usize,
        others: &mut Option<BTreeSet<(u64, MemberIndex)>>,
    ) -> bool {
        let by_level = || self.classes.takers(class).map(|member| (self.level(member), member)).collect();
        let others = others.get_or_insert_with(by_level);
        while let Some((known, member)) =
            others.iter().copied().find(|(_, member)| self.may_hold(class, unit, *member))
        {
            others.remove(&(known, member));
            let is_known = known == self.level(member);
            if is_known {
                self.hold(place, member);
            }
            others.insert((self.level(member), member));
            if is_known {
                return true;
            }
        }
        false
    }

    /// The number of standbys that `member` holds for its capacity.
    fn level(&self, member: MemberIndex) -> u64 {
        let capacity = u64::from(self.problem.member(member).capacity.thousandths());
        (u64::from(self.held[member.index()]) << 30) / capacity
    }

    fn into_standbys(self) -> Standbys {
        let of = |unit| self.places[self.range(unit)].iter().flatten().copied().collect::<Vec<_>>();
        Standbys::new(self.problem.unit_indices().map(of))
    }
}
