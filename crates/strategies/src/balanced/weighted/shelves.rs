//! Who can give what: [`Shelves`].

use super::scales::Scales;
use crate::balanced::roles::Role;
use crate::{MemberIndex, UnitIndex};

/// Units of one member and class, the lightest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Shelf {
    pub(super) class: u32,
    pub(super) units: Vec<(u64, UnitIndex)>,
}

impl Shelf {
    /// The weight of its heaviest unit.
    pub(super) fn heaviest(&self) -> u64 {
        self.units.last().map_or(0, |(weight, _)| *weight)
    }

    /// What its units weigh together at most, by the heaviest.
    pub(super) fn at_most(&self) -> u64 {
        self.heaviest().saturating_mul(self.units.len() as u64)
    }
}

/// The units that members can give.
pub(super) struct Shelves {
    /// By member, by class.
    of_member: Vec<Vec<Shelf>>,
    /// By member: the weight of the heaviest unit that it has and cannot give.
    heaviest_kept: Vec<u64>,
}

impl Shelves {
    pub(super) fn of(scales: &Scales<'_>) -> Self {
        let members = scales.problem.members().len();
        let mut shelves = Self { of_member: vec![Vec::new(); members], heaviest_kept: vec![0; members] };
        let mut units: Vec<(u32, u64, UnitIndex)> = Vec::with_capacity(scales.problem.units());
        for unit in scales.problem.unit_indices() {
            units.push((scales.class_of[unit.index()], scales.weight(unit), unit));
        }
        units.sort_unstable();
        for (class, weight, unit) in units {
            let Some(owner) = scales.owner[unit.index()] else { continue };
            if scales.is_free[unit.index()] && scales.roles.role(owner) == Role::Takes {
                shelves.shelf(owner, class).units.push((weight, unit));
            } else {
                let heaviest = &mut shelves.heaviest_kept[owner.index()];
                *heaviest = (*heaviest).max(weight);
            }
        }
        shelves
    }

    /// What `member` can give, by class.
    pub(super) fn of_member(&self, member: MemberIndex) -> &[Shelf] {
        &self.of_member[member.index()]
    }

    /// Whether `member` can give anything.
    pub(super) fn gives(&self, member: MemberIndex) -> bool {
        self.of_member(member).iter().any(|shelf| !shelf.units.is_empty())
    }

    /// The weight of the heaviest unit of `member`, whether it can give it or not.
    pub(super) fn heaviest(&self, member: MemberIndex) -> u64 {
        let free = self.of_member(member).iter().map(Shelf::heaviest);
        free.fold(self.heaviest_kept[member.index()], u64::max)
    }

    /// Puts `unit` of that class and weight from the shelf of `giver` on that of `taker`.
    pub(super) fn pass(
        &mut self,
        (class, weight, unit): (u32, u64, UnitIndex),
        giver: MemberIndex,
        taker: MemberIndex,
    ) {
        let units = &mut self.shelf(giver, class).units;
        let position = units.binary_search(&(weight, unit)).expect("the giver has it");
        units.remove(position);
        let units = &mut self.shelf(taker, class).units;
        let position = units.binary_search(&(weight, unit)).expect_err("the taker has it not");
        units.insert(position, (weight, unit));
    }

    fn shelf(&mut self, member: MemberIndex, class: u32) -> &mut Shelf {
        let shelves = &mut self.of_member[member.index()];
        let position = shelves.partition_point(|shelf| shelf.class < class);
        if shelves.get(position).is_none_or(|shelf| shelf.class != class) {
            shelves.insert(position, Shelf { class, units: Vec::new() });
        }
        &mut shelves[position]
    }
}
