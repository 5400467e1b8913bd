//! The group as a strategy sees it, and what the strategy makes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kafka_assigner_strategies::{
    Capacity, InvalidProblem, MemberHandle, MemberSpec, MemberState, Move, Placement, Problem,
    ProblemBuilder, Strategy, Subscription, TopicHandle, Unassigned, UnitIndex,
};

use super::WhatIf;
use super::interests::{Interest, Interests};
use super::limits::{Limit, Limits};
use super::sets::{Set, sets};
use crate::facts::may_have;
use crate::id::{Member, TopicPartition};
use crate::leader::LeaderContext;
use crate::name::MemberName;
use crate::reason::DeferReason;
use crate::record::{Consumer, Standing};
use crate::state::{Entry, GroupState, Presence};

/// Holds what can't be decided; no consumer can have this name.
const NOBODY: &str = "?";

/// What moves as one, with its place in the problem.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) partitions: Vec<TopicPartition>,
    /// What is wrong with a record of one of them, where something is.
    pub(super) unreadable: Option<String>,
    index: UnitIndex,
}

/// Who should own what.
#[derive(Debug)]
pub(super) struct Desired {
    pub(super) units: Vec<Unit>,
    names: Vec<Option<MemberName>>,
    placement: Placement,
    moves: BTreeMap<UnitIndex, Move>,
}

impl Desired {
    /// Who should own the unit.
    pub(super) fn target(&self, unit: &Unit) -> Option<&MemberName> {
        self.names[self.placement.owner[unit.index.index()]?.index()].as_ref()
    }

    /// Why nobody should.
    pub(super) fn why_nobody(&self, unit: &Unit) -> DeferReason {
        let found = self.placement.unassigned.binary_search_by_key(&unit.index, |(index, _)| *index);
        let because = found.map_or_else(
            |_| "its place is held for somebody who is not here".to_owned(),
            |position| why(self.placement.unassigned[position].1, unit),
        );
        DeferReason::NobodyMay { because }
    }

    /// Why the strategy moves the unit.
    pub(super) fn because(&self, unit: &Unit) -> String {
        self.moves
            .get(&unit.index)
            .map_or_else(|| "the rest of its set is there".to_owned(), |change| change.reason.to_string())
    }
}

/// Why nobody should own `unit`, in words that fit partitions that move together.
fn why(reason: Unassigned, unit: &Unit) -> String {
    match reason {
        Unassigned::NobodySubscribed if unit.partitions.len() > 1 => {
            "no consumer takes all topics of its set, and as many partitions as move together".to_owned()
        }
        Unassigned::AllFull if unit.partitions.len() > 1 => {
            "limits leave no consumer that could take it room for all that moves with it".to_owned()
        }
        reason => reason.to_string(),
    }
}

/// Asks `strategy` who should own what.
pub(super) fn solve(
    state: &GroupState,
    now: LeaderContext<'_>,
    strategy: &dyn Strategy,
    what_if: &WhatIf,
) -> Result<Desired, InvalidProblem> {
    let sets = sets(state);
    let mut telling = Telling::new(state, now, &sets);
    telling.members(what_if);
    let told: Vec<(Vec<TopicPartition>, Option<String>)> =
        (0..sets.len()).flat_map(|set| telling.units(&sets[set], set)).collect();
    let problem = telling.builder.build()?;
    let sizes: Vec<u32> = told.iter().map(|(partitions, _)| count(partitions)).collect();
    let (problem, placement) = telling.limits.place(problem, strategy, &sizes);
    let moves = placement.moves(&problem).into_iter().map(|change| (change.unit, change)).collect();
    let names = problem.members().iter().map(|member| MemberName::new(&member.id).ok()).collect();
    // Sets are told by name, the order in which the problem numbers its units.
    let units = told
        .into_iter()
        .zip(problem.unit_indices())
        .map(|((partitions, unreadable), index)| Unit { partitions, unreadable, index })
        .collect();
    Ok(Desired { units, names, placement, moves })
}

struct Telling<'a> {
    state: &'a GroupState,
    now: LeaderContext<'a>,
    builder: ProblemBuilder,
    topics: Vec<TopicHandle>,
    interests: Interests<'a>,
    limits: Limits,
    /// Whether some units have more partitions than others, and so are more work.
    is_uneven: bool,
    handles: BTreeMap<MemberName, MemberHandle>,
    nobody: Option<MemberHandle>,
}

impl<'a> Telling<'a> {
    fn new(state: &'a GroupState, now: LeaderContext<'a>, sets: &'a [Set]) -> Self {
        let mut builder = Problem::builder();
        let topics: Vec<_> = sets.iter().map(|set| builder.topic(set.name().shared(), set.units())).collect();
        let interests = Interests::new(state, topics.iter().copied().zip(sets));
        let mut sizes = sets.iter().filter(|set| set.units() > 0).flat_map(Set::sizes);
        let first = sizes.next();
        let is_uneven = sizes.any(|size| Some(size) != first);
        Self {
            state,
            now,
            builder,
            topics,
            interests,
            limits: Limits::default(),
            is_uneven,
            handles: BTreeMap::new(),
            nobody: None,
        }
    }

    fn members(&mut self, what_if: &WhatIf) {
        for (name, entry) in self.state.consumers() {
            let spec = match entry {
                Entry::Readable(consumer) if consumer.is_ending() => continue,
                Entry::Readable(consumer) => self.member(name, consumer, what_if.without.contains(name)),
                // Present, and what it takes is unknown: it keeps what it has.
                Entry::Unreadable(_) => hold(name.shared()),
            };
            self.handles.insert(name.clone(), self.builder.member(spec));
        }
        let absent: BTreeSet<&MemberName> = self.state.absent_owners().collect();
        for name in absent {
            if self.now.memory.awaits(self.state, name, self.now.moment) {
                self.handles.insert(name.clone(), self.builder.member(hold(name.shared())));
            }
        }
    }

    fn member(&mut self, name: &MemberName, consumer: &'a Consumer, is_out: bool) -> MemberSpec {
        let Interest { subscription, largest_unit } = self.interests.of(consumer);
        let limit = consumer.max_partitions.map(|partitions| Limit { partitions, largest_unit });
        limit.filter(|_| self.is_uneven).iter().for_each(|limit| self.limits.note(name, *limit));
        let drains = is_out || consumer.standing == Standing::Draining;
        MemberSpec {
            subscription,
            max_partitions: limit.map(Limit::in_units),
            state: if drains { MemberState::Draining } else { MemberState::Active },
            // A record that says nonsense here must not keep the whole group from being planned.
            capacity: consumer.capacity.filter(|value| Capacity::new(*value).is_some()).unwrap_or(1.0),
            rack: (!consumer.rack.is_empty()).then(|| self.builder.rack(&consumer.rack.as_str().into())),
            generation: (!consumer.generation.is_empty()).then(|| consumer.generation.as_str().into()),
            ..MemberSpec::new(name.shared())
        }
    }

    /// Tells the units of one set.
    fn units(&mut self, set: &Set, position: usize) -> Vec<(Vec<TopicPartition>, Option<String>)> {
        let topic = self.topics[position];
        (0..set.units()).map(|number| self.unit(set, topic, number)).collect()
    }

    fn unit(&mut self, set: &Set, topic: TopicHandle, number: u32) -> (Vec<TopicPartition>, Option<String>) {
        let partitions: Vec<TopicPartition> = set
            .topics
            .iter()
            .filter(|(_, count)| number < *count)
            .map(|(topic, _)| TopicPartition::new(topic.clone(), number))
            .collect();
        if self.is_uneven {
            self.builder.weight(topic, number, f64::from(count(&partitions)));
        }
        let broken = || partitions.iter().find_map(|at| self.state.error_at(at)).map(str::to_owned);
        let unreadable = set.unreadable.clone().or_else(broken);
        if unreadable.is_some() {
            let nobody = self.nobody();
            self.builder.fixed(topic, number, nobody);
        } else if let Some(handle) = self.heading_for(&partitions) {
            self.builder.fixed(topic, number, handle);
        } else {
            self.rest(topic, number, &partitions);
        }
        (partitions, unreadable)
    }

    /// A member that is told only where it is needed, so that it appears in no reason otherwise.
    fn nobody(&mut self) -> MemberHandle {
        let spec = || MemberSpec { subscription: Subscription::from_iter([]), ..hold(NOBODY) };
        *self.nobody.get_or_insert_with(|| self.builder.member(spec()))
    }

    /// Where a handoff in flight brings the unit, unless it is bound to be cancelled: pinned to somebody who may
    /// not have it, the rest of its set would wait for ever.
    fn heading_for(&self, partitions: &[TopicPartition]) -> Option<MemberHandle> {
        partitions.iter().find_map(|at| {
            let handoff = self.state.handoff_of(at).filter(|handoff| handoff.phase.is_in_flight())?;
            let may_arrive = match self.state.presence(&handoff.new) {
                Presence::Here => may_have(self.state, &handoff.new.name, &handoff.unit, handoff.mode),
                Presence::Unknown => true,
                Presence::Ending | Presence::Gone => false,
            };
            self.handles.get(&handoff.new.name).copied().filter(|_| may_arrive)
        })
    }

    fn rest(&mut self, topic: TopicHandle, number: u32, partitions: &[TopicPartition]) {
        let owner = partitions.iter().find_map(|at| self.owner(at));
        if let Some(handle) = owner.as_ref().and_then(|name| self.handles.get(name)) {
            self.builder.current(topic, number, *handle);
            self.bans(topic, number, partitions, owner.as_ref());
        }
    }

    fn owner(&self, at: &TopicPartition) -> Option<MemberName> {
        let owner = self.state.assignment(at)?.owner.as_ref()?;
        self.handles.contains_key(&owner.name).then(|| owner.name.clone())
    }

    /// Those to whom a handoff of the unit failed lately. Only while somebody works on it: without an owner, a
    /// doubtful one is better than none.
    fn bans(
        &mut self,
        topic: TopicHandle,
        number: u32,
        partitions: &[TopicPartition],
        owner: Option<&MemberName>,
    ) {
        for avoid in partitions.iter().filter_map(|at| self.state.assignment(at)).flat_map(|a| &a.avoid) {
            let member = Member { name: avoid.consumer.clone(), incarnation: avoid.incarnation.clone() };
            let passes_over =
                partitions.iter().any(|at| self.now.memory.avoids(at, &member, self.now.moment));
            let handle = self.handles.get(&member.name).filter(|_| owner != Some(&member.name));
            let is_it =
                self.state.registration(&member.name).is_some_and(|c| c.incarnation == member.incarnation);
            if let Some(handle) = handle.filter(|_| passes_over && is_it) {
                self.builder.ban(topic, number, *handle);
            }
        }
    }
}

fn count(partitions: &[TopicPartition]) -> u32 {
    u32::try_from(partitions.len()).expect("a set has a few topics")
}

fn hold(name: impl Into<Arc<str>>) -> MemberSpec {
    MemberSpec { state: MemberState::Hold, ..MemberSpec::new(name) }
}
