//! Units for members in the racks of their replicas.

use std::collections::BTreeSet;

use super::super::Group;
use super::EqualShares;
use super::open::Open;
use crate::{MemberIndex, UnitIndex};

/// Members in a line, some of whom have left it, by rack.
struct Line {
    /// By place; a member that left is still here.
    members: Vec<MemberIndex>,
    /// By rack, the places of those that have not left.
    waiting: Vec<BTreeSet<usize>>,
}

impl Line {
    fn of(group: &Group, members: impl IntoIterator<Item = MemberIndex>) -> Self {
        let mut line = Self { members: Vec::new(), waiting: vec![BTreeSet::new(); group.racks.count()] };
        members.into_iter().for_each(|member| line.join(group, member));
        line
    }

    fn join(&mut self, group: &Group, member: MemberIndex) {
        if let Some(rack) = group.racks.of_member(member) {
            self.waiting[rack.index()].insert(self.members.len());
        }
        self.members.push(member);
    }

    fn leave(&mut self, group: &Group, place: usize) {
        let rack = group.racks.of_member(self.members[place]).expect("only those with a rack are found");
        self.waiting[rack.index()].remove(&place);
    }

    /// The first place at or after `start`, going around, of a member near `unit`.
    fn near(&self, group: &Group, unit: UnitIndex, start: usize) -> Option<usize> {
        let places = |range: std::ops::RangeFrom<usize>| {
            let racks = group.racks.of_unit(unit).iter();
            racks.filter_map(|rack| self.waiting[rack.index()].range(range.clone()).next()).min()
        };
        places(start..).or_else(|| places(0..)).copied()
    }
}

/// Gives what it can of `free` to members nearby; returns the rest.
pub(super) fn give(
    group: &Group,
    shares: &mut EqualShares,
    open: &mut Open,
    free: Vec<UnitIndex>,
) -> Vec<UnitIndex> {
    let mut giving = NearGiving {
        group,
        under: Line::of(group, open.under.iter().copied()),
        exact: Line::of(group, open.exact.iter().copied()),
        has_left: vec![false; group.members().len()],
        cursor: 0,
        shares,
    };
    let rest = free.into_iter().filter(|unit| !giving.give(*unit)).collect();
    *open = giving.still_open(open);
    rest
}

struct NearGiving<'a> {
    group: &'a Group,
    shares: &'a mut EqualShares,
    under: Line,
    exact: Line,
    /// By member, whether it left the line that it was in last.
    has_left: Vec<bool>,
    /// The place in `under` at which the next search starts.
    cursor: usize,
}

impl NearGiving<'_> {
    fn give(&mut self, unit: UnitIndex) -> bool {
        if let Some(place) = self.under.near(self.group, unit, self.cursor) {
            self.give_under(unit, place);
        } else if let Some(place) = self.exact_near(unit) {
            let member = self.exact.members[place];
            self.shares.give(unit, member);
            self.exact.leave(self.group, place);
            self.has_left[member.index()] = true;
            self.shares.larger -= 1;
        } else {
            return false;
        }
        true
    }

    fn exact_near(&self, unit: UnitIndex) -> Option<usize> {
        self.exact.near(self.group, unit, 0).filter(|_| self.shares.larger > 0)
    }

    fn give_under(&mut self, unit: UnitIndex, place: usize) {
        let member = self.under.members[place];
        if self.shares.give(unit, member) >= self.shares.min {
            self.under.leave(self.group, place);
            self.has_left[member.index()] = true;
            if self.shares.max > self.shares.min && self.shares.larger > 0 {
                self.exact.join(self.group, member);
                self.has_left[member.index()] = false;
            }
        }
        self.cursor = place + 1;
    }

    /// The lines as they are now: `under` without those that left it, `exact` with those that came.
    fn still_open(&self, before: &Open) -> Open {
        let min = self.shares.min;
        let is_under = |member: &&MemberIndex| self.shares.owned[member.index()].len() < min;
        let under = before.under.iter().filter(is_under).copied().collect();
        let exact = self.exact.members.iter().filter(|member| !self.has_left[member.index()]);
        Open { under, exact: if self.shares.larger > 0 { exact.copied().collect() } else { [].into() } }
    }
}
