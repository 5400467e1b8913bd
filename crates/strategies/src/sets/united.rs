//! The problem of placing units: [`problem`].

use std::collections::BTreeMap;

use super::unit_layout::UnitLayout;
use crate::problem::{
    MemberHandle, MemberIndex, MemberSpec, MemberState, Options, Place, Problem, ProblemBuilder,
    ReplicaRacks, Subscription, TopicHandle, TopicIndex, UnitIndex, Weight,
};

/// The problem of placing the units that `layout` makes of the partitions of `told`. Today's owner of a unit is the one
/// with most of it that could keep it; limits are left out, as they count partitions.
pub(super) fn problem(told: &Problem, layout: &UnitLayout, parts: &Parts) -> Problem {
    let mut uniting =
        Uniting { told, layout, builder: Problem::builder(), topics: Vec::new(), members: Vec::new() };
    let budget = told.options().movement_budget.map(|partitions| partitions / layout.sizes().1);
    uniting.builder.options(Options { movement_budget: budget, ..*told.options() });
    (0..layout.sets.len()).for_each(|set| uniting.topic(set));
    told.member_indices().for_each(|member| uniting.member(member));
    uniting.racks();
    uniting.units(parts);
    uniting.builder.build().expect("it was made of a problem that is valid")
}

/// The members that own partitions of each unit today, with how many.
#[derive(Debug)]
pub(super) struct Parts {
    first: Vec<u32>,
    parts: Vec<(MemberIndex, u32)>,
}

impl Parts {
    /// Those of the partitions' `owners`.
    pub(super) fn of(layout: &UnitLayout, owners: &[Option<MemberIndex>]) -> Self {
        let (mut first, mut parts) = (vec![0], Vec::new());
        for unit in layout.units() {
            let mut of_unit: Vec<_> = layout.partitions(unit).filter_map(|at| owners[at.index()]).collect();
            of_unit.sort_unstable();
            let runs = of_unit.chunk_by(|a, b| a == b);
            parts.extend(runs.map(|run| (run[0], u32::try_from(run.len()).expect("a unit is small"))));
            first.push(u32::try_from(parts.len()).expect("units are counted in u32"));
        }
        Self { first, parts }
    }

    /// By member, ascending.
    pub(super) fn of_unit(&self, unit: UnitIndex) -> &[(MemberIndex, u32)] {
        &self.parts[self.first[unit.index()] as usize..self.first[unit.index() + 1] as usize]
    }

    /// The number of partitions of `unit` that `member` has.
    pub(super) fn at(&self, unit: UnitIndex, member: MemberIndex) -> u32 {
        self.of_unit(unit).iter().find(|(owner, _)| *owner == member).map_or(0, |(_, count)| *count)
    }
}

struct Uniting<'a> {
    told: &'a Problem,
    layout: &'a UnitLayout,
    builder: ProblemBuilder,
    /// By set.
    topics: Vec<TopicHandle>,
    /// In the order of the members.
    members: Vec<MemberHandle>,
}

impl Uniting<'_> {
    /// A set has the name of its first topic, and as many standbys as any of its topics wants.
    fn topic(&mut self, set: usize) {
        let topics = self.layout.sets[set].iter().map(|topic| self.told.topic(*topic));
        let standbys = topics.clone().map(|topic| topic.standbys).max().unwrap_or_default();
        let longest = topics.clone().next().expect("a set has a topic");
        let handle = self.builder.topic(longest.name.clone(), longest.partitions);
        self.builder.want_standbys(handle, standbys);
        self.topics.push(handle);
    }

    fn member(&mut self, at: MemberIndex) {
        let member = self.told.member(at);
        let rack = member.rack.map(|rack| self.builder.rack(&self.told.racks()[rack.index()]));
        let label = (member.generation > 0).then(|| member.generation.to_string().into());
        let spec = MemberSpec {
            subscription: self.subscription(&member.subscription),
            state: member.state,
            capacity: f64::from(member.capacity.thousandths()) / 1_000.0,
            rack,
            generation: label,
            ..MemberSpec::new(member.id.clone())
        };
        self.members.push(self.builder.member(spec));
    }

    fn subscription(&self, told: &Subscription<TopicIndex>) -> Subscription<TopicHandle> {
        let Subscription::Topics(topics) = told else { return Subscription::All };
        let whole =
            |set: &&(usize, &Vec<TopicIndex>)| set.1.iter().all(|topic| topics.binary_search(topic).is_ok());
        let sets: Vec<_> = self.layout.sets.iter().enumerate().collect();
        sets.iter().filter(whole).map(|(set, _)| self.topics[*set]).collect()
    }

    /// The racks in which every partition of a unit has a replica, as far as anything is known of it.
    fn racks(&mut self) {
        if !self.told.has_replica_racks() {
            return;
        }
        let mut racks: Vec<Vec<Vec<&str>>> = vec![Vec::new(); self.topics.len()];
        for unit in self.layout.units() {
            racks[self.layout.place_of(unit).0].push(common_racks(self.told, self.layout, unit));
        }
        for (handle, racks) in self.topics.iter().zip(racks) {
            self.builder.replica_racks(*handle, &ReplicaRacks::new(racks));
        }
    }

    fn units(&mut self, parts: &Parts) {
        let (smallest, largest) = self.layout.sizes();
        let has_weights = self.told.has_weights() || smallest != largest;
        for unit in self.layout.units() {
            let (set, number) = self.layout.place_of(unit);
            let topic = self.topics[set];
            if has_weights {
                self.builder.weight(topic, number, self.weight(unit));
            }
            self.pairs(unit, topic, number);
            let mut partitions = self.layout.partitions(unit);
            let fixed = partitions.find_map(|at| self.told.fixed(at));
            if let Some(member) = fixed {
                self.builder.fixed(topic, number, self.members[member.index()]);
            }
            if let Some(owner) = self.keeper(unit, set, parts) {
                self.builder.current(topic, number, self.members[owner.index()]);
            }
            if self.layout.partitions(unit).any(|at| self.told.is_cooling(at)) {
                self.builder.cool(topic, number);
            }
            self.standbys(unit, topic, number);
        }
    }

    fn weight(&self, unit: UnitIndex) -> f64 {
        let weight = |at| self.told.weight(at).thousandths() as f64 / 1_000.0;
        self.layout.partitions(unit).map(weight).sum::<f64>().min(Weight::MAX)
    }

    /// The member with most of the unit that could keep all of it, but for pins, which the strategy knows; of a part,
    /// only one that takes.
    fn keeper(&self, unit: UnitIndex, set: usize, parts: &Parts) -> Option<MemberIndex> {
        let size = self.layout.size(unit);
        let can = |(member, has): &&(MemberIndex, u32)| {
            let takes = self.told.member(*member).state == MemberState::Active;
            (takes || *has == size)
                && self.layout.sets[set].iter().all(|topic| self.told.is_subscribed(*topic, *member))
                && !self.layout.partitions(unit).any(|at| self.told.is_barred(at, *member, Place::Standby))
        };
        let able = parts.of_unit(unit).iter().filter(can);
        able.max_by_key(|(member, has)| (*has, std::cmp::Reverse(*member))).map(|(member, _)| *member)
    }

    fn pairs(&mut self, unit: UnitIndex, topic: TopicHandle, number: u32) {
        let mut pinned: Option<Vec<MemberIndex>> = None;
        for at in self.layout.partitions(unit).filter(|at| self.told.has_bans(*at)) {
            let (bans, pins) = self.told.restriction(at, Place::Owner);
            bans.iter().for_each(|member| self.builder.ban(topic, number, self.members[member.index()]));
            if !pins.is_empty() {
                pinned = Some(match pinned {
                    None => pins,
                    Some(before) => before.into_iter().filter(|member| pins.contains(member)).collect(),
                });
            }
        }
        let pinned = pinned.into_iter().flatten();
        pinned.for_each(|member| self.builder.pin(topic, number, self.members[member.index()]));
    }

    fn standbys(&mut self, unit: UnitIndex, topic: TopicHandle, number: u32) {
        let mut copied = 0;
        let mut copies: BTreeMap<MemberIndex, (u32, u64)> = BTreeMap::new();
        for at in self.layout.partitions(unit) {
            let of_partition = self.told.standbys(at);
            copied += u32::from(!of_partition.is_empty());
            for standby in of_partition {
                let (count, lag) = copies.entry(standby.member).or_default();
                *count += 1;
                *lag = lag.saturating_add(standby.lag);
            }
        }
        for (member, (_, lag)) in copies.into_iter().filter(|(_, (count, _))| *count == copied) {
            self.builder.standby(topic, number, self.members[member.index()], lag);
        }
    }
}

fn common_racks<'a>(told: &'a Problem, layout: &UnitLayout, unit: UnitIndex) -> Vec<&'a str> {
    let racks = layout.partitions(unit).map(|at| told.replica_racks(at));
    let mut known = racks.filter(|racks| !racks.is_empty());
    let mut common = known.next().unwrap_or_default().to_vec();
    known.for_each(|racks| common.retain(|rack| racks.contains(rack)));
    common.iter().map(|rack| &*told.racks()[rack.index()]).collect()
}
