//! Units that change their owner, with reasons: [`Move`] and [`Run`].

use std::ops::Range;

use super::{Choice, MoveReason, Placement, counts};
use crate::{MemberIndex, MemberState, Problem, TopicIndex, UnitIndex};

/// The number of units that are compared at once while nothing differs.
const STRIDE: usize = 1024;

/// One unit that changes hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The unit.
    pub unit: UnitIndex,
    /// The member that owns it today.
    pub from: Option<MemberIndex>,
    /// The member that should own it; never equal to `from`.
    pub to: Option<MemberIndex>,
    /// The reason why it does not stay.
    pub reason: MoveReason,
    /// The reason for its new owner; [`Choice::Room`] also if it is to have none.
    pub choice: Choice,
}

/// Partitions of one topic that follow each other and change hands alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The topic.
    pub topic: TopicIndex,
    /// The partitions; never empty.
    pub partitions: Range<u32>,
    /// The member that owns them today.
    pub from: Option<MemberIndex>,
    /// The member that should own them; never equal to `from`.
    pub to: Option<MemberIndex>,
}

impl Run {
    /// Appends it to `runs`, or to the last of them if that goes on with it.
    fn append_to(self, runs: &mut Vec<Self>) {
        let alike = |last: &&mut Self| {
            (last.topic, last.partitions.end) == (self.topic, self.partitions.start)
                && (last.from, last.to) == (self.from, self.to)
        };
        match runs.last_mut().filter(alike) {
            Some(last) => last.partitions.end = self.partitions.end,
            None => runs.push(self),
        }
    }
}

fn in_topic(position: usize) -> u32 {
    u32::try_from(position).expect("a topic counts partitions in u32")
}

/// The reason of a strategy to move units that their owners could have kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Surplus {
    /// Their owners had more units, or take others instead.
    Count,
    /// Their owners carried more work.
    Weight,
    /// Their hash points to another member.
    Hash,
    /// Their set was spread, if they are among these, which ascend; otherwise their owners had more.
    Spread(Vec<UnitIndex>),
}

impl Placement {
    /// Every unit whose owner in this placement of `problem` differs from [`Problem::current`], with the current owner
    /// and the one it should have; ascending. Fixed units are never among them: their move is under way already.
    ///
    /// # Panics
    ///
    /// May panic, or tell nonsense, if this is a placement of another problem.
    pub fn changes<'a>(
        &'a self,
        problem: &'a Problem,
    ) -> impl Iterator<Item = (UnitIndex, Option<MemberIndex>, Option<MemberIndex>)> + 'a {
        let starts = (0..self.owner.len()).step_by(STRIDE);
        let strides = starts.map(|start| start..(start + STRIDE).min(self.owner.len()));
        strides
            .filter(|stride| !problem.is_owned_by(stride.clone(), &self.owner[stride.clone()]))
            .flatten()
            .map(UnitIndex::new)
            .filter(|unit| problem.fixed(*unit).is_none())
            .map(|unit| (unit, problem.current(unit), self.owner[unit.index()]))
            .filter(|(_, from, to)| from != to)
    }

    /// The same as [`changes`](Self::changes), but of partitions that follow each other and change alike as one, so
    /// that who names them has to name a topic only once for all of these. Ascending.
    ///
    /// # Panics
    ///
    /// May panic, or tell nonsense, if this is a placement of another problem.
    pub fn runs(&self, problem: &Problem) -> Vec<Run> {
        let mut runs = Vec::new();
        for topic in problem.topic_indices() {
            let first = problem.first_unit(topic);
            let end = first + problem.topic(topic).partitions as usize;
            for start in (first..end).step_by(STRIDE) {
                let stride = start..(start + STRIDE).min(end);
                if !problem.is_owned_by(stride.clone(), &self.owner[stride.clone()]) {
                    self.append_runs(problem, topic, stride, &mut runs);
                }
            }
        }
        runs
    }

    /// Appends to `runs` those of the units of `topic` at `positions`.
    fn append_runs(
        &self,
        problem: &Problem,
        topic: TopicIndex,
        positions: Range<usize>,
        runs: &mut Vec<Run>,
    ) {
        let (first, end) = (problem.first_unit(topic), positions.end);
        let (before, after) = (problem.owners_at(positions.clone()), &self.owner[positions.clone()]);
        let change = |at: usize| {
            let is_fixed = problem.has_fixed() && problem.fixed(UnitIndex::new(at)).is_some();
            let at = at - positions.start;
            if is_fixed { (None, None) } else { (before.get(at).copied().flatten(), after[at]) }
        };
        let mut start = positions.start;
        while start < end {
            let (from, to) = change(start);
            let next = (start + 1..end).find(|at| change(*at) != (from, to)).unwrap_or(end);
            if from != to {
                let partitions = in_topic(start - first)..in_topic(next - first);
                Run { topic, partitions, from, to }.append_to(runs);
            }
            start = next;
        }
    }

    /// The [`changes`](Self::changes) of this placement of `problem` with the reason of each.
    ///
    /// # Panics
    ///
    /// May panic, or tell nonsense, if this is a placement of another problem.
    pub fn moves(&self, problem: &Problem) -> Vec<Move> {
        let counted = Counted::of(problem, &self.surplus, &self.owner);
        let told = |(unit, from, to)| Move {
            unit,
            from,
            to,
            reason: from.map_or(MoveReason::Unowned, |from| self.reason(problem, unit, from, &counted)),
            choice: choice(problem, unit, to),
        };
        self.changes(problem).map(told).collect()
    }

    fn reason(&self, problem: &Problem, unit: UnitIndex, from: MemberIndex, counted: &Counted) -> MoveReason {
        let [had, target] = [&counted.had, &counted.has].map(|counts| counts[from.index()]);
        compelled(problem, unit, from, had).unwrap_or_else(|| match &self.surplus {
            Surplus::Hash => MoveReason::Hash,
            Surplus::Spread(units) if units.binary_search(&unit).is_ok() => MoveReason::SetSpread,
            Surplus::Weight => {
                let [had, target] = [&counted.carried, &counted.carries].map(|loads| loads[from.index()]);
                MoveReason::Overloaded { had, target }
            }
            Surplus::Count | Surplus::Spread(_) => MoveReason::OverTarget { had, target },
        })
    }
}

/// By member what it has today, what is under way to it included, and what it is to have.
struct Counted {
    had: Vec<u32>,
    has: Vec<u32>,
    /// In thousandths of weight, where that is the reason; otherwise empty.
    carried: Vec<u64>,
    carries: Vec<u64>,
}

impl Counted {
    fn of(problem: &Problem, surplus: &Surplus, owner: &[Option<MemberIndex>]) -> Self {
        let today = |unit| problem.fixed(unit).or(problem.current(unit));
        let placed = |unit: UnitIndex| owner[unit.index()];
        let is_weighed = *surplus == Surplus::Weight;
        Self {
            had: counts(problem, today),
            has: counts(problem, placed),
            carried: if is_weighed { problem.loads(today) } else { Vec::new() },
            carries: if is_weighed { problem.loads(placed) } else { Vec::new() },
        }
    }
}

/// The reason why `owner`, which has `had` units, must let go of `unit` under any strategy, if it must.
fn compelled(problem: &Problem, unit: UnitIndex, owner: MemberIndex, had: u32) -> Option<MoveReason> {
    let member = problem.member(owner);
    if problem.is_pinned(unit) && problem.is_banned(unit, owner) {
        Some(MoveReason::Pinned)
    } else if !problem.may_own(unit, owner) {
        Some(MoveReason::OwnerNotEligible)
    } else if member.state == MemberState::Draining {
        Some(MoveReason::OwnerDraining)
    } else if member.max_partitions.is_some_and(|limit| had > limit) {
        Some(MoveReason::OverLimit)
    } else {
        None
    }
}

/// The reason for `to` as the owner of `unit`.
fn choice(problem: &Problem, unit: UnitIndex, to: Option<MemberIndex>) -> Choice {
    let standby = problem.standbys(unit).iter().find(|standby| Some(standby.member) == to);
    let rack = to.and_then(|to| problem.member(to).rack);
    match (standby, rack) {
        (Some(standby), _) => Choice::Standby { lag: standby.lag },
        (None, Some(rack)) if problem.replica_racks(unit).contains(&rack) => Choice::SameRack,
        _ => Choice::Room,
    }
}
