//! The group as a strategy sees it, and what the strategy makes of it.
//!
//! The strategy is told partitions, with the sets in which they move; [`place`] makes units of them, offline as well.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kafka_assigner_strategies::sets::{PartitionReason, SetPlacement, place};
use kafka_assigner_strategies::{
    Capacity, InvalidProblem, MemberHandle, MemberSpec, MemberState, Move, Options, Problem, ProblemBuilder,
    Strategy, Subscription, TopicHandle, TopicIndex, Unassigned, UnitIndex,
};

use super::WhatIf;
use super::arrivals::Arrivals;
use super::interests::Interests;
use super::sets::{Set, sets};
use crate::facts::{may_gain, may_have};
use crate::leader::LeaderContext;
use crate::reason::DeferReason;
use crate::record::{Consumer, GroupConfig, Handoff, Phase, Standing};
use crate::state::{Entry, GroupState, Presence};
use crate::stops::held;
use kafka_assigner_types::id::{Incarnation, Member, TopicPartition};
use kafka_assigner_types::name::{MemberName, TopicName};

/// Holds what can't be decided; no consumer can have this name.
const NOBODY: &str = "?";

/// Partitions that move as one.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) partitions: Vec<TopicPartition>,
    /// The fault in a record of one of them, where there is one.
    pub(super) unreadable: Option<String>,
}

/// The owners that partitions should have.
#[derive(Debug)]
pub(super) struct Desired {
    pub(super) units: Vec<Unit>,
    names: Vec<Option<MemberName>>,
    problem: Problem,
    placed: SetPlacement,
    moves: BTreeMap<UnitIndex, Move>,
}

impl Desired {
    /// The consumer that should own the unit.
    pub(super) fn target(&self, unit: &Unit) -> Option<&MemberName> {
        let first = self.index(unit.partitions.first()?)?;
        if self.placed.splits.binary_search(&first).is_ok() {
            return None;
        }
        self.names[self.placed.placement.owner[first.index()]?.index()].as_ref()
    }

    /// The reason why nobody should.
    pub(super) fn why_nobody(&self, unit: &Unit) -> DeferReason {
        let unassigned = &self.placed.placement.unassigned;
        let found =
            self.indices(unit).find_map(|at| unassigned.binary_search_by_key(&at, |(at, _)| *at).ok());
        let because = found.map_or_else(
            || "its place is held for somebody who is not here".to_owned(),
            |position| why(self.placed.reasons[position]),
        );
        DeferReason::NobodyMay { because }
    }

    /// The reason why the partitions of the unit stay with several consumers, if they do.
    pub(super) fn why_split(&self, unit: &Unit) -> Option<DeferReason> {
        let first = self.index(unit.partitions.first()?)?;
        self.placed.splits.binary_search(&first).ok()?;
        let is_owned = |at: UnitIndex| self.placed.placement.owner[at.index()].is_some();
        let because = || "its set is with several consumers, and none takes all of it".to_owned();
        self.indices(unit).all(is_owned).then(|| DeferReason::NobodyMay { because: because() })
    }

    /// The strategy's reason to move the unit.
    pub(super) fn because(&self, unit: &Unit) -> String {
        let change = self.indices(unit).find_map(|at| self.moves.get(&at));
        change.map_or_else(|| "the rest of its set is there".to_owned(), |change| change.reason.to_string())
    }

    fn indices(&self, unit: &Unit) -> impl Iterator<Item = UnitIndex> {
        unit.partitions.iter().filter_map(|at| self.index(at))
    }

    fn index(&self, at: &TopicPartition) -> Option<UnitIndex> {
        Some(self.problem.unit(self.problem.topic_named(at.topic.as_str())?, at.partition))
    }
}

/// A reason in the words of the service.
fn why(reason: PartitionReason) -> String {
    match reason {
        PartitionReason::OfSet(Unassigned::NobodySubscribed) => {
            "no consumer takes all topics of its set".to_owned()
        }
        PartitionReason::OfSet(Unassigned::AllFull) => {
            "no consumer that takes its set has room within its limit for as many partitions as move together"
                .to_owned()
        }
        PartitionReason::PartOnHold => {
            "the rest of its set is kept for somebody who is not here or can't be read".to_owned()
        }
        reason => reason.to_string(),
    }
}

/// Asks `strategy` who should own what. A suspect keeps what it has and is given nothing; where what is `given` anyhow is
/// named, the question is who should own what once all suspects are gone.
pub(super) fn solve(
    state: &GroupState,
    now: LeaderContext<'_>,
    strategy: &dyn Strategy,
    what_if: &WhatIf,
    given: Option<&BTreeMap<TopicPartition, MemberName>>,
) -> Result<Desired, InvalidProblem> {
    let sets = sets(state);
    let mut telling = Telling::new(state, now, &sets, given);
    telling.members(what_if);
    let units = sets.iter().flat_map(|set| telling.units(set)).collect();
    let problem = telling.builder.build()?;
    let placed = place(&problem, &together(&problem, &sets), strategy);
    let moves = placed.placement.moves(&problem).into_iter().map(|change| (change.unit, change)).collect();
    let names = problem.members().iter().map(|member| MemberName::new(&member.id).ok()).collect();
    Ok(Desired { units, names, problem, placed, moves })
}

/// The sets of several topics.
fn together(problem: &Problem, sets: &[Set]) -> Vec<Vec<TopicIndex>> {
    let topic =
        |(name, _): &(TopicName, u32)| problem.topic_named(name.as_str()).expect("all topics are told");
    let several = sets.iter().filter(|set| set.topics.len() > 1);
    several.map(|set| set.topics.iter().map(topic).collect()).collect()
}

/// Those that have not begun a grant in time. None where they are more than one and a tenth of all: then what they need is away,
/// and whoever else got their partitions would not begin them either.
fn late_owners(state: &GroupState, now: LeaderContext<'_>) -> BTreeSet<MemberName> {
    let late: BTreeSet<MemberName> = now.memory.late_owners(state, now.moment).cloned().collect();
    let most = (state.consumers().len() / 10).max(1);
    if late.len() > most { BTreeSet::new() } else { late }
}

struct Telling<'a> {
    state: &'a GroupState,
    now: LeaderContext<'a>,
    builder: ProblemBuilder,
    topics: BTreeMap<&'a TopicName, TopicHandle>,
    interests: Interests<'a>,
    handles: BTreeMap<MemberName, MemberHandle>,
    arrivals: Arrivals<'a>,
    nobody: Option<MemberHandle>,
    /// Those that have not begun a grant in time, where that is their own fault.
    late: BTreeSet<MemberName>,
    /// The partitions that are given anyhow, where suspects count as gone.
    given: Option<&'a BTreeMap<TopicPartition, MemberName>>,
}

impl<'a> Telling<'a> {
    fn new(
        state: &'a GroupState,
        now: LeaderContext<'a>,
        sets: &'a [Set],
        given: Option<&'a BTreeMap<TopicPartition, MemberName>>,
    ) -> Self {
        let mut builder = Problem::builder();
        let spread_topics = state.configured(GroupConfig::topic_spread);
        builder.options(Options { spread_topics, ..Options::default() });
        let known: BTreeMap<&TopicName, u32> =
            sets.iter().flat_map(|set| &set.topics).map(|(name, partitions)| (name, *partitions)).collect();
        let topics: BTreeMap<_, _> = known
            .into_iter()
            .map(|(name, partitions)| (name, builder.topic(name.shared(), partitions)))
            .collect();
        let interests = Interests::new(state, sets, &topics);
        let (handles, arrivals) = (BTreeMap::new(), Arrivals::new(state, sets, given.is_some()));
        let late = late_owners(state, now);
        Self { state, now, builder, topics, interests, handles, arrivals, nobody: None, late, given }
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
        let is_suspect = consumer.suspicion().is_some();
        let drains =
            is_out || consumer.standing == Standing::Draining || (is_suspect && self.given.is_some());
        MemberSpec {
            subscription: self.interests.of(consumer),
            max_partitions: consumer.max_partitions.map(|limit| self.arrivals.room(name, limit)),
            state: match drains {
                true => MemberState::Draining,
                // It would not begin what it is given, either.
                false if is_suspect || self.late.contains(name) => MemberState::Hold,
                false => MemberState::Active,
            },
            // A record that says nonsense here must not keep the whole group from being planned.
            capacity: consumer.capacity.filter(|value| Capacity::new(*value).is_some()).unwrap_or(1.0),
            rack: (!consumer.rack.is_empty()).then(|| self.builder.rack(&consumer.rack.as_str().into())),
            generation: (!consumer.generation.is_empty()).then(|| consumer.generation.as_str().into()),
            ..MemberSpec::new(name.shared())
        }
    }

    /// Tells the partitions of one set.
    fn units(&mut self, set: &Set) -> Vec<Unit> {
        (0..set.units()).map(|number| self.unit(set, number)).collect()
    }

    fn unit(&mut self, set: &Set, number: u32) -> Unit {
        let partitions = set.unit(number);
        let broken = || partitions.iter().find_map(|at| self.state.error_at(at)).map(str::to_owned);
        let unreadable = set.unreadable.clone().or_else(broken);
        if unreadable.is_some() {
            let nobody = self.nobody();
            self.fixed(&partitions, nobody);
        } else if held(self.state, &partitions).is_some() {
            let kept = partitions.iter().find_map(|at| self.handles.get(&self.owner(at)?).copied());
            let kept = kept.unwrap_or_else(|| self.nobody());
            self.fixed(&partitions, kept);
        } else if let Some(handle) = self.heading_for(&partitions) {
            self.fixed(&partitions, handle);
        } else {
            self.rest(&partitions);
        }
        Unit { partitions, unreadable }
    }

    fn fixed(&mut self, partitions: &[TopicPartition], to: MemberHandle) {
        for at in partitions {
            self.builder.fixed(self.topics[&at.topic], at.partition, to);
        }
    }

    /// A member that is told only where it is needed, so that it appears in no reason otherwise.
    fn nobody(&mut self) -> MemberHandle {
        let spec = || MemberSpec { subscription: Subscription::from_iter([]), ..hold(NOBODY) };
        *self.nobody.get_or_insert_with(|| self.builder.member(spec()))
    }

    /// The member that a handoff in flight brings the unit to, unless it is bound to be cancelled, or brings a part to
    /// somebody who may not have the rest: that would wait for ever, or go to a consumer that does not take it.
    fn heading_for(&self, partitions: &[TopicPartition]) -> Option<MemberHandle> {
        let given = partitions.iter().find_map(|at| self.given?.get(at));
        if let Some(to) = given {
            return self.handles.get(to).copied();
        }
        partitions.iter().find_map(|at| {
            let counts = |handoff: &&Handoff| {
                let goes_through = self.given.is_some() || !self.state.leaves_open(handoff);
                handoff.phase.is_in_flight() && goes_through && !self.is_lost(handoff)
            };
            let handoff = self.state.handoff_of(at).filter(counts)?;
            let may_arrive = match self.state.presence(&handoff.new) {
                Presence::Here => self.may_have_all(handoff, partitions),
                Presence::Unknown => true,
                Presence::Ending | Presence::Gone => false,
            };
            self.handles.get(&handoff.new.name).copied().filter(|_| may_arrive)
        })
    }

    /// True if the old owner is gone, and the new one is a suspect that has not begun.
    fn is_lost(&self, handoff: &Handoff) -> bool {
        let is_early = matches!(handoff.phase, Phase::Warming | Phase::Ready);
        let is_suspect = || self.state.suspicion(&handoff.new).is_some();
        is_early && self.state.presence(&handoff.old).is_over() && is_suspect()
    }

    /// True if the new owner of `handoff` may have `partitions`, of which the handoff moves a part.
    fn may_have_all(&self, handoff: &Handoff, partitions: &[TopicPartition]) -> bool {
        let may_have = |unit| may_have(self.state, &handoff.new.name, unit, handoff.mode);
        let has_room = !self.arrivals.exceeds(&handoff.new.name) || handoff.unit.len() == partitions.len();
        may_have(&handoff.unit) && may_have(partitions) && has_room
    }

    fn rest(&mut self, partitions: &[TopicPartition]) {
        let mut first = None;
        for at in partitions {
            if let Some(owner) = self.owner(at) {
                self.builder.current(self.topics[&at.topic], at.partition, self.handles[&owner]);
                first = first.or(Some(owner));
            }
        }
        if let Some(owner) = first {
            self.bans(partitions, &owner);
            self.let_go(partitions, &owner);
        }
    }

    /// An owner that has not begun a partition in time keeps it only where nobody else may have it. One whose process seems to
    /// be dead loses it with its session. Where all who may are full, the partition is placed with nobody, which leaves it where
    /// it is.
    fn let_go(&mut self, partitions: &[TopicPartition], owner: &MemberName) {
        let is_late = |at| self.now.memory.is_late(self.state, at, self.now.moment);
        let is_its = |at: &&TopicPartition| self.state.owner(at).is_some_and(|of| of.name == *owner);
        let is_late = self.late.contains(owner) && partitions.iter().filter(is_its).any(is_late);
        if !is_late || !self.others_may_have(partitions, owner) {
            return;
        }
        if let Some(handle) = self.handles.get(owner) {
            let at = &partitions[0];
            self.builder.ban(self.topics[&at.topic], at.partition, *handle);
        }
    }

    /// True if a consumer besides `owner` may be given `partitions` now, whatever its limit.
    fn others_may_have(&self, partitions: &[TopicPartition], owner: &MemberName) -> bool {
        let mode = self.state.mode_of(partitions);
        let avoids = |name: &MemberName, incarnation: &Incarnation| {
            let member = Member { name: name.clone(), incarnation: incarnation.clone() };
            partitions.iter().any(|at| self.now.memory.avoids(at, &member, self.now.moment))
        };
        let is_other = |name: &MemberName| name != owner && !self.late.contains(name);
        let others = self.state.consumers().iter().filter(|(name, _)| is_other(name));
        let mut readable = others.filter_map(|(name, entry)| Some((name, entry.readable()?)));
        readable.any(|(name, consumer)| {
            may_gain(self.state, name, partitions, mode) && !avoids(name, &consumer.incarnation)
        })
    }

    fn owner(&self, at: &TopicPartition) -> Option<MemberName> {
        let owner = self.state.assignment(at)?.owner.as_ref()?;
        self.handles.contains_key(&owner.name).then(|| owner.name.clone())
    }

    /// Those to whom a handoff of the unit failed lately. Only while somebody works on it: without an owner, a
    /// doubtful one is better than none.
    fn bans(&mut self, partitions: &[TopicPartition], owner: &MemberName) {
        for avoid in partitions.iter().filter_map(|at| self.state.assignment(at)).flat_map(|a| &a.avoid) {
            let member = Member { name: avoid.consumer.clone(), incarnation: avoid.incarnation.clone() };
            let passes_over =
                partitions.iter().any(|at| self.now.memory.avoids(at, &member, self.now.moment));
            let handle = self.handles.get(&member.name).filter(|_| *owner != member.name);
            let is_it =
                self.state.registration(&member.name).is_some_and(|c| c.incarnation == member.incarnation);
            if let Some(handle) = handle.filter(|_| passes_over && is_it) {
                let at = &partitions[0];
                self.builder.ban(self.topics[&at.topic], at.partition, *handle);
            }
        }
    }
}

fn hold(name: impl Into<Arc<str>>) -> MemberSpec {
    MemberSpec { state: MemberState::Hold, ..MemberSpec::new(name) }
}
