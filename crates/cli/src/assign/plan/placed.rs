//! The placement of a line's partitions, by the strategy that was asked for: [`place`].

use kafka_assigner_strategies::sets::{self, SetPlacement};
use kafka_assigner_strategies::{MemberIndex, Placement, Problem, Strategy, TopicIndex, UnitIndex};

use super::reason::UnplacedReason;
use super::{kafka, problem, warning};
use crate::assign::read::checked::Checked;
use crate::assign::read::claims::Owners;
use crate::assign::read::refused::Refused;

/// The placement of a line. Units are single partitions.
#[derive(Debug)]
pub(in crate::assign) struct Placed {
    /// The question.
    pub(in crate::assign) problem: Problem,
    /// The owner of each partition.
    pub(in crate::assign) placement: Placement,
    /// By member what it owns, in the order in which to list it.
    pub(in crate::assign) owned: Vec<Vec<UnitIndex>>,
    /// By member what it is a standby of, ascending.
    pub(in crate::assign) standbys: Vec<Vec<UnitIndex>>,
    /// The partitions that nobody gets, ascending, and why.
    pub(in crate::assign) unassigned: Vec<(UnitIndex, UnplacedReason)>,
    /// The first partition of what moves together and yet has not one owner, ascending.
    pub(in crate::assign) splits: Vec<UnitIndex>,
    /// The fewest moves with which members can have as many partitions as they get.
    pub(in crate::assign) moves_lower_bound: usize,
    /// A property of the strategy that the answer may surprise by.
    pub(in crate::assign) warning: Option<&'static str>,
}

/// Places the partitions of a line.
///
/// # Errors
/// [`Refused`], where the strategy can't be asked.
pub(in crate::assign) fn place(line: &Checked<'_>, strategy: &dyn Strategy) -> Result<Placed, Refused> {
    let problem = problem::of(line, &Owners::of(line))?;
    if let Some(assignor) = kafka::assignor(strategy.name()).filter(|_| kafka::says_it_all(line)) {
        let (assigned, moves_lower_bound) = kafka::place(line, &problem, assignor)?;
        let kafka::Assigned { placement, owned, unassigned } = assigned;
        let standbys = by_member(&problem, |_| &[]);
        return Ok(Placed {
            problem,
            placement,
            owned,
            standbys,
            unassigned,
            splits: Vec::new(),
            moves_lower_bound,
            warning: None,
        });
    }
    let placed = sets::place(&problem, &together(line, &problem), strategy);
    let placed = listed(problem, placed);
    let warning = warning::of(strategy, &placed);
    Ok(Placed { warning, ..placed })
}

/// The line's sets, in the problem's words.
fn together(line: &Checked<'_>, problem: &Problem) -> Vec<Vec<TopicIndex>> {
    let topic =
        |at: &usize| problem.topic_named(&line.input.topics[*at].0).expect("the line's topics are told");
    line.sets.iter().map(|set| set.iter().map(topic).collect()).collect()
}

/// A placement with lists by member.
fn listed(problem: Problem, placed: SetPlacement) -> Placed {
    let moves_lower_bound = placed.moves_lower_bound(&problem);
    let SetPlacement { placement, reasons, splits, .. } = placed;
    let owned = by_member(&problem, |unit| placement.owner[unit.index()].as_slice());
    let standbys = by_member(&problem, |unit| placement.standbys.of(unit));
    let why = |((unit, _), why): (&(UnitIndex, _), _)| (*unit, UnplacedReason::Unassigned(why));
    let unassigned = placement.unassigned.iter().zip(reasons).map(why).collect();
    Placed { problem, placement, owned, standbys, unassigned, splits, moves_lower_bound, warning: None }
}

/// By member the units that are `its`; ascending.
fn by_member<'a>(problem: &Problem, its: impl Fn(UnitIndex) -> &'a [MemberIndex]) -> Vec<Vec<UnitIndex>> {
    let mut lists = vec![Vec::new(); problem.members().len()];
    for unit in problem.unit_indices() {
        its(unit).iter().for_each(|member| lists[member.index()].push(unit));
    }
    lists
}
