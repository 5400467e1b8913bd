//! Who holds a copy of a unit's state today.

use crate::{MemberIndex, UnitIndex};

/// A member that holds a unit as standby.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Standby {
    /// How far behind the owner its copy is, in records.
    pub lag: u64,
    /// The member.
    pub member: MemberIndex,
}

/// The standbys of all units, unit after unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StandbyList {
    /// By unit: where its standbys begin in `standbys`, and at the end their number. Empty if there
    /// are none at all.
    first: Vec<u32>,
    standbys: Vec<Standby>,
}

impl StandbyList {
    /// Of each unit those that are told of it, nearest first; of two reports the smaller lag counts.
    pub(super) fn new(units: usize, mut told: Vec<(UnitIndex, Standby)>) -> Self {
        if told.is_empty() {
            return Self::default();
        }
        told.sort_unstable_by_key(|(unit, standby)| (*unit, standby.member, standby.lag));
        told.dedup_by_key(|(unit, standby)| (*unit, standby.member));
        told.sort_unstable();
        let mut first = vec![0; units + 1];
        for (unit, _) in &told {
            first[unit.index() + 1] += 1;
        }
        for unit in 0..units {
            first[unit + 1] += first[unit];
        }
        Self { first, standbys: told.into_iter().map(|(_, standby)| standby).collect() }
    }

    /// The same with members named as `name` says; those that it has no name for are left out. Names must not change
    /// the order of members.
    pub(super) fn renamed(self, name: impl Fn(MemberIndex) -> Option<MemberIndex>) -> Self {
        let mut told = Vec::with_capacity(self.standbys.len());
        let units = self.first.len().saturating_sub(1);
        for unit in 0..units {
            let of_unit = self.of(unit).iter();
            told.extend(of_unit.filter_map(|standby| {
                Some((UnitIndex::new(unit), Standby { member: name(standby.member)?, ..*standby }))
            }));
        }
        Self::new(units, told)
    }

    pub(crate) fn of(&self, unit: usize) -> &[Standby] {
        if self.first.is_empty() {
            return &[];
        }
        &self.standbys[self.first[unit] as usize..self.first[unit + 1] as usize]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.standbys.is_empty()
    }
}
