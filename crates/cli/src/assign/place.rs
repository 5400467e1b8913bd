//! Who gets what on a line, by the strategy that was asked for.

use kafka_assigner_strategies::{Placement, Problem, Strategy, UnitIndex};

use super::Refused;
use super::checked::Checked;
use super::claims::Owners;
use super::layout::Layout;
use super::reason::Reason;
use super::rules::Rules;
use super::sets::Sets;
use super::{kafka, telling};

/// What comes of a line. Units are single partitions.
#[derive(Debug)]
pub(super) struct Placed {
    /// What was to be placed.
    pub(super) problem: Problem,
    /// Who owns what, and what moves.
    pub(super) placement: Placement,
    /// By member what it owns, in the order in which to list it.
    pub(super) owned: Vec<Vec<UnitIndex>>,
    /// By member what it is a standby of, ascending.
    pub(super) standbys: Vec<Vec<UnitIndex>>,
    /// What nobody gets, ascending, and why.
    pub(super) unassigned: Vec<(UnitIndex, Reason)>,
    /// The fewest moves with which members can have as many partitions as they get.
    pub(super) moves_lower_bound: usize,
}

/// Places the partitions of a line.
///
/// # Errors
/// [`Refused`], where the strategy can't be asked.
pub(super) fn place(line: &Checked<'_>, strategy: &dyn Strategy) -> Result<Placed, Refused> {
    let owners = Owners::of(line);
    let alone = Layout::apart(line);
    let problem = telling::problem(line, &owners, &alone, &Rules::new(line, &alone)?)?;
    if let Some(assignor) = kafka::assignor(strategy.name()).filter(|_| kafka::says_it_all(line)) {
        return Ok(kafka::place(line, problem, assignor)?);
    }
    if line.sets.is_empty() {
        let placement = strategy.assign(&problem);
        return Ok(apart(problem, placement));
    }
    Sets::place(line, &Layout::together(line), &owners, problem, strategy)
}

/// A placement of partitions as it is.
fn apart(problem: Problem, mut placement: Placement) -> Placed {
    let (owned, standbys) = by_member(&problem, &placement);
    let unassigned = std::mem::take(&mut placement.unassigned).into_iter();
    let unassigned = unassigned.map(|(unit, why)| (unit, Reason::OfPartition(why))).collect();
    let moves_lower_bound = placement.moves_lower_bound(&problem);
    Placed { problem, placement, owned, standbys, unassigned, moves_lower_bound }
}

/// By member what it owns, and what it is a standby of; ascending.
pub(super) fn by_member(
    problem: &Problem,
    placement: &Placement,
) -> (Vec<Vec<UnitIndex>>, Vec<Vec<UnitIndex>>) {
    let (mut owned, mut standbys) = (none_each(problem), none_each(problem));
    for unit in problem.unit_indices() {
        placement.owner[unit.index()].iter().for_each(|owner| owned[owner.index()].push(unit));
        placement.standbys.of(unit).iter().for_each(|standby| standbys[standby.index()].push(unit));
    }
    (owned, standbys)
}

/// No units, for each member.
pub(super) fn none_each(problem: &Problem) -> Vec<Vec<UnitIndex>> {
    vec![Vec::new(); problem.members().len()]
}
