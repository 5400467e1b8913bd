//! Random problems, kept by name and position so that they can be told in any order and told again.

use kafka_assigner_strategies::{
    MemberHandle, MemberSpec, MemberState, Options, Placement, Problem, ProblemBuilder, ReplicaRacks,
    Subscription, TopicHandle,
};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::subsequence;

/// A problem before it is told. Topics and members are referred to by position.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    /// Partitions by topic.
    pub(crate) topics: Vec<u32>,
    /// Standbys wanted, by topic.
    pub(crate) standbys: Vec<u32>,
    pub(crate) members: Vec<Sketch>,
    /// By topic and partition.
    pub(crate) units: Vec<Vec<Fate>>,
}

/// A member.
#[derive(Clone, Debug)]
pub(crate) struct Sketch {
    pub(crate) state: MemberState,
    pub(crate) limit: Option<u32>,
    /// `None` for all.
    pub(crate) topics: Option<Vec<usize>>,
    pub(crate) capacity: u8,
    pub(crate) rack: Option<u8>,
}

/// The data given of one unit; members by position.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fate {
    pub(crate) current: Option<usize>,
    pub(crate) fixed: Option<usize>,
    pub(crate) bans: Vec<usize>,
    pub(crate) pins: Vec<usize>,
    pub(crate) cools: bool,
    pub(crate) weight: Option<u8>,
    /// The members that have a copy, with how far it is behind.
    pub(crate) copies: Vec<(usize, u64)>,
    /// The racks with its replicas.
    pub(crate) replicas: Vec<u8>,
}

/// In which order topics and members are told.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    topics: Vec<usize>,
    members: Vec<usize>,
}

impl Scenario {
    /// The problem, told in the order of positions.
    pub(crate) fn problem(&self) -> Problem {
        self.problem_in(&self.in_order())
    }

    /// The same with options.
    pub(crate) fn problem_with(&self, options: Options) -> Problem {
        let mut builder = self.builder_in(&self.in_order());
        builder.options(options);
        builder.build().unwrap()
    }

    pub(crate) fn problem_in(&self, order: &Order) -> Problem {
        self.builder_in(order).build().unwrap()
    }

    fn in_order(&self) -> Order {
        Order { topics: (0..self.topics.len()).collect(), members: (0..self.members.len()).collect() }
    }

    fn builder_in(&self, order: &Order) -> ProblemBuilder {
        let mut builder = Problem::builder();
        for topic in &order.topics {
            let handle = builder.topic(topic_name(*topic), self.topics[*topic]);
            builder.want_standbys(handle, self.standbys[*topic]);
        }
        for member in &order.members {
            let rack = self.members[*member].rack.map(|rack| builder.rack(&rack_name(rack).into()));
            let spec = MemberSpec { rack, ..self.spec(&builder, *member) };
            builder.member(spec);
        }
        for topic in &order.topics {
            self.tell_units(&mut builder, *topic);
        }
        builder
    }

    fn spec(&self, builder: &ProblemBuilder, member: usize) -> MemberSpec {
        let Sketch { state, limit, topics, capacity, rack: _ } = &self.members[member];
        let subscription = match topics {
            None => Subscription::All,
            Some(topics) => builder.subscription(topics.iter().map(|topic| topic_name(*topic))),
        };
        MemberSpec {
            subscription,
            max_partitions: *limit,
            state: *state,
            capacity: f64::from(*capacity),
            ..MemberSpec::new(member_id(member))
        }
    }

    fn tell_units(&self, builder: &mut ProblemBuilder, topic: usize) {
        let handle: TopicHandle = builder.topic_handle(&topic_name(topic)).unwrap();
        let fates = &self.units[topic];
        if fates.iter().any(|fate| !fate.replicas.is_empty()) {
            let names = |fate: &Fate| fate.replicas.iter().copied().map(rack_name).collect::<Vec<_>>();
            builder.replica_racks(handle, &ReplicaRacks::new(fates.iter().map(names)));
        }
        for (fate, partition) in fates.iter().zip(0..) {
            let member = |builder: &ProblemBuilder, at: usize| -> MemberHandle {
                builder.member_handle(&member_id(at)).unwrap()
            };
            if let Some(at) = fate.current {
                builder.current(handle, partition, member(builder, at));
            }
            if let Some(at) = fate.fixed {
                builder.fixed(handle, partition, member(builder, at));
            }
            for at in &fate.bans {
                builder.ban(handle, partition, member(builder, *at));
            }
            for at in &fate.pins {
                builder.pin(handle, partition, member(builder, *at));
            }
            if let Some(weight) = fate.weight {
                builder.weight(handle, partition, f64::from(weight));
            }
            for (at, lag) in &fate.copies {
                builder.standby(handle, partition, member(builder, *at), *lag);
            }
            if fate.cools {
                builder.cool(handle, partition);
            }
        }
    }

    /// The same after `placement`, which is of [`problem`](Self::problem), has come true.
    pub(crate) fn after(&self, placement: &Placement) -> Self {
        let mut after = self.clone();
        let problem = self.problem();
        let position = |id: &str| (0..self.members.len()).find(|at| member_id(*at) == id).unwrap();
        for topic in 0..self.topics.len() {
            let index = problem.topic_named(&topic_name(topic)).unwrap();
            for (unit, fate) in problem.units_of(index).zip(&mut after.units[topic]) {
                let owner = placement.owner[unit.index()];
                fate.current = owner.map(|owner| position(&problem.member(owner).id));
                let copies = placement.standbys.of(unit).iter().zip(0..);
                fate.copies =
                    copies.map(|(member, lag)| (position(&problem.member(*member).id), lag)).collect();
            }
        }
        after
    }
}

/// Names sort otherwise than positions.
fn topic_name(at: usize) -> String {
    format!("topic-{}", (at * 7 + 3) % 11)
}

fn rack_name(rack: u8) -> String {
    format!("rack-{rack}")
}

/// Ids sort otherwise than positions.
fn member_id(at: usize) -> String {
    format!("member-{}", (at * 5 + 4) % 13)
}

/// Problems of every kind: mixed subscriptions, limits, states, bans, handoffs and more, or none of them.
pub(crate) fn any_scenario() -> impl Strategy<Value = Scenario> {
    scenario_of((0..=6_usize, vec(0..=7_u32, 0..=5)))
}

/// Problems of every kind without weights that are small enough to try every placement: at most 4 members and 8 units.
pub(crate) fn small_scenario() -> impl Strategy<Value = Scenario> {
    let topics = prop_oneof![vec(0..=8_u32, 1), vec(0..=4_u32, 2), vec(0..=2_u32, 3)];
    scenario_of((1..=4_usize, topics)).prop_map(|mut scenario| {
        scenario.units.iter_mut().flatten().for_each(|fate| fate.weight = None);
        scenario
    })
}

/// Problems with several topics whose spread is all that differs between many placements: at most 3 members and 6 units.
pub(crate) fn topics_scenario() -> impl Strategy<Value = Scenario> {
    let topics = prop_oneof![vec(0..=3_u32, 2), vec(0..=2_u32, 3)];
    let kind = any::<[bool; 4]>().prop_map(|[mixed, capacities, cooling, handoffs]| Kind {
        mixed,
        capacities,
        cooling,
        handoffs,
        ..Kind::default()
    });
    scenario_with((1..=3_usize, topics), kind)
}

/// Problems of every kind without weights: up to 13 members and 200 units.
pub(crate) fn large_scenario() -> impl Strategy<Value = Scenario> {
    scenario_of((2..=13_usize, vec(0..=40_u32, 1..=5))).prop_map(|mut scenario| {
        scenario.units.iter_mut().flatten().for_each(|fate| fate.weight = None);
        scenario
    })
}

fn scenario_of(size: impl Strategy<Value = (usize, Vec<u32>)>) -> impl Strategy<Value = Scenario> {
    scenario_with(size, kind())
}

fn scenario_with(
    size: impl Strategy<Value = (usize, Vec<u32>)>,
    kind: impl Strategy<Value = Kind>,
) -> impl Strategy<Value = Scenario> {
    (size, kind).prop_flat_map(|((members, topics), kind)| {
        let sketches = vec(sketch(topics.len(), kind), members);
        let units: Vec<_> =
            topics.iter().map(|partitions| vec(fate(members, kind), *partitions as usize)).collect();
        let standbys = vec(if kind.standbys { 0..=3_u32 } else { 0..=0 }, topics.len());
        (Just(topics), standbys, sketches, units).prop_map(|(topics, standbys, members, units)| Scenario {
            topics,
            standbys,
            members,
            units,
        })
    })
}

/// Problems in which nothing is restricted, with at least one member; any owner or none today.
pub(crate) fn plain_scenario() -> impl Strategy<Value = Scenario> {
    (1..=7_usize, vec(0..=12_u32, 0..=5)).prop_flat_map(|(members, topics)| {
        let units: Vec<_> = topics
            .iter()
            .map(|partitions| vec(fate(members, Kind::default()), *partitions as usize))
            .collect();
        let member =
            Sketch { state: MemberState::Active, limit: None, topics: None, capacity: 1, rack: None };
        (Just(topics), Just(vec![member; members]), units).prop_map(|(topics, members, units)| Scenario {
            standbys: vec![0; topics.len()],
            topics,
            members,
            units,
        })
    })
}

/// Problems in which nothing is restricted, with at least one member, state, and any copies of it.
pub(crate) fn copied_scenario() -> impl Strategy<Value = Scenario> {
    let kind = Kind { standbys: true, ..Kind::default() };
    let size = (1..=7_usize, vec(prop_oneof![Just(5_u32), Just(8), 0..=12_u32], 0..=5));
    scenario_with(size, Just(kind))
}

/// A scenario with an order to tell it in.
pub(crate) fn shuffled_scenario() -> impl Strategy<Value = (Scenario, Order)> {
    any_scenario().prop_flat_map(|scenario| {
        let topics: Vec<_> = (0..scenario.topics.len()).collect();
        let members: Vec<_> = (0..scenario.members.len()).collect();
        let order = (Just(topics).prop_shuffle(), Just(members).prop_shuffle());
        (Just(scenario), order.prop_map(|(topics, members)| Order { topics, members }))
    })
}

/// The restrictions that a scenario has. All alike would hardly ever try a problem with few.
#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    mixed: bool,
    limits: bool,
    states: bool,
    bans: bool,
    handoffs: bool,
    capacities: bool,
    pins: bool,
    cooling: bool,
    weights: bool,
    standbys: bool,
    racks: bool,
}

fn kind() -> impl Strategy<Value = Kind> {
    let flags = (any::<[bool; 9]>(), any::<bool>(), any::<bool>());
    flags.prop_map(|(flags, standbys, racks)| {
        let [mixed, limits, states, bans, handoffs, capacities, pins, cooling, weights] = flags;
        Kind { mixed, limits, states, bans, handoffs, capacities, pins, cooling, weights, standbys, racks }
    })
}

/// Half of the time if `is`, never otherwise.
fn sometimes<S: Strategy>(is: bool, value: S) -> impl Strategy<Value = Option<S::Value>> {
    (any::<bool>(), value).prop_map(move |(now, value)| (is && now).then_some(value))
}

fn sketch(topics: usize, kind: Kind) -> impl Strategy<Value = Sketch> {
    let inactive = prop_oneof![Just(MemberState::Hold), Just(MemberState::Draining)];
    let subset = subsequence((0..topics).collect::<Vec<_>>(), 0..=topics);
    let states = sometimes(kind.states, inactive);
    let topics = sometimes(kind.mixed, subset);
    let limit = sometimes(kind.limits, 0..=6_u32);
    let capacity = sometimes(kind.capacities, 1..=4_u8);
    (states, limit, topics, capacity, sometimes(kind.racks, 0..3_u8)).prop_map(
        |(state, limit, topics, capacity, rack)| Sketch {
            state: state.unwrap_or_default(),
            limit,
            topics,
            capacity: capacity.unwrap_or(1),
            rack,
        },
    )
}

fn fate(members: usize, kind: Kind) -> BoxedStrategy<Fate> {
    if members == 0 {
        return Just(Fate::default()).boxed();
    }
    let some = || prop_oneof![3 => Just(vec![]), 1 => vec(0..members, 1..=2)];
    let fixed = weighted(0.2, 0..members);
    let cools = sometimes(kind.cooling, any::<bool>());
    let restrictions = (sometimes(kind.bans, some()), sometimes(kind.pins, some()), cools);
    let weight = sometimes(kind.weights, 0..=100_u8);
    let copies = sometimes(kind.standbys, vec((0..members, 0..20_000_u64), 0..=3));
    let replicas = sometimes(kind.racks, subsequence(vec![0, 1, 2], 0..=2));
    (weighted(0.7, 0..members), fixed, restrictions, weight, (copies, replicas))
        .prop_map(move |(current, fixed, (bans, pins, cools), weight, (copies, replicas))| Fate {
            current,
            fixed: fixed.filter(|_| kind.handoffs),
            bans: bans.unwrap_or_default(),
            pins: pins.unwrap_or_default(),
            cools: cools.unwrap_or_default(),
            weight,
            copies: copies.unwrap_or_default(),
            replicas: replicas.unwrap_or_default(),
        })
        .boxed()
}
