//! The sticky rule where all members are subscribed to the same topics.

mod near;
mod open;

use super::claims::Claims;
use super::{Group, GroupAssignment};
use crate::{MemberIndex, TopicIndex, UnitIndex};
use open::Open;

/// Gives each member as many units as any other, or one less, and leaves with it what it had as
/// far as that goes. `by_rack` if racks matter.
pub(super) fn assign(group: &Group, claims: &Claims, by_rack: bool) -> GroupAssignment {
    let mut shares = EqualShares::of(group, claims, by_rack);
    let mut open = shares.keep(group);
    let mut free = shares.free(group);
    if by_rack {
        free.sort_by_key(|unit| members_near(group, *unit));
        free = near::give(group, &mut shares, &mut open, free);
    }
    give(&mut shares, open, free);
    GroupAssignment::new(shares.owned)
}

/// The number of members in the racks of the unit's replicas, a rack's as often as it is one.
fn members_near(group: &Group, unit: UnitIndex) -> usize {
    group.racks.of_unit(unit).iter().map(|rack| group.racks.members_in(*rack)).sum()
}

/// The units that each member has, and the number that it shall have.
struct EqualShares {
    owned: Vec<Vec<UnitIndex>>,
    /// The least that a member shall have, and the most: equal, or one apart.
    min: usize,
    max: usize,
    /// The number of members that may still come to have more than `min`.
    larger: usize,
}

impl EqualShares {
    /// Everything that members own, of each topic the same partitions first.
    fn of(group: &Group, claims: &Claims, by_rack: bool) -> Self {
        let (units, members) = (group.served_units().count(), group.members().len().max(1));
        let (min, max) = (units / members, units.div_ceil(members));
        let mut owned = vec![Vec::with_capacity(max); group.members().len()];
        if !group.claims.is_empty() {
            by_partition(group, |unit| {
                let fits = |owner: &MemberIndex| !by_rack || group.racks.fit(*owner, unit);
                if let Some(owner) = claims.uncontested(unit).filter(fits) {
                    owned[owner.index()].push(unit);
                }
            });
        }
        Self { owned, min, max, larger: units % members }
    }

    /// Takes away what is above the shares; returns who can take more.
    fn keep(&mut self, group: &Group) -> Open {
        let (mut under, mut exact) = (Vec::new(), Vec::new());
        for member in &group.map_order {
            let owned = &mut self.owned[member.index()];
            if owned.len() < self.min {
                under.push(*member);
            } else if owned.len() >= self.max && self.larger > 0 {
                owned.truncate(self.max);
                self.larger -= 1;
            } else {
                owned.truncate(self.min);
                exact.push(*member);
            }
        }
        under.sort_unstable();
        exact.sort_unstable();
        exact.truncate(if self.larger > 0 { exact.len() } else { 0 });
        Open { under, exact: exact.into() }
    }

    /// The units that no member has, ascending.
    fn free(&self, group: &Group) -> Vec<UnitIndex> {
        let mut is_owned = vec![false; group.units()];
        self.owned.iter().flatten().for_each(|unit| is_owned[unit.index()] = true);
        group.served_units().filter(|unit| !is_owned[unit.index()]).collect()
    }

    /// Gives `unit` to `member`; returns how many it has then.
    fn give(&mut self, unit: UnitIndex, member: MemberIndex) -> usize {
        let owned = &mut self.owned[member.index()];
        owned.push(unit);
        owned.len()
    }
}

/// Visits the served units by partition and then by topic.
fn by_partition(group: &Group, mut visit: impl FnMut(UnitIndex)) {
    let mut topics: Vec<TopicIndex> = group.served_topics().collect();
    let mut partition = 0;
    while !topics.is_empty() {
        topics.retain(|topic| group.partitions(*topic) > partition);
        for topic in &topics {
            visit(UnitIndex::new(group.first_unit[topic.index()] + partition as usize));
        }
        partition += 1;
    }
}

/// Gives `free` in order to those that are under their share in turn, and then to those that may
/// have one more.
fn give(shares: &mut EqualShares, open: Open, free: Vec<UnitIndex>) {
    let Open { mut under, mut exact } = open;
    let mut free = free.into_iter();
    while !under.is_empty() && free.len() > 0 {
        under.retain(|member| {
            let Some(unit) = free.next() else { return true };
            let is_done = shares.give(unit, *member) >= shares.min;
            if is_done {
                exact.push_back(*member);
            }
            !is_done
        });
    }
    for (unit, member) in free.zip(exact) {
        shares.give(unit, member);
    }
}
