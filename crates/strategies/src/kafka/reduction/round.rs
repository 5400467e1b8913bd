//! One question to a rule.

use std::sync::Arc;

use super::super::{Group, GroupAssignment, GroupBuilder, GroupMemberSpec, SubscriptionHandle};
use super::Counting;
use super::settled::{RoundShares, SettledUnits};
use crate::{
    MemberHandle, MemberIndex, Problem, ProblemMember, RackReader, Subscription, TopicHandle, TopicIndex,
    UnitIndex,
};

/// A group of the open members and the units that are not settled.
pub(super) struct Round {
    group: Group,
    /// By the group's unit, which of the problem's it stands for; none if that is settled.
    stands_for: Vec<Option<UnitIndex>>,
}

impl Round {
    pub(super) fn of(problem: &Problem, settled: &SettledUnits, counting: Counting) -> Self {
        let mut telling = RoundGroup::new(problem, settled);
        problem.topic_indices().for_each(|topic| telling.topic(topic));
        let open = problem.member_indices().filter(|member| settled.is_open[member.index()]);
        for member in open {
            let counted = (counting == Counting::Counted).then(|| telling.settled_topic(member)).flatten();
            telling.member(member, counted);
        }
        telling.owners();
        telling.into_round()
    }

    /// The owners that `rule` gives to units, ascending.
    pub(super) fn ask(&self, problem: &Problem, rule: fn(&Group) -> GroupAssignment) -> RoundShares {
        let assignment = rule(&self.group);
        let mut shares = Vec::with_capacity(self.stands_for.len());
        for (member, known) in self.group.member_indices().zip(self.group.members()) {
            let named = problem.member_named(&known.id).expect("the group's members are the problem's");
            let units = assignment.of(member).iter().filter_map(|unit| self.stands_for[unit.index()]);
            shares.extend(units.map(|unit| (unit, named)));
        }
        shares.sort_unstable();
        shares
    }
}

/// A group being told.
struct RoundGroup<'a> {
    problem: &'a Problem,
    settled: &'a SettledUnits,
    builder: GroupBuilder,
    /// By the problem's topic, the group's with those of its units that have no bans.
    topics: Vec<TopicHandle>,
    /// The group's topics as told: name, and what the partitions stand for; empty if settled.
    told: Vec<(Arc<str>, Vec<UnitIndex>)>,
    /// The topics that stand for one unit with bans, and the problem's topic that it is of.
    apart: Vec<(TopicHandle, TopicIndex)>,
    /// By the problem's member, if it is told.
    members: Vec<Option<MemberHandle>>,
    /// The last subscription told.
    last: Option<(&'a Subscription<TopicIndex>, SubscriptionHandle)>,
}

impl<'a> RoundGroup<'a> {
    fn new(problem: &'a Problem, settled: &'a SettledUnits) -> Self {
        Self {
            problem,
            settled,
            builder: Group::builder(),
            topics: Vec::new(),
            told: Vec::new(),
            apart: Vec::new(),
            members: vec![None; problem.members().len()],
            last: None,
        }
    }

    fn topic(&mut self, topic: TopicIndex) {
        let is_free = |unit: &UnitIndex| self.settled.owner[unit.index()].is_none();
        let free = self.problem.units_of(topic).filter(is_free);
        let (apart, together): (Vec<_>, Vec<_>) = free.partition(|unit| self.problem.has_bans(*unit));
        let name = &self.problem.topic(topic).name;
        let handle = self.tell_topic(name.clone(), together);
        self.topics.push(handle);
        for unit in apart {
            let handle = self.tell_topic(format!("{name}\0{}", unit.index()).into(), vec![unit]);
            self.apart.push((handle, topic));
        }
    }

    fn tell_topic(&mut self, name: Arc<str>, units: Vec<UnitIndex>) -> TopicHandle {
        let handle = self.tell_named(name, count(units.len()));
        let mut reader = RackReader::of(self.problem);
        for (unit, partition) in units.iter().zip(0..) {
            let racks = reader.racks(*unit);
            if !racks.is_empty() {
                let names = racks.iter().map(|rack| &*self.problem.racks()[rack.index()]);
                self.builder.replicas(handle, partition, names);
            }
        }
        self.told[handle.index()].1 = units;
        handle
    }

    /// Tells a topic, by another name if this one is taken.
    fn tell_named(&mut self, mut name: Arc<str>, partitions: u32) -> TopicHandle {
        while self.builder.topic_handle(&name).is_some() {
            name = format!("{name}\0").into();
        }
        self.told.push((name.clone(), Vec::new()));
        self.builder.topic(name, partitions)
    }

    /// A topic that stands for what is settled with `member`, if anything is.
    fn settled_topic(&mut self, member: MemberIndex) -> Option<TopicHandle> {
        let load = self.settled.load[member.index()];
        let name = format!("\0{}", self.problem.member(member).id);
        (load > 0).then(|| self.tell_named(name.into(), load))
    }

    fn member(&mut self, member: MemberIndex, settled: Option<TopicHandle>) {
        let problem = self.problem;
        let ProblemMember { id, subscription, rack, .. } = problem.member(member);
        let spec = GroupMemberSpec {
            rack: rack.map(|rack| problem.racks()[rack.index()].clone()),
            generation: Some(0),
            ..GroupMemberSpec::new(id.clone(), self.subscription(member, subscription, settled))
        };
        let handle = self.builder.member(spec);
        if let Some(topic) = settled {
            let partitions = 0..i32::try_from(self.settled.load[member.index()]).expect("units are few");
            self.builder.claims(handle, topic, partitions);
        }
        self.members[member.index()] = Some(handle);
    }

    fn subscription(
        &mut self,
        member: MemberIndex,
        subscription: &'a Subscription<TopicIndex>,
        settled: Option<TopicHandle>,
    ) -> SubscriptionHandle {
        let is_plain = settled.is_none() && self.apart.is_empty();
        if let Some((_, known)) = self.last.filter(|(last, _)| is_plain && *last == subscription) {
            return known;
        }
        let mut topics = match subscription {
            Subscription::All => self.topics.clone(),
            Subscription::Topics(some) => some.iter().map(|topic| self.topics[topic.index()]).collect(),
        };
        let may_own = |(handle, topic): &&(TopicHandle, TopicIndex)| {
            let unit = self.told[handle.index()].1[0];
            self.problem.is_subscribed(*topic, member) && !self.problem.is_banned(unit, member)
        };
        topics.extend(self.apart.iter().filter(may_own).map(|(handle, _)| *handle));
        topics.extend(settled);
        let handle = self.builder.subscription(topics);
        if is_plain {
            self.last = Some((subscription, handle));
        }
        handle
    }

    /// Tells what members own today.
    fn owners(&mut self) {
        for (at, (_, units)) in self.told.iter().enumerate() {
            for (unit, partition) in units.iter().zip(0..) {
                let owner = self.problem.current(*unit).and_then(|owner| self.members[owner.index()]);
                if let Some(owner) = owner {
                    self.builder.claims(owner, TopicHandle::new(at), [partition]);
                }
            }
        }
    }

    fn into_round(self) -> Round {
        let group =
            self.builder.build().expect("names are distinct, and there are no more units than before");
        let mut stands_for = vec![None; group.units()];
        for (name, units) in &self.told {
            let topic = group.topic_named(name).expect("it was told");
            for (partition, unit) in group.units_of(topic).zip(units) {
                stands_for[partition.index()] = Some(*unit);
            }
        }
        Round { group, stands_for }
    }
}

fn count(units: usize) -> u32 {
    u32::try_from(units).expect("units are counted in u32")
}
