//! Holders of copies of a unit's state today.

use crate::{MemberIndex, UnitIndex};

/// A member that holds a unit as standby.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Standby {
    /// The lag of its copy behind the owner, in records.
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
    pub(super) fn new(units: usize, told: impl Iterator<Item = (UnitIndex, Standby)> + Clone) -> Self {
        let Some((_, any)) = told.clone().next() else { return Self::default() };
        let mut first = vec![0; units + 1];
        told.clone().for_each(|(unit, _)| first[unit.index() + 1] += 1);
        for unit in 0..units {
            first[unit + 1] += first[unit];
        }
        let mut standbys = vec![any; first[units] as usize];
        let mut next = first.clone();
        for (unit, standby) in told {
            standbys[next[unit.index()] as usize] = standby;
            next[unit.index()] += 1;
        }
        let mut list = Self { first, standbys };
        list.put_in_order();
        list
    }

    /// Keeps one report of each member on each unit, and sorts them.
    fn put_in_order(&mut self) {
        let (mut start, mut kept) = (0, 0);
        for unit in 1..self.first.len() {
            let told = start..self.first[unit] as usize;
            start = told.end;
            let of_unit = kept;
            self.standbys[told.clone()].sort_unstable_by_key(|standby| (standby.member, standby.lag));
            for at in told {
                let standby = self.standbys[at];
                if kept == of_unit || self.standbys[kept - 1].member != standby.member {
                    self.standbys[kept] = standby;
                    kept += 1;
                }
            }
            self.standbys[of_unit..kept].sort_unstable();
            self.first[unit] = u32::try_from(kept).expect("standbys are counted in u32");
        }
        self.standbys.truncate(kept);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_unit_the_nearest_come_first_and_every_member_once() {
        let told = [(2, 7, 1), (0, 3, 0), (2, 5, 2), (0, 3, 2), (2, 4, 1), (2, 5, 0), (0, 9, 0)];
        let [told, backwards] = [told, std::array::from_fn(|at| told[told.len() - 1 - at])].map(|told| {
            let standby = |(unit, lag, member): (usize, u64, usize)| {
                (UnitIndex::new(unit), Standby { lag, member: MemberIndex::new(member) })
            };
            StandbyList::new(4, told.into_iter().map(standby))
        });
        let of = |unit| told.of(unit).iter().map(|of| (of.lag, of.member.index())).collect::<Vec<_>>();
        assert_eq!([of(0), of(1)], [vec![(3, 0), (3, 2)], vec![]]);
        assert_eq!([of(2), of(3)], [vec![(4, 1), (5, 0), (5, 2)], vec![]]);
        assert_eq!(told, backwards);
    }
}
