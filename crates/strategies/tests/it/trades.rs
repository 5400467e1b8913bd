//! `balanced` with weights where members take different topics: no trade that helps is left out.

use std::collections::BTreeSet;

use kafka_assigner_strategies::{
    Balanced, MemberHandle, MemberIndex, MemberSpec, MoveReason, Options, Placement, Problem, ProblemBuilder,
    Strategy as _, TopicHandle, UnitIndex,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Members that take the same topics, by position, and what each of them has.
type Bucket<'a> = (&'a [TopicHandle], &'a str, usize);

/// Members of one bucket, their ids numbered.
fn join(builder: &mut ProblemBuilder, (topics, prefix, count): Bucket<'_>) -> Vec<MemberHandle> {
    let spec = |at| MemberSpec {
        subscription: topics.iter().copied().collect(),
        ..MemberSpec::new(format!("{prefix}{at:02}"))
    };
    (0..count).map(|at| builder.member(spec(at))).collect()
}

/// Tells that `owner` has the partition, of that weight.
fn tell(builder: &mut ProblemBuilder, topic: TopicHandle, partition: u32, weight: f64, owner: MemberHandle) {
    builder.current(topic, partition, owner);
    builder.weight(topic, partition, weight);
}

fn loads(problem: &Problem, placement: &Placement) -> Vec<u64> {
    let mut loads = vec![0; problem.members().len()];
    for unit in problem.unit_indices() {
        let owner = placement.owner[unit.index()];
        owner.iter().for_each(|owner| loads[owner.index()] += problem.weight(unit).thousandths());
    }
    loads
}

/// The load of the member, in thousandths.
fn load_of(problem: &Problem, placement: &Placement, id: &str) -> u64 {
    let at = problem.members().iter().position(|member| &*member.id == id).unwrap();
    loads(problem, placement)[at]
}

/// The loads of the two members once everything is placed, in thousandths.
fn balanced(builder: ProblemBuilder, ids: [&str; 2]) -> [u64; 2] {
    let problem = builder.build().unwrap();
    let placement = Balanced.assign(&problem);
    ids.map(|id| load_of(&problem, &placement, id))
}

/// Topic `a`, of which two members have four partitions each and a third has none, and others who have more.
fn a_joiner_and_33_others(link: bool) -> Problem {
    let mut builder = Problem::builder();
    let [a, b] = [("a", 8), ("b", 66)].map(|(name, partitions)| builder.topic(name, partitions));
    let owners = join(&mut builder, (&[a], "a", 3));
    let others = join(&mut builder, (&[b], "b", 33));
    if link {
        join(&mut builder, (&[a, b], "c", 1));
    }
    for partition in 0..8 {
        let weight = if partition == 0 { 1.1 } else { 1.0 };
        tell(&mut builder, a, partition, weight, owners[partition as usize / 4]);
    }
    (0..66).for_each(|partition| tell(&mut builder, b, partition, 10.0, others[partition as usize / 2]));
    builder.build().unwrap()
}

#[test]
fn a_joiner_gets_its_share_however_many_members_without_anything_for_it_have_more() {
    for link in [false, true] {
        let problem = a_joiner_and_33_others(link);
        let placement = Balanced.assign(&problem);
        assert!(load_of(&problem, &placement, "a02") >= 2_000, "link {link}");
    }
}

#[test]
fn who_is_above_its_limit_takes_nothing_not_even_for_one_of_its_own() {
    let mut builder = Problem::builder();
    let t = builder.topic("t", 5);
    builder.member(MemberSpec { max_partitions: Some(1), ..MemberSpec::new("a") });
    let c = builder.member(MemberSpec { max_partitions: Some(0), capacity: 2.0, ..MemberSpec::new("c") });
    for (partition, weight) in (0..).zip([2.0, 2.0, 2.0, 1.0, 1.0]) {
        builder.weight(t, partition, weight);
    }
    builder.current(t, 3, c);
    let problem = builder.build().unwrap();
    let placement = Balanced.assign(&problem);
    let c = problem.member_named("c");
    let at_c = placement.owner.iter().position(|owner| *owner == c);
    assert!(at_c.is_none_or(|unit| unit == 3), "{placement:?}");
}

#[test]
fn who_has_too_much_gives_however_many_members_that_may_not_take_it_have_less() {
    let mut builder = Problem::builder();
    let [a, b] = [("a", 12), ("b", 32)].map(|(name, partitions)| builder.topic(name, partitions));
    let owners = join(&mut builder, (&[a], "a", 2));
    let others = join(&mut builder, (&[b], "b", 32));
    for partition in 0..12 {
        tell(&mut builder, a, partition, 10.0, owners[usize::from(partition >= 10)]);
    }
    (0..32).for_each(|partition| tell(&mut builder, b, partition, 1.0, others[partition as usize]));
    assert_eq!(balanced(builder, ["a00", "a01"]), [60_000, 60_000]);
}

#[test]
fn light_loads_are_even_too_beside_a_bucket_that_carries_a_thousand_times_more() {
    let mut builder = Problem::builder();
    let [a, b] = [("a", 10), ("b", 200)].map(|(name, partitions)| builder.topic(name, partitions));
    let owners = join(&mut builder, (&[a], "a", 2));
    let others = join(&mut builder, (&[b], "b", 2));
    (0..10).for_each(|partition| tell(&mut builder, a, partition, 1.0, owners[usize::from(partition >= 7)]));
    (0..200).for_each(|partition| {
        tell(&mut builder, b, partition, 100.0, others[partition as usize % 2]);
    });
    assert_eq!(balanced(builder, ["a00", "a01"]), [5_000, 5_000]);
}

#[test]
fn units_lighter_than_what_is_to_change_hands_are_swapped_too() {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 4);
    let a = builder.member(MemberSpec::new("a"));
    let b = builder.member(MemberSpec { max_partitions: Some(1), ..MemberSpec::new("b") });
    (0..3).for_each(|partition| tell(&mut builder, topic, partition, 3.0, a));
    tell(&mut builder, topic, 3, 1.0, b);
    assert_eq!(balanced(builder, ["a", "b"]), [7_000, 3_000]);
}

#[test]
fn a_joiner_gets_its_share_of_units_so_light_that_none_matters_alone() {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 4_000);
    let members = join(&mut builder, (&[topic], "m", 5));
    for partition in 0..4_000 {
        let weight = f64::from(1 + partition % 3);
        tell(&mut builder, topic, partition, weight, members[partition as usize / 1_000]);
    }
    let problem = builder.build().unwrap();
    let placement = Balanced.assign(&problem);
    let loads = loads(&problem, &placement);
    // The mean is 1 600; single units are at most 3, a quarter of the tolerance is 8.
    assert!(loads.iter().all(|load| (1_568_000..=1_632_000).contains(load)), "{loads:?}");
    // The joiner's share in the heaviest units.
    let moves = placement.changes(&problem).count();
    assert!((523..=533).contains(&moves), "{moves}");
}

/// Units of much the same weight, each with its owner, and two members.
fn light_units(owners: &[usize]) -> Problem {
    let mut builder = Problem::builder();
    // So much that it takes thousands of units to be worth a move.
    builder.options(Options { tolerance: 200, ..Options::default() });
    let topic = builder.topic("t", u32::try_from(owners.len()).unwrap());
    let members = join(&mut builder, (&[topic], "m", 2));
    for (partition, owner) in (0..).zip(owners) {
        let weight = 0.9 + f64::from(partition * 7 % 201) / 1_000.0;
        tell(&mut builder, topic, partition, weight, members[*owner]);
    }
    builder.build().unwrap()
}

#[test]
fn a_joiner_gets_its_share_of_a_hundred_thousand_light_units_in_one_run() {
    let problem = light_units(&[0; 120_000]);
    let placement = Balanced.assign(&problem);
    let loads = loads(&problem, &placement);
    // The mean is 60 000.
    assert!(loads.iter().all(|load| (47_900_000..=72_100_000).contains(load)), "{loads:?}");
    // A fifth less than half of the load, in the heaviest units, and at most a quarter of that fifth more.
    let moves = placement.changes(&problem).count();
    assert!((44_000..=48_000).contains(&moves), "{moves}");
    let owners: Vec<_> = placement.owner.iter().map(|owner| owner.unwrap().index()).collect();
    assert_eq!(Balanced.assign(&light_units(&owners)).changes(&light_units(&owners)).count(), 0);
}

#[test]
fn who_makes_room_for_what_would_be_nobodys_is_not_said_to_do_so_for_balance() {
    let mut builder = Problem::builder();
    let [x, y] = ["x", "y"].map(|name| builder.topic(name, 1));
    let a = builder.member(MemberSpec { max_partitions: Some(1), ..MemberSpec::new("a") });
    let subscription = [x].into_iter().collect();
    builder.member(MemberSpec { subscription, max_partitions: Some(1), ..MemberSpec::new("b") });
    tell(&mut builder, x, 0, 1.0, a);
    builder.weight(y, 0, 5.0);
    let problem = builder.build().unwrap();
    let placement = Balanced.assign(&problem);
    let [a, b] = [0, 1].map(|at| Some(MemberIndex::new(at)));
    assert_eq!(placement.owner, [b, a]);
    let moves = placement.moves(&problem);
    assert_eq!(moves[0].reason, MoveReason::OverTarget { had: 1, target: 1 });
    assert_eq!(moves[0].reason.to_string(), "its owner takes others instead");
}

/// A group by position: which topics there are, of what weights, and who takes what.
#[derive(Clone, Debug)]
struct Group {
    /// By topic and partition: the weight, and the owner by id.
    topics: Vec<Vec<(u16, Option<usize>)>>,
    /// By bucket: the topics.
    buckets: Vec<Vec<usize>>,
    /// The members' ids, each with its bucket.
    members: Vec<(usize, usize)>,
    /// True if some members can do more than others.
    differ: bool,
}

impl Group {
    fn problem(&self) -> Problem {
        let mut builder = Problem::builder();
        let topics: Vec<_> = (0..)
            .zip(&self.topics)
            .map(|(at, units)| builder.topic(format!("t{at:03}"), u32::try_from(units.len()).unwrap()))
            .collect();
        for (id, bucket) in &self.members {
            let subscription = self.buckets[*bucket].iter().map(|topic| topics[*topic]).collect();
            let capacity = if self.differ { [1.0, 2.5, 0.7][id % 3] } else { 1.0 };
            builder.member(MemberSpec { subscription, capacity, ..MemberSpec::new(id_of(*id)) });
        }
        for (topic, units) in topics.iter().zip(&self.topics) {
            for (partition, (weight, owner)) in (0..).zip(units) {
                builder.weight(*topic, partition, f64::from(*weight));
                let owner = owner.and_then(|owner| builder.member_handle(&id_of(owner)));
                owner.into_iter().for_each(|owner| builder.current(*topic, partition, owner));
            }
        }
        builder.build().unwrap()
    }

    fn settle(&mut self, problem: &Problem, placement: &Placement) {
        let mut owners = placement.owner.iter();
        for (_, owner) in self.topics.iter_mut().flatten() {
            let id = |member: MemberIndex| problem.member(member).id[1..].parse();
            *owner = owners.next().unwrap().map(|member| id(member).unwrap());
        }
    }

    /// Asks, checks the answer, and lets it come true.
    fn assign(&mut self) -> Result<(), TestCaseError> {
        let problem = self.problem();
        let placement = Balanced.assign(&problem);
        let (loads, targets) = (loads(&problem, &placement), targets(&problem));
        Outcome { problem: &problem, placement: &placement, loads, targets }.check()?;
        self.settle(&problem, &placement);
        let problem = self.problem();
        prop_assert_eq!(Balanced.assign(&problem).changes(&problem).count(), 0);
        Ok(())
    }
}

fn id_of(member: usize) -> String {
    format!("m{member:04}")
}

/// The bounds of balance in a component: the lowest and the highest level, and by how much a trade must lower one.
/// Levels are thousandths of weight by capacity.
#[derive(Clone, Copy, Default)]
struct Target {
    low: f64,
    high: f64,
    least: f64,
}

/// By member its target.
fn targets(problem: &Problem) -> Vec<Target> {
    let mut targets = vec![Target::default(); problem.members().len()];
    let mut left: BTreeSet<_> = problem.member_indices().collect();
    while let Some(first) = left.pop_first() {
        let (mut component, mut units) = (vec![first], BTreeSet::new());
        let mut at = 0;
        while at < component.len() {
            let takes = |member| move |unit: &_| problem.may_own(*unit, member);
            units.extend(problem.unit_indices().filter(takes(component[at])));
            let others = left.iter().copied().filter(|other| units.iter().any(takes(*other)));
            component.extend(others.collect::<Vec<_>>());
            left.retain(|other| !component.contains(other));
            at += 1;
        }
        let weights = units.iter().map(|unit| problem.weight(*unit).thousandths() as f64).collect();
        let capacity: f64 = component.iter().map(|member| capacity(problem, *member)).sum();
        let mean = mean(weights, component.len()) * component.len() as f64 / capacity;
        let target = Target { low: mean * 0.98, high: mean * 1.02, least: mean * 0.005 };
        component.iter().for_each(|member| targets[member.index()] = target);
    }
    targets
}

fn capacity(problem: &Problem, member: MemberIndex) -> f64 {
    f64::from(problem.member(member).capacity.thousandths()) / 1_000.0
}

/// The mean of what `members` carry without the weights that are more than a share, and without a member for each.
fn mean(mut weights: Vec<f64>, members: usize) -> f64 {
    weights.sort_by(f64::total_cmp);
    let mut left = members as f64;
    while left > 1.0 && weights.last().is_some_and(|most| most * left > weights.iter().sum()) {
        weights.pop();
        left -= 1.0;
    }
    weights.iter().sum::<f64>() / left
}

/// The units of each member, and those of them that others may take.
struct Outcome<'a> {
    problem: &'a Problem,
    placement: &'a Placement,
    loads: Vec<u64>,
    targets: Vec<Target>,
}

impl Outcome<'_> {
    fn load(&self, member: MemberIndex) -> f64 {
        self.loads[member.index()] as f64
    }

    /// The level of `member` if it carried that much.
    fn level(&self, member: MemberIndex, load: f64) -> f64 {
        load / capacity(self.problem, member)
    }

    /// The weights of the units of `giver` that `taker` may take.
    fn offers(&self, giver: MemberIndex, taker: MemberIndex) -> Vec<f64> {
        let its = |unit: &UnitIndex| self.placement.owner[unit.index()] == Some(giver);
        let units = self.problem.unit_indices().filter(its);
        let offered = units.filter(|unit| self.problem.may_own(*unit, taker));
        offered.map(|unit| self.problem.weight(unit).thousandths() as f64).collect()
    }

    /// True if one of the two is out of tolerance on its side.
    fn is_out(&self, giver: MemberIndex, taker: MemberIndex) -> bool {
        let [given, taken] = [giver, taker].map(|member| self.level(member, self.load(member)));
        let Target { low, high, .. } = self.targets[giver.index()];
        let heaviest = self.offers(giver, giver).into_iter().fold(0.0, f64::max);
        taken < low - 1.0 || given > high.max(self.level(giver, heaviest) * 1.02) + 1.0
    }

    /// No unit could move, or be swapped, such that the higher of two levels falls by a quarter of the tolerance.
    fn no_trade_helps(&self, giver: MemberIndex, taker: MemberIndex) -> Result<(), TestCaseError> {
        let [load, taken] = [giver, taker].map(|member| self.load(member));
        let least = self.targets[giver.index()].least;
        let backs = self.offers(taker, giver);
        for unit in self.offers(giver, taker) {
            for back in backs.iter().copied().chain([0.0]) {
                let [after, other] =
                    [self.level(giver, load + back - unit), self.level(taker, taken + unit - back)];
                let helps = after.max(other) + least + 1.0 < self.level(giver, load);
                prop_assert!(!helps, "{unit} of {load} from {giver:?} to {taker:?} ({taken}) for {back}");
            }
        }
        Ok(())
    }

    /// If to be level would lower the higher by half of the tolerance, then there are not so many units no heavier than
    /// it takes that they would do half of that together.
    fn nothing_light_is_left(&self, giver: MemberIndex, taker: MemberIndex) -> Result<(), TestCaseError> {
        let [give, take] = [giver, taker].map(|member| capacity(self.problem, member));
        let ideal = (self.load(giver) * take - self.load(taker) * give) / (give + take);
        let least = self.targets[giver.index()].least;
        let sum: f64 = self.offers(giver, taker).into_iter().filter(|unit| *unit + 1.0 <= ideal).sum();
        let is_far = self.level(giver, ideal) > 2.0 * least + 2.0;
        prop_assert!(!is_far || self.level(giver, sum) <= least + 2.0, "{giver:?} {taker:?} {ideal} {sum}");
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        for giver in self.problem.member_indices() {
            for taker in self.problem.member_indices().filter(|taker| *taker != giver) {
                if self.is_out(giver, taker) {
                    self.no_trade_helps(giver, taker)?;
                    self.nothing_light_is_left(giver, taker)?;
                }
            }
        }
        Ok(())
    }
}

/// Buckets with the topics that each takes.
fn group(buckets: Vec<Vec<usize>>) -> impl Strategy<Value = Group> {
    let topics = buckets.iter().flatten().max().unwrap() + 1;
    let weight = prop_oneof![3 => 1..=10_u16, 1 => 50..=60_u16, 1 => Just(1_000_u16)];
    // The units that one bucket takes may be much heavier than those of another.
    let topic = (prop_oneof![Just(1_u16), Just(60)], vec(weight, 0..=12));
    let topic =
        topic.prop_map(|(factor, units)| units.into_iter().map(|weight| (weight * factor, None)).collect());
    let sizes = vec(1..=5_usize, buckets.len());
    (vec(topic, topics), sizes, any::<bool>()).prop_map(move |(topics, sizes, differ)| {
        let of_buckets = sizes.iter().enumerate().flat_map(|(bucket, size)| vec![bucket; *size]);
        Group { topics, buckets: buckets.clone(), members: (0..).zip(of_buckets).collect(), differ }
    })
}

/// Five buckets that share nothing, or two halves that share a topic.
fn mixed_group() -> impl Strategy<Value = Group> {
    let disjoint = (0..5).map(|at| vec![2 * at, 2 * at + 1]).collect();
    prop_oneof![group(disjoint), group(vec![vec![0, 1], vec![1, 2]])]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_trade_that_helps_is_left_after_joins_and_leaves(
        mut group in mixed_group(),
        changes in vec((any::<bool>(), any::<prop::sample::Index>()), 0..=4),
    ) {
        group.assign()?;
        for (number, (joins, which)) in (50..).zip(changes) {
            let at = which.index(group.members.len().max(1));
            if joins {
                group.members.push((number, which.index(group.buckets.len())));
            } else if group.members.len() > 1 {
                group.members.remove(at);
            }
            group.assign()?;
        }
    }
}
