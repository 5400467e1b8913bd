//! Restrictions of owners: bans, pins, and units that stay with their owner for a while.

use super::Problem;
use crate::{MemberIndex, MemberState, UnitIndex};

/// The relation of a member to a unit: it owns it, or holds a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It owns it.
    Owner,
    /// It holds a copy of its state.
    Standby,
}

impl Problem {
    /// The units that any member is banned from, or that are pinned if that counts for `place`; ascending.
    pub(crate) fn banned_units(&self, place: Place) -> impl Iterator<Item = UnitIndex> {
        let pins = self.pins_for(place);
        let mut units: Vec<_> = self.bans.iter().chain(pins).map(|(unit, _)| *unit).collect();
        units.sort_unstable();
        units.dedup();
        units.into_iter()
    }

    /// True if `unit` must not go to `member`, nor stay there: it is banned, or pinned to others. A standby may be at a
    /// member that the unit is not pinned to.
    pub fn is_banned(&self, unit: UnitIndex, member: MemberIndex) -> bool {
        self.is_barred(unit, member, Place::Owner)
    }

    /// True if `member` must not have the `place` of `unit`.
    pub(crate) fn is_barred(&self, unit: UnitIndex, member: MemberIndex, place: Place) -> bool {
        let is_listed = |list: &[_]| !list.is_empty() && list.binary_search(&(unit, member)).is_ok();
        is_listed(&self.bans) || (place == Place::Owner && self.is_pinned(unit) && !is_listed(&self.pins))
    }

    /// The pins that count for `place`: they say who is to own a unit, not who holds copies of it.
    fn pins_for(&self, place: Place) -> &[(UnitIndex, MemberIndex)] {
        match place {
            Place::Owner => &self.pins,
            Place::Standby => &[],
        }
    }

    /// True if any unit is pinned.
    pub(crate) fn has_pins(&self) -> bool {
        !self.pins.is_empty()
    }

    /// True if `unit` is pinned to members of which at least one can have it.
    pub fn is_pinned(&self, unit: UnitIndex) -> bool {
        !self.pins.is_empty() && is_among(&self.pins, unit)
    }

    /// True if any member is banned from `unit`.
    pub(crate) fn has_bans(&self, unit: UnitIndex) -> bool {
        is_among(&self.bans, unit) || is_among(&self.pins, unit)
    }

    /// The members that `unit` is banned from, and those that it is pinned to; ascending. Units of one topic for
    /// which both are equal can go to the same members.
    pub(crate) fn restriction(&self, unit: UnitIndex, place: Place) -> (Vec<MemberIndex>, Vec<MemberIndex>) {
        (listed_with(&self.bans, unit), listed_with(self.pins_for(place), unit))
    }

    /// True if any member is banned from any unit.
    pub(crate) fn is_ever_banned(&self) -> bool {
        !(self.bans.is_empty() && self.pins.is_empty())
    }

    /// True if `unit` moved lately and so stays with its owner while that may own it.
    pub fn is_cooling(&self, unit: UnitIndex) -> bool {
        !self.cooling.is_empty() && self.cooling.binary_search(&unit).is_ok()
    }

    /// True if any unit moved lately.
    pub(crate) fn has_cooling(&self) -> bool {
        !self.cooling.is_empty()
    }

    /// Leaves out the pins of units that no member they are pinned to can have.
    pub(super) fn choose_pins(&mut self) {
        let can_have = |(unit, member): &(UnitIndex, MemberIndex)| match self.member(*member).state {
            MemberState::Active => self.may_own(*unit, *member),
            MemberState::Hold => self.current(*unit) == Some(*member) && self.may_own(*unit, *member),
            MemberState::Draining => false,
        };
        let of_one_unit = self.pins.chunk_by(|a, b| a.0 == b.0);
        self.pins = of_one_unit.filter(|pins| pins.iter().any(can_have)).flatten().copied().collect();
    }
}

/// True if `list`, sorted, has an entry of `unit`.
fn is_among(list: &[(UnitIndex, MemberIndex)], unit: UnitIndex) -> bool {
    let at = list.partition_point(|(listed, _)| *listed < unit);
    list.get(at).is_some_and(|(listed, _)| *listed == unit)
}

/// The members that `list`, sorted, names together with `unit`.
fn listed_with(list: &[(UnitIndex, MemberIndex)], unit: UnitIndex) -> Vec<MemberIndex> {
    let from = list.partition_point(|(listed, _)| *listed < unit);
    list[from..].iter().take_while(|(listed, _)| *listed == unit).map(|(_, member)| *member).collect()
}
