//! Asks a strategy about units until its answer, settled in partitions, moves nothing more: [`run`].

use super::unit_layout::UnitLayout;
use super::unit_table::UnitTable;
use super::united::{self, Parts};
use super::{PartitionReason, RestingPlacement, fewest, level, settle};
use crate::placement::{Placement, Standbys, Surplus, Unassigned};
use crate::problem::{MemberIndex, MemberState, Problem, UnitIndex};
use crate::strategy::{Manner, Strategy};

/// The most rounds. Each but the last lowers what has no owner, at draining members, above limits, or imbalance, so
/// that there are few; the bound is for strategies that do not rest.
const MOST_ROUNDS: usize = 8;

/// The answer after as many rounds as it takes. One is enough where there are no limits and nothing stays split: there
/// strategies rest by themselves. A movement budget is for one round.
pub(super) fn run(problem: &Problem, layout: &UnitLayout, strategy: &dyn Strategy) -> RestingPlacement {
    let mut settled = round(problem, layout, strategy, &problem.owners());
    let rests = settled.unassigned.is_empty() && !is_limited(problem);
    if rests || problem.options().movement_budget.is_some() {
        return settled;
    }
    for _ in 1..MOST_ROUNDS {
        let next = round(problem, layout, strategy, &settled.owners);
        if next.owners == settled.owners {
            break;
        }
        settled = RestingPlacement { lost: settled.lost, ..next };
    }
    settled
}

fn is_uneven(layout: &UnitLayout) -> bool {
    let (smallest, largest) = layout.sizes();
    smallest != largest
}

fn is_limited(problem: &Problem) -> bool {
    problem.members().iter().any(|member| member.max_partitions.is_some())
}

fn round(
    problem: &Problem,
    layout: &UnitLayout,
    strategy: &dyn Strategy,
    owners: &[Option<MemberIndex>],
) -> RestingPlacement {
    let parts = Parts::of(layout, owners);
    let units = united::problem(problem, layout, &parts);
    let manner = strategy.manner();
    let base = UnitTable::new(problem, &units, layout, &parts);
    if manner == Manner::Partitions && is_uneven(layout) {
        let mut table = staying(&base);
        level::level(&mut table);
        return told(&table, owners, Placement::new(&units, vec![None; units.units()], Surplus::Count), &[]);
    }
    let placement = strategy.assign(&asked(problem, layout, units.clone()));
    let left_out: Vec<UnitIndex> = placement
        .unassigned
        .iter()
        .filter(|(_, why)| *why == Unassigned::LeftOut)
        .map(|(at, _)| *at)
        .collect();
    let mut table = base.clone();
    table.adopt(&placement.owner);
    settle::settle(&mut table, &left_out);
    if matches!(manner, Manner::Loads | Manner::Partitions) && !is_uneven(layout) {
        fewest::gather(&mut table, manner == Manner::Loads);
    }
    if is_uneven(layout) && is_limited(problem) && manner != Manner::Anew {
        let stays = staying(&base);
        if stays.score() <= table.score() {
            table = stays;
        }
    }
    told(&table, owners, placement, &left_out)
}

/// The table of today's owners, with as few changes as must be.
fn staying<'a>(base: &UnitTable<'a>) -> UnitTable<'a> {
    let mut table = base.clone();
    table.stay();
    settle::settle(&mut table, &[]);
    table
}

/// The problem that the strategy is asked: with limits that are exact for units of one size, and for others of as many
/// as the smallest ones that fit.
fn asked(problem: &Problem, layout: &UnitLayout, units: Problem) -> Problem {
    let smallest = layout.sizes().0;
    problem.member_indices().fold(units, |units, member| {
        let limit = problem.member(member).max_partitions.map(|partitions| partitions / smallest);
        units.limited(member, limit)
    })
}

fn told(
    table: &UnitTable<'_>,
    owners: &[Option<MemberIndex>],
    placement: Placement,
    left_out: &[UnitIndex],
) -> RestingPlacement {
    let mut after = owners.to_vec();
    for unit in table.layout.units() {
        for at in table.layout.partitions(unit) {
            let stays = || owners[at.index()].filter(|owner| table.units.may_own(unit, *owner));
            after[at.index()] = table.owner(unit).or_else(stays);
        }
    }
    RestingPlacement {
        lost: lost(table, owners),
        standbys: standbys(table, &placement),
        unassigned: reasons(table, left_out),
        owner: table.owners().to_vec(),
        owners: after,
        surplus: placement.surplus,
    }
}

fn lost(table: &UnitTable<'_>, owners: &[Option<MemberIndex>]) -> Vec<u32> {
    let mut lost = vec![0; table.units.members().len()];
    for unit in table.layout.units().filter(|unit| table.units.fixed(*unit).is_none()) {
        let owners = table.layout.partitions(unit).filter_map(|at| owners[at.index()]);
        owners.filter(|owner| !table.units.may_own(unit, *owner)).for_each(|owner| lost[owner.index()] += 1);
    }
    lost
}

/// The strategy's standbys. Where a standby became the owner, the owner that the strategy proposed takes its place.
fn standbys(table: &UnitTable<'_>, placement: &Placement) -> Standbys {
    if placement.standbys.is_empty() {
        return Standbys::default();
    }
    Standbys::new(table.layout.units().map(|unit| {
        let (owner, proposed) = (table.owner(unit), placement.owner[unit.index()]);
        let instead = |member: &MemberIndex| if Some(*member) == owner { proposed } else { Some(*member) };
        placement.standbys.of(unit).iter().filter_map(instead).collect::<Vec<_>>()
    }))
}

/// The reasons of the units that no member owns. Whoever could own one is full: settling has tried all.
fn reasons(table: &UnitTable<'_>, left_out: &[UnitIndex]) -> Vec<(UnitIndex, PartitionReason)> {
    let full = table
        .units
        .member_indices()
        .filter(|member| table.units.member(*member).state == MemberState::Active);
    let full = full.fold(table.units.clone(), |units, member| units.limited(member, Some(0)));
    let explained = Placement::new(&full, table.owners().to_vec(), Surplus::Count).unassigned;
    let words = |(unit, why): (UnitIndex, Unassigned)| {
        let why = if left_out.binary_search(&unit).is_ok() { Unassigned::LeftOut } else { why };
        let reason = match table.layout.is_of_set(unit) {
            true if table.waits(unit) => PartitionReason::PartOnHold,
            true => PartitionReason::OfSet(why),
            false => PartitionReason::OfPartition(why),
        };
        (unit, reason)
    };
    explained.into_iter().map(words).collect()
}
