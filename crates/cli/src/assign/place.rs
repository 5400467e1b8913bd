//! Who gets what on a line, by the strategy that was asked for.

use std::collections::BTreeMap;

use kafka_assigner_strategies::{
    InvalidProblem, Placement, Problem, Standbys, Strategy, Unassigned, UnitIndex,
};

use super::Refused;
use super::checked::Checked;
use super::layout::Layout;
use super::{claims, kafka, telling};

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
    pub(super) unassigned: Vec<(UnitIndex, String)>,
}

/// Places the partitions of a line.
///
/// # Errors
/// [`Refused`], where the strategy can't be asked.
pub(super) fn place(line: &Checked<'_>, strategy: &dyn Strategy) -> Result<Placed, Refused> {
    let refused = |invalid: InvalidProblem| Refused::line(invalid.to_string());
    let owners = claims::owners(line);
    let problem = telling::problem(line, &owners, &Layout::apart(line)).map_err(refused)?;
    if let Some(assignor) = kafka::assignor(strategy.name()).filter(|_| kafka::says_it_all(line)) {
        return kafka::place(line, problem, assignor).map_err(refused);
    }
    if line.sets.is_empty() {
        let placement = strategy.assign(&problem);
        return Ok(apart(problem, placement));
    }
    let layout = Layout::together(line);
    let units = telling::problem(line, &owners, &layout).map_err(refused)?;
    let placement = strategy.assign(&units);
    Ok(Sets { line, layout: &layout, units: &units }.split(problem, &placement))
}

/// A placement of partitions as it is.
fn apart(problem: Problem, placement: Placement) -> Placed {
    let (mut owned, mut standbys) = (none_each(&problem), none_each(&problem));
    for unit in problem.unit_indices() {
        placement.owner[unit.index()].iter().for_each(|owner| owned[owner.index()].push(unit));
        placement.standbys.of(unit).iter().for_each(|standby| standbys[standby.index()].push(unit));
    }
    let unassigned = placement.unassigned.iter().map(|(unit, why)| (*unit, why.to_string())).collect();
    Placed { problem, placement, owned, standbys, unassigned }
}

/// No units, for each member.
pub(super) fn none_each(problem: &Problem) -> Vec<Vec<UnitIndex>> {
    vec![Vec::new(); problem.members().len()]
}

/// A problem whose units are of several partitions.
struct Sets<'a> {
    line: &'a Checked<'a>,
    layout: &'a Layout,
    units: &'a Problem,
}

impl Sets<'_> {
    /// What `placement` says of units, said of their partitions in `problem`. The members of both are the same.
    fn split(&self, problem: Problem, placement: &Placement) -> Placed {
        let whole = self.wholes(&problem);
        let owner: Vec<_> = whole.iter().map(|(unit, _)| placement.owner[unit.index()]).collect();
        let standbys = whole.iter().map(|(unit, wanted)| {
            let all = placement.standbys.of(*unit);
            &all[..all.len().min(*wanted as usize)]
        });
        let standbys = Standbys::new(standbys);
        let why: BTreeMap<UnitIndex, Unassigned> = placement.unassigned.iter().copied().collect();
        let mut split = Placement::of(&problem, owner);
        split.standbys = standbys;
        for (partition, reason) in &mut split.unassigned {
            *reason = why.get(&whole[partition.index()].0).copied().unwrap_or(*reason);
        }
        apart(problem, split)
    }

    /// By partition the unit that it belongs to, and how many standbys its topic wants.
    fn wholes(&self, problem: &Problem) -> Vec<(UnitIndex, u32)> {
        let mut wholes = Vec::with_capacity(problem.units());
        for topic in problem.topics() {
            let at = self.line.topics[&*topic.name];
            let first = self.layout.sets[self.layout.set_of[at]][0];
            let set = self.units.topic_named(&self.line.input.topics[first].0);
            let set = set.expect("a set has the name of its first topic");
            let units = self.units.units_of(set).take(topic.partitions as usize);
            wholes.extend(units.map(|unit| (unit, self.line.standbys[at])));
        }
        wholes
    }
}
