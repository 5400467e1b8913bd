//! Numbers of units by topic and member: [`Grid`].

use super::alike::AlikeUnits;
use crate::balanced::cost::{MarginalCost, Scale};
use crate::balanced::roles::{MemberRole, Roles};
use crate::{MemberIndex, Problem, TopicIndex, UnitIndex};

/// The units of one topic at one member.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TopicCell {
    /// True if the member may take units of the topic.
    pub(super) is_open: bool,
    /// The number of units that stay whatever is done.
    pub(super) kept: u32,
    /// The number of the others.
    pub(super) free: u32,
    /// The number of units, free now, that the member owns today.
    pub(super) had: u32,
}

/// A member that takes and gives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    member: MemberIndex,
    pub(super) load: u32,
    pub(super) limit: u32,
    /// The cost of its units in all, and of those of one topic: on one scale for all members, so that ties are ties.
    pub(super) squares: MarginalCost,
}

/// Numbers of units by topic and member.
pub(super) struct Grid {
    rows: Vec<TopicIndex>,
    pub(super) columns: Vec<Column>,
    /// By member: its column, if it has one.
    column_of: Vec<Option<usize>>,
    /// Topic after topic.
    pub(super) cells: Vec<TopicCell>,
    /// By unit: true if its owner may change.
    is_free: Vec<bool>,
    /// True if members may come to have one unit more or less.
    pub(super) loads_may_change: bool,
}

impl Grid {
    /// The numbers of the units that are `alike`; the others of their topics count as kept.
    pub(super) fn of(
        problem: &Problem,
        roles: &Roles,
        alike: &AlikeUnits,
        owners: &[Option<MemberIndex>],
    ) -> Self {
        let columns = columns(problem, roles, owners);
        let mut column_of = vec![None; problem.members().len()];
        columns.iter().enumerate().for_each(|(at, column)| column_of[column.member.index()] = Some(at));
        let mut grid = Self {
            rows: alike.topics.clone(),
            cells: vec![TopicCell::default(); alike.topics.len() * columns.len()],
            columns,
            column_of,
            is_free: vec![false; problem.units()],
            loads_may_change: alike.are_all
                && !roles.is_rolling
                && problem.options().movement_budget.is_none(),
        };
        for (row, topic) in alike.topics.iter().enumerate() {
            grid.open(problem, row, *topic);
            for unit in problem.units_of(*topic) {
                let is_kept = !alike.has(problem, unit);
                grid.count(problem, roles, row, (unit, is_kept), owners);
            }
        }
        grid
    }

    fn open(&mut self, problem: &Problem, row: usize, topic: TopicIndex) {
        for at in 0..self.columns.len() {
            let is_open = problem.is_subscribed(topic, self.columns[at].member);
            self.cell_mut(row, at).is_open = is_open;
        }
    }

    /// Counts a unit, which may be one that is kept in any case.
    fn count(
        &mut self,
        problem: &Problem,
        roles: &Roles,
        row: usize,
        (unit, is_kept): (UnitIndex, bool),
        owners: &[Option<MemberIndex>],
    ) {
        let Some(at) = owners[unit.index()].and_then(|owner| self.column_of[owner.index()]) else { return };
        let today = problem.current(unit).filter(|owner| problem.may_own(unit, *owner));
        if is_kept || problem.has_bans(unit) || roles.keeper(problem, unit, today).is_some() {
            self.cell_mut(row, at).kept += 1;
            return;
        }
        self.is_free[unit.index()] = true;
        self.cell_mut(row, at).free += 1;
        if let Some(today) = today.and_then(|today| self.column_of[today.index()]) {
            self.cell_mut(row, today).had += 1;
        }
    }

    pub(super) fn topics(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn cell(&self, topic: usize, column: usize) -> &TopicCell {
        &self.cells[topic * self.columns.len() + column]
    }

    pub(super) fn cell_mut(&mut self, topic: usize, column: usize) -> &mut TopicCell {
        &mut self.cells[topic * self.columns.len() + column]
    }

    /// Brings owners in line with the numbers, with as few moves as these allow.
    pub(super) fn carry_out(&self, problem: &Problem, owners: &mut [Option<MemberIndex>]) {
        for (row, topic) in self.rows.iter().enumerate() {
            let columns = self.columns.len();
            let mut left: Vec<u32> = (0..columns).map(|column| self.cell(row, column).free).collect();
            let mut free: Vec<_> =
                problem.units_of(*topic).filter(|unit| self.is_free[unit.index()]).collect();
            let mut take = |unit: UnitIndex, member: Option<MemberIndex>, owners: &mut [_]| {
                let column = member.and_then(|member| self.column_of[member.index()]);
                let Some(column) = column.filter(|column| left[*column] > 0) else { return false };
                left[column] -= 1;
                owners[unit.index()] = member;
                true
            };
            free.retain(|unit| !take(*unit, problem.current(*unit), owners));
            free.retain(|unit| !take(*unit, owners[unit.index()], owners));
            let takers = (0..columns).flat_map(|at| vec![at; left[at] as usize]);
            for (unit, column) in free.into_iter().zip(takers) {
                owners[unit.index()] = Some(self.columns[column].member);
            }
        }
    }
}

/// The members that take and give and are not above their limits.
fn columns(problem: &Problem, roles: &Roles, owners: &[Option<MemberIndex>]) -> Vec<Column> {
    let mut loads = vec![0_u32; problem.members().len()];
    owners.iter().flatten().for_each(|owner| loads[owner.index()] += 1);
    let scale = Scale::of(problem.members().iter().map(|member| member.capacity));
    let column = |member: MemberIndex| {
        let capacity = problem.member(member).capacity;
        Column {
            member,
            load: loads[member.index()],
            limit: problem.member(member).limit(),
            squares: MarginalCost::taking(capacity, scale),
        }
    };
    let takes = |member: &MemberIndex| roles.role(*member) == MemberRole::Takes;
    let columns = problem.member_indices().filter(takes).map(column);
    columns.filter(|column| column.load <= column.limit).collect()
}
