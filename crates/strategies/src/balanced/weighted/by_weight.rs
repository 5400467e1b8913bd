//! Units that members can give, by weight: [`GivableUnits`].

use super::scales::Scales;
use crate::balanced::roles::MemberRole;
use crate::{MemberIndex, UnitIndex};

/// Units of one member and class, the lightest first.
#[derive(Clone, Debug, Default)]
pub(super) struct UnitsByWeight {
    pub(super) class: u32,
    pub(super) units: Vec<(u64, UnitIndex)>,
}

impl UnitsByWeight {
    /// The weight of its heaviest unit.
    pub(super) fn heaviest(&self) -> u64 {
        self.units.last().map_or(0, |(weight, _)| *weight)
    }

    /// The most that its units weigh together, by the heaviest.
    pub(super) fn at_most(&self) -> u64 {
        self.heaviest().saturating_mul(self.units.len() as u64)
    }

    /// Removes units that are on it, the lightest first.
    fn remove(&mut self, batch: &[(u64, UnitIndex)]) {
        let mut left = self.split_off(batch);
        let mut gone = batch.iter().peekable();
        left.retain(|entry| gone.next_if_eq(&entry).is_none());
        assert!(gone.next().is_none(), "the giver has them");
        self.units.append(&mut left);
    }

    /// Adds units that are not on it, the lightest first.
    fn insert(&mut self, batch: &[(u64, UnitIndex)]) {
        let mut heavier = self.split_off(batch);
        let from = self.units.len();
        self.units.extend(batch);
        self.units.append(&mut heavier);
        // Two sorted runs, which a stable sort merges.
        self.units[from..].sort();
    }

    /// Takes off what comes after the start of `batch`, so that only that need be looked at.
    fn split_off(&mut self, batch: &[(u64, UnitIndex)]) -> Vec<(u64, UnitIndex)> {
        let at =
            batch.first().map_or(self.units.len(), |first| self.units.partition_point(|entry| entry < first));
        self.units.split_off(at)
    }
}

/// The units that members can give.
pub(super) struct GivableUnits {
    /// By member, by class.
    of_member: Vec<Vec<UnitsByWeight>>,
    /// By member: the weight of the heaviest unit that it has and cannot give.
    heaviest_kept: Vec<u64>,
}

impl GivableUnits {
    pub(super) fn of(scales: &Scales<'_>) -> Self {
        let members = scales.problem.members().len();
        let mut givable = Self { of_member: vec![Vec::new(); members], heaviest_kept: vec![0; members] };
        let mut units: Vec<(u32, u64, UnitIndex)> = Vec::with_capacity(scales.problem.units());
        for unit in scales.problem.unit_indices() {
            units.push((scales.class_of[unit.index()], scales.weight(unit), unit));
        }
        units.sort_unstable();
        for (class, weight, unit) in units {
            let Some(owner) = scales.owner[unit.index()] else { continue };
            if scales.is_free[unit.index()] && scales.roles.role(owner) == MemberRole::Takes {
                givable.list(owner, class).units.push((weight, unit));
            } else {
                let heaviest = &mut givable.heaviest_kept[owner.index()];
                *heaviest = (*heaviest).max(weight);
            }
        }
        givable
    }

    /// The units that `member` can give, by class.
    pub(super) fn of_member(&self, member: MemberIndex) -> &[UnitsByWeight] {
        &self.of_member[member.index()]
    }

    /// True if `member` can give anything.
    pub(super) fn gives(&self, member: MemberIndex) -> bool {
        self.of_member(member).iter().any(|list| !list.units.is_empty())
    }

    /// The weight of the heaviest unit of `member`, whether it can give it or not.
    pub(super) fn heaviest(&self, member: MemberIndex) -> u64 {
        let free = self.of_member(member).iter().map(UnitsByWeight::heaviest);
        free.fold(self.heaviest_kept[member.index()], u64::max)
    }

    /// Puts units of that class, the lightest first, from the list of `giver` on that of `taker`.
    pub(super) fn pass(
        &mut self,
        class: u32,
        batch: &[(u64, UnitIndex)],
        giver: MemberIndex,
        taker: MemberIndex,
    ) {
        self.list(giver, class).remove(batch);
        self.list(taker, class).insert(batch);
    }

    fn list(&mut self, member: MemberIndex, class: u32) -> &mut UnitsByWeight {
        let lists = &mut self.of_member[member.index()];
        let position = lists.partition_point(|list| list.class < class);
        if lists.get(position).is_none_or(|list| list.class != class) {
            lists.insert(position, UnitsByWeight { class, units: Vec::new() });
        }
        &mut lists[position]
    }
}
