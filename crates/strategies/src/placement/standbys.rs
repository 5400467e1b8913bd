//! Holders of copies of a unit's state: [`Standbys`].

use crate::{MemberIndex, UnitIndex};

/// The standbys of every unit, in flat vectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standbys {
    /// By unit: where its standbys end in `members`. Empty if there are none at all.
    end: Vec<u32>,
    members: Vec<MemberIndex>,
}

impl Standbys {
    /// The standbys of each unit, in the order of the units.
    ///
    /// # Panics
    ///
    /// If there are 2³² or more.
    pub fn new<M: AsRef<[MemberIndex]>>(by_unit: impl IntoIterator<Item = M>) -> Self {
        let (mut end, mut members) = (Vec::new(), Vec::new());
        for standbys in by_unit {
            members.extend_from_slice(standbys.as_ref());
            end.push(u32::try_from(members.len()).expect("standbys are counted in u32"));
        }
        if members.is_empty() { Self::default() } else { Self { end, members } }
    }

    /// The members that should hold `unit` as standby, in order of preference; never its owner.
    #[inline]
    pub fn of(&self, unit: UnitIndex) -> &[MemberIndex] {
        let Some(end) = self.end.get(unit.index()) else { return &[] };
        let start = unit.index().checked_sub(1).map_or(0, |before| self.end[before]);
        &self.members[start as usize..*end as usize]
    }

    /// True if no unit has a standby.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The number of standbys over all units.
    pub fn len(&self) -> usize {
        self.members.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_has_its_own() {
        let [a, b] = [0, 1].map(MemberIndex::new);
        let standbys = Standbys::new([vec![], vec![a, b], vec![], vec![b]]);
        let of = |unit| standbys.of(UnitIndex::new(unit));
        assert_eq!([of(0), of(1), of(2), of(3)], [&[][..], &[a, b], &[], &[b]]);
        assert_eq!(standbys.len(), 3);
    }

    #[test]
    fn where_none_are_wanted_none_are_kept() {
        let none = Standbys::new([vec![], vec![]]);
        assert_eq!(none, Standbys::default());
        assert_eq!(none.of(UnitIndex::new(1)), &[]);
    }
}
