//! The answer to a line, as JSON.

use std::fmt;

use kafka_assigner_strategies::{MemberIndex, Problem, UnitIndex};
use serde::{Serialize, Serializer};

use super::balance::Balance;
use crate::assign::plan::placed::Placed;
use crate::assign::plan::reason::UnplacedReason;
use crate::assign::read::input::InputMember;
use crate::assign::read::refused::Refused;

/// The answer to a line that was placed.
#[derive(Debug, Serialize)]
pub(in crate::assign) struct LineAnswer<'a> {
    assignment: ByMember<'a>,
    standbys: ByMember<'a>,
    unassigned: Nobodys<'a>,
    #[serde(skip_serializing_if = "Splits::is_empty")]
    split: Splits<'a>,
    moves: usize,
    moves_lower_bound: usize,
    balance: Balance,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'static str>,
}

impl<'a> LineAnswer<'a> {
    /// Tells what was placed among `members`, in their order.
    pub(in crate::assign) fn new(placed: &'a Placed, members: &[InputMember]) -> Self {
        let Placed { problem, placement, .. } = placed;
        let known = |member: &InputMember| {
            problem.member_named(&member.id).expect("the line's members are placed on")
        };
        let order: Vec<_> = members.iter().map(known).collect();
        Self {
            assignment: ByMember { problem, order: order.clone(), units: &placed.owned },
            standbys: ByMember { problem, order, units: &placed.standbys },
            unassigned: Nobodys { problem, units: &placed.unassigned },
            split: Splits { problem, units: &placed.splits },
            moves: placement.changes(problem).filter(|(_, from, _)| from.is_some()).count(),
            moves_lower_bound: placed.moves_lower_bound,
            balance: Balance::of(problem, placement),
            warning: placed.warning,
        }
    }
}

/// `[{topic, partition, reason}, …]`, of what nobody gets.
struct Nobodys<'a> {
    problem: &'a Problem,
    units: &'a [(UnitIndex, UnplacedReason)],
}

impl fmt::Debug for Nobodys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nobodys").field("units", &self.units).finish_non_exhaustive()
    }
}

impl Serialize for Nobodys<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.units.iter().map(|(unit, reason)| {
            let (topic, partition) = self.problem.topic_of(*unit);
            UnplacedPartition { topic: &self.problem.topic(topic).name, partition, reason: *reason }
        }))
    }
}

/// A partition that nobody gets.
#[derive(Debug, Serialize)]
struct UnplacedPartition<'a> {
    topic: &'a str,
    partition: u32,
    reason: UnplacedReason,
}

/// `[[topic, partition], …]`, of the first partition of each of those that should go together and do not.
struct Splits<'a> {
    problem: &'a Problem,
    units: &'a [UnitIndex],
}

impl Splits<'_> {
    const fn is_empty(&self) -> bool {
        self.units.is_empty()
    }
}

impl fmt::Debug for Splits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Splits").field("units", &self.units).finish_non_exhaustive()
    }
}

impl Serialize for Splits<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.units.iter().map(|unit| {
            let (topic, partition) = self.problem.topic_of(*unit);
            (&*self.problem.topic(topic).name, partition)
        }))
    }
}

/// `{member: [[topic, [partition, …]], …], …}`.
struct ByMember<'a> {
    problem: &'a Problem,
    order: Vec<MemberIndex>,
    units: &'a [Vec<UnitIndex>],
}

impl fmt::Debug for ByMember<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByMember").field("units", &self.units).finish_non_exhaustive()
    }
}

impl Serialize for ByMember<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.order.iter().map(|member| {
            let units = &*self.units[member.index()];
            (&self.problem.member(*member).id, ByTopic { problem: self.problem, units })
        }))
    }
}

/// `[[topic, [partition, …]], …]`; units of one topic stand together.
struct ByTopic<'a> {
    problem: &'a Problem,
    units: &'a [UnitIndex],
}

impl Serialize for ByTopic<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let topic = |unit: &UnitIndex| self.problem.topic_of(*unit).0;
        let topics = self.units.chunk_by(|a, b| topic(a) == topic(b));
        serializer.collect_seq(topics.map(|units| {
            (&*self.problem.topic(topic(&units[0])).name, Partitions { problem: self.problem, units })
        }))
    }
}

/// `[partition, …]`.
struct Partitions<'a> {
    problem: &'a Problem,
    units: &'a [UnitIndex],
}

impl Serialize for Partitions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.units.iter().map(|unit| self.problem.topic_of(*unit).1))
    }
}

/// The answer to a line that was not placed.
#[derive(Debug, Serialize)]
pub(in crate::assign) struct LineRefusal {
    line: u64,
    field: String,
    error: String,
}

impl LineRefusal {
    /// Tells why line number `line`, from one, was refused.
    pub(in crate::assign) fn new(line: u64, Refused { field, error }: Refused) -> Self {
        Self { line, field, error }
    }
}
