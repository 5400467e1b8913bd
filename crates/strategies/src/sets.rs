//! Co-partitioned sets, and limits in partitions: [`place`].
//!
//! ```text
//!  Problem of partitions ─┐                                        ┌─► Placement of partitions
//!                         ├─► layout ─► united ─► strategy ─► table ┤
//!  sets of topics ────────┘   units     Problem   proposal   settle └─► splits, reasons
//!                                       of units
//! ```
//!
//! Partitions of the same number in the topics of one set are one unit, as far as each topic reaches. A strategy places
//! units and counts each as one; this module tells it units, and settles in partitions what it proposes:
//!
//! - A member takes a unit if it is subscribed to all topics of its set and banned from none of its partitions.
//! - A limit counts partitions. No member takes above it; one that is above it keeps only units that
//!   were wholly its own and that no other member can have.
//! - A member that is draining or on hold takes nothing, not even the rest of a unit of which it has a part.
//! - A unit for which there is no member stays split: each part stays with its owner, if that may own the unit, and the
//!   rest has no owner. [`SetPlacement::splits`] names it.
//! - `balanced` finds a place for everything if limits leave one, within a bounded search, and so do the others for the
//!   units that limits turned away.
//! - If units are of one size, `balanced` and `sticky-balanced` gather sets that lie spread with the fewest partitions
//!   moved, without a worse balance. If they are not, `sticky-balanced` evens out numbers of partitions.
//! - A second run on the answer moves nothing.
//!
//! All who plan a group tell it here, the service's leader and `kafka-assigner assign` alike, so both get one answer.
//! Some things only `assign` can tell so far: racks of replicas, standbys that are wanted or held, pins and a movement
//! budget. The service knows none of them.

mod fewest;
mod level;
mod pack;
mod rounds;
mod settle;
mod unit_layout;
mod unit_table;
mod united;

use std::fmt;

use crate::placement::{Placement, Standbys, Surplus, Unassigned};
use crate::problem::{MemberIndex, Problem, TopicIndex, UnitIndex};
use crate::strategy::Strategy;
use unit_layout::UnitLayout;

/// The owner that each partition should have, where some move together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetPlacement {
    /// The placement of partitions. Its list of what is unassigned has the reasons of the units.
    pub placement: Placement,
    /// By entry of the placement's list of what is unassigned: the reason in words that fit.
    pub reasons: Vec<PartitionReason>,
    /// The units of which not all partitions have the same owner, by the first of their partitions, ascending.
    pub splits: Vec<UnitIndex>,
    /// By member: how many partitions it owns of units that it may not own; nothing where all are by themselves.
    lost: Option<Vec<u32>>,
}

impl SetPlacement {
    /// The same as [`Placement::moves_lower_bound`], with what is said of a partition true of its whole unit.
    pub fn moves_lower_bound(&self, problem: &Problem) -> usize {
        let Some(lost) = &self.lost else { return self.placement.moves_lower_bound(problem) };
        let free = |unit: &UnitIndex| problem.fixed(*unit).is_none();
        let (mut had, mut has) = (vec![0_u32; lost.len()], vec![0_u32; lost.len()]);
        for unit in problem.unit_indices().filter(free) {
            problem.current(unit).iter().for_each(|owner| had[owner.index()] += 1);
            self.placement.owner[unit.index()].iter().for_each(|owner| has[owner.index()] += 1);
        }
        let of_member = |member: usize| had[member].saturating_sub(has[member]).max(lost[member]);
        (0..lost.len()).map(|member| of_member(member) as usize).sum()
    }
}

/// The reason why no member should own a partition. Displays as a phrase for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartitionReason {
    /// It is true of the partition by itself.
    OfPartition(Unassigned),
    /// It is true of the unit that the partition moves with.
    OfSet(Unassigned),
    /// Another partition of its unit stays with a member on hold.
    PartOnHold,
}

impl fmt::Display for PartitionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OfPartition(why) => why.fmt(f),
            Self::OfSet(why) => f.write_str(of_set(*why)),
            Self::PartOnHold => f.write_str("another partition of its set stays with a member on hold"),
        }
    }
}

fn of_set(why: Unassigned) -> &'static str {
    match why {
        Unassigned::NoMembers => "there are no members",
        Unassigned::NobodySubscribed => "no member is subscribed to all topics of its set",
        Unassigned::AllBanned => {
            "every member that is subscribed to all topics of its set is banned from a partition that goes with it"
        }
        Unassigned::OnlyDrainingOrHolding => "every member that may own its set is draining or on hold",
        Unassigned::AllFull => "no member that could take its set has room for all of it within its limit",
        Unassigned::LeftOut => "the strategy gives its set to nobody",
    }
}

/// Places the partitions of `problem`, of which those of equal number in the topics of one of `sets` move together.
/// Limits, weights, bans, pins, standbys, handoffs and the movement budget are those of partitions. A topic that is in
/// no set is one by itself. Without any set of two topics or more the answer is the strategy's own.
///
/// A unit is fixed, or cooling, if one of its partitions is. Its weight is the sum of theirs, its racks those where all
/// of them have a replica as far as that is known. It is pinned to the members to whom each pinned partition allows,
/// and to no member if these have none in common. A member is a standby of it if it is one of every partition that has
/// any; lags add up.
///
/// # Panics
///
/// If a topic is in two sets, twice in one, or not of the problem.
pub fn place(problem: &Problem, sets: &[Vec<TopicIndex>], strategy: &dyn Strategy) -> SetPlacement {
    if sets.iter().all(|set| set.len() < 2) {
        return apart(strategy.assign(problem));
    }
    let layout = UnitLayout::new(problem, sets);
    let settled = rounds::run(problem, &layout, strategy);
    split(problem, &layout, &settled)
}

fn apart(placement: Placement) -> SetPlacement {
    let reasons = placement.unassigned.iter().map(|(_, why)| PartitionReason::OfPartition(*why)).collect();
    SetPlacement { placement, reasons, splits: Vec::new(), lost: None }
}

/// The units with their owners, standbys and reasons, once nothing moves any more.
#[derive(Debug)]
struct RestingPlacement {
    /// By unit.
    owner: Vec<Option<MemberIndex>>,
    /// By unit.
    standbys: Standbys,
    /// By partition.
    owners: Vec<Option<MemberIndex>>,
    /// By unit, for those without an owner, ascending.
    unassigned: Vec<(UnitIndex, PartitionReason)>,
    surplus: Surplus,
    /// By member: how many partitions it owns of units that it may not own.
    lost: Vec<u32>,
}

/// The answer in partitions.
fn split(problem: &Problem, layout: &UnitLayout, settled: &RestingPlacement) -> SetPlacement {
    let mut placement = Placement::new(problem, settled.owners.clone(), surplus(problem, layout, settled));
    placement.standbys = standbys(problem, layout, settled);
    let why = |partition: UnitIndex| {
        let unit = layout.unit_of(partition);
        let found = settled.unassigned.binary_search_by_key(&unit, |(unit, _)| *unit);
        found.map(|at| settled.unassigned[at].1).ok()
    };
    let mut reasons = Vec::with_capacity(placement.unassigned.len());
    for (partition, told) in &mut placement.unassigned {
        let reason = why(*partition).unwrap_or(PartitionReason::OfPartition(*told));
        if let PartitionReason::OfSet(why) | PartitionReason::OfPartition(why) = reason {
            *told = why;
        }
        reasons.push(reason);
    }
    let is_split = |unit: &UnitIndex| {
        let mut owners = layout.partitions(*unit).map(|at| settled.owners[at.index()]);
        let first = owners.next().flatten();
        owners.any(|owner| owner != first)
    };
    let first = |unit: UnitIndex| layout.partitions(unit).min().expect("a unit has a partition");
    let mut splits: Vec<_> = layout.units().filter(is_split).map(first).collect();
    splits.sort_unstable();
    SetPlacement { placement, reasons, splits, lost: Some(settled.lost.clone()) }
}

/// Partitions move because their unit lay spread, or else for the strategy's reason.
fn surplus(problem: &Problem, layout: &UnitLayout, settled: &RestingPlacement) -> Surplus {
    let is_spread = |partition: &UnitIndex| {
        let mut owners = layout.partitions(layout.unit_of(*partition)).map(|at| problem.current(at));
        let first = owners.next().flatten();
        owners.any(|owner| owner != first)
    };
    let spread: Vec<_> = problem.unit_indices().filter(is_spread).collect();
    if spread.is_empty() { settled.surplus.clone() } else { Surplus::Spread(spread) }
}

/// Of each unit's standbys as many as the partition's topic wants.
fn standbys(problem: &Problem, layout: &UnitLayout, settled: &RestingPlacement) -> Standbys {
    Standbys::new(problem.unit_indices().map(|partition| {
        let wanted = problem.topic(problem.topic_of(partition).0).standbys as usize;
        let unit = layout.unit_of(partition);
        if settled.owner[unit.index()].is_none() {
            return &[][..];
        }
        let all = settled.standbys.of(unit);
        &all[..all.len().min(wanted)]
    }))
}
