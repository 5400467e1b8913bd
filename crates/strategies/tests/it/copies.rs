//! The standbys of `balanced`: where they may be, how even they are, and that they come to rest.

use std::collections::BTreeSet;

use kafka_assigner_strategies::{
    Balanced, CopartitionedSticky, MemberIndex, MemberSpec, MemberState, Placement, Problem, Strategy as _,
    Subscription, UnitIndex,
};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;

/// A group before it is told; members, racks and topics by position.
#[derive(Clone, Debug)]
struct Group {
    /// Partitions and standbys.
    topics: Vec<(u32, u32)>,
    members: Vec<Sketch>,
    /// By topic and partition: the owner, and the standbys.
    units: Vec<Vec<(Option<usize>, Vec<usize>)>>,
}

#[derive(Clone, Debug)]
struct Sketch {
    rack: Option<usize>,
    state: MemberState,
    /// `None` for all.
    topics: Option<Vec<bool>>,
}

impl Group {
    fn problem(&self) -> Problem {
        let mut builder = Problem::builder();
        let racks: Vec<_> = (0..3).map(|rack| builder.rack(&format!("rack-{rack}").into())).collect();
        let topics: Vec<_> = (0..)
            .zip(&self.topics)
            .map(|(at, (partitions, standbys))| {
                let topic = builder.topic(format!("topic-{at}"), *partitions);
                builder.want_standbys(topic, *standbys);
                topic
            })
            .collect();
        let members: Vec<_> = (0..)
            .zip(&self.members)
            .map(|(at, sketch)| {
                let subscription = sketch.topics.as_ref().map_or(Subscription::All, |wanted| {
                    let wanted = topics.iter().zip(wanted).filter(|(_, wanted)| **wanted);
                    wanted.map(|(topic, _)| *topic).collect()
                });
                let rack = sketch.rack.map(|rack| racks[rack]);
                builder.member(MemberSpec {
                    subscription,
                    rack,
                    state: sketch.state,
                    ..MemberSpec::new(format!("member-{at}"))
                })
            })
            .collect();
        for (topic, units) in topics.iter().zip(&self.units) {
            for (partition, (owner, standbys)) in (0..).zip(units) {
                owner.iter().for_each(|owner| builder.current(*topic, partition, members[*owner]));
                standbys.iter().for_each(|member| builder.standby(*topic, partition, members[*member], 0));
            }
        }
        builder.build().unwrap()
    }

    /// The same after `placement` has come true.
    fn after(&self, problem: &Problem, placement: &Placement) -> Self {
        let mut after = self.clone();
        for (unit, at) in problem.unit_indices().zip(after.units.iter_mut().flatten()) {
            let standbys = placement.standbys.of(unit).iter().map(|member| member.index());
            *at = (placement.owner[unit.index()].map(MemberIndex::index), standbys.collect());
        }
        after
    }
}

fn group(mixed: bool) -> impl Strategy<Value = Group> {
    (1..=8_usize, vec((0..=8_u32, 0..=3_u32), 1..=3)).prop_flat_map(move |(members, topics)| {
        let state = prop_oneof![8 => Just(MemberState::Active), 1 => Just(MemberState::Hold), 1 => Just(MemberState::Draining)];
        let wanted = weighted(0.5, vec(any::<bool>(), topics.len())).prop_map(move |wanted| wanted.filter(|_| mixed));
        let state = if mixed { state.boxed() } else { Just(MemberState::Active).boxed() };
        let sketch = (weighted(0.8, 0..3_usize), state, wanted)
            .prop_map(|(rack, state, topics)| Sketch { rack, state, topics });
        let unit = || (weighted(0.8, 0..members), vec(0..members, 0..=3));
        let units: Vec<_> = topics.iter().map(|(partitions, _)| vec(unit(), *partitions as usize)).collect();
        (Just(topics), vec(sketch, members), units).prop_map(|(topics, members, units)| Group { topics, members, units })
    })
}

/// Members that may hold a standby of the unit.
fn able<'a>(
    problem: &'a Problem,
    placement: &'a Placement,
    unit: UnitIndex,
) -> impl Iterator<Item = MemberIndex> + 'a {
    problem.member_indices().filter(move |member| {
        problem.member(*member).state == MemberState::Active
            && problem.may_own(unit, *member)
            && placement.owner[unit.index()] != Some(*member)
    })
}

/// Members on hold that have a copy of the unit, or were its owner.
fn keepers(problem: &Problem, placement: &Placement, unit: UnitIndex) -> BTreeSet<MemberIndex> {
    let copies = problem.standbys(unit).iter().map(|standby| standby.member);
    copies
        .chain(problem.current(unit))
        .filter(|member| problem.member(*member).state == MemberState::Hold)
        .filter(|member| problem.may_own(unit, *member) && placement.owner[unit.index()] != Some(*member))
        .collect()
}

fn held(problem: &Problem, placement: &Placement) -> Vec<usize> {
    let mut held = vec![0; problem.members().len()];
    for unit in problem.unit_indices() {
        placement.standbys.of(unit).iter().for_each(|member| held[member.index()] += 1);
    }
    held
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn each_unit_has_as_many_standbys_as_can_be_and_none_beside_its_owner(group in group(true)) {
        let problem = group.problem();
        let placement = Balanced.assign(&problem);
        for unit in problem.unit_indices() {
            let standbys: BTreeSet<_> = placement.standbys.of(unit).iter().copied().collect();
            let keepers = keepers(&problem, &placement, unit);
            let able: BTreeSet<_> = able(&problem, &placement, unit).chain(keepers.iter().copied()).collect();
            let wanted = problem.topic(problem.topic_of(unit).0).standbys as usize;
            prop_assert_eq!(standbys.len(), placement.standbys.of(unit).len());
            prop_assert!(standbys.is_subset(&able));
            prop_assert_eq!(standbys.len(), wanted.min(able.len()));
            // There is a place for all copies, and for the one of the previous owner.
            prop_assert!(problem.standbys(unit).len() >= wanted || keepers.is_subset(&standbys));
        }
    }

    #[test]
    fn standbys_come_to_rest(group in group(true)) {
        let problem = group.problem();
        let once = Balanced.assign(&problem);
        let settled = group.after(&problem, &once).problem();
        let twice = Balanced.assign(&settled);
        prop_assert_eq!(&twice.owner, &once.owner);
        for unit in settled.unit_indices() {
            let of = |placement: &Placement| placement.standbys.of(unit).iter().copied().collect::<BTreeSet<_>>();
            prop_assert_eq!(of(&twice), of(&once));
        }
    }

    #[test]
    fn a_standby_shares_a_rack_only_if_no_swap_free_move_parts_them(group in group(false)) {
        let problem = group.problem();
        let placement = Balanced.assign(&problem);
        let held = held(&problem, &placement);
        let rack = |member: MemberIndex| problem.member(member).rack;
        for unit in problem.unit_indices() {
            let standbys = placement.standbys.of(unit);
            for standby in standbys {
                let others: Vec<_> = standbys.iter().filter(|other| *other != standby).chain(&placement.owner[unit.index()]).collect();
                let shares = |member: MemberIndex| rack(member).is_some() && others.iter().any(|other| rack(**other) == rack(member));
                let better = able(&problem, &placement, unit).find(|member| {
                    !shares(*member) && !standbys.contains(member) && held[member.index()] <= held[standby.index()]
                });
                prop_assert!(!shares(*standby) || better.is_none(), "{:?} {:?}", unit, better);
            }
        }
    }
}

#[test]
fn a_promoted_standby_is_replaced_and_the_old_owner_takes_its_place() {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 2);
    builder.want_standbys(topic, 1);
    let [a, b] = ["a", "b"].map(|id| builder.member(MemberSpec::new(id)));
    (0..2).for_each(|partition| builder.current(topic, partition, a));
    (0..2).for_each(|partition| builder.standby(topic, partition, b, 0));
    let placement = Balanced.assign(&builder.build().unwrap());
    let [first, second] = [0, 1].map(UnitIndex::new);
    let [a, b] = [0, 1].map(MemberIndex::new);
    assert_eq!(placement.owner, [Some(a), Some(b)]);
    assert_eq!((placement.standbys.of(first), placement.standbys.of(second)), (&[b][..], &[a][..]));
}

/// The holder of the copy of a unit of `a` that was told to be with `b`, beside an idle `c`.
fn copy_of(spec: impl Fn(MemberSpec) -> MemberSpec, racks: bool) -> MemberIndex {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 1);
    builder.want_standbys(topic, 1);
    let [here, there] = ["here", "there"].map(|rack| racks.then(|| builder.rack(&rack.into())));
    let a = builder.member(MemberSpec { rack: here, ..MemberSpec::new("a") });
    let b = builder.member(spec(MemberSpec { rack: here, ..MemberSpec::new("b") }));
    builder.member(MemberSpec { rack: there, ..MemberSpec::new("c") });
    builder.current(topic, 0, a);
    builder.standby(topic, 0, b, 0);
    let placement = Balanced.assign(&builder.build().unwrap());
    assert_eq!(placement.owner, [Some(MemberIndex::new(0))]);
    placement.standbys.of(UnitIndex::new(0))[0]
}

#[test]
fn who_is_on_hold_keeps_its_copies_and_who_drains_gives_them() {
    let [b, c] = [1, 2].map(MemberIndex::new);
    let of = |state| move |spec| MemberSpec { state, ..spec };
    assert_eq!(copy_of(of(MemberState::Hold), false), b);
    assert_eq!(copy_of(of(MemberState::Hold), true), b, "it is in the rack of the owner");
    assert_eq!(copy_of(of(MemberState::Active), true), c, "it is in the rack of the owner");
    assert_eq!(copy_of(of(MemberState::Draining), false), c);
    let elsewhere =
        |spec| MemberSpec { subscription: std::iter::empty().collect(), ..of(MemberState::Hold)(spec) };
    assert_eq!(copy_of(elsewhere, false), c);
}

#[test]
fn what_a_member_leaves_goes_to_its_standbys() {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 30);
    let members: Vec<_> = (0..10).map(|at| builder.member(MemberSpec::new(format!("m{at}")))).collect();
    let member = |at: u32| members[at as usize % 10];
    for partition in 0..30 {
        // Three were a lost member's, so that three others have one less than the rest. Only one of these is a
        // standby of each.
        if !(7..10).contains(&partition) {
            builder.current(topic, partition, member(partition));
        }
        let (lag, near) = if partition == 7 { (99_999, 9) } else { (5, partition + 10) };
        builder.standby(topic, partition, member(near), lag);
        builder.standby(topic, partition, member(partition + 4), lag + 1);
    }
    let placement = Balanced.assign(&builder.build().unwrap());
    for (partition, standby) in [(8, 8), (9, 9), (7, 7)] {
        assert_eq!(placement.owner[partition], Some(MemberIndex::new(standby)), "{partition}");
    }
}

#[test]
fn the_standbys_of_one_owner_are_spread_over_many() {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 1_000);
    builder.want_standbys(topic, 1);
    for at in 0..20 {
        builder.member(MemberSpec::new(format!("m{at:02}")));
    }
    let problem = builder.build().unwrap();
    let placement = Balanced.assign(&problem);
    assert!(held(&problem, &placement).iter().all(|held| *held == 50));
    for owner in problem.member_indices() {
        let of = problem.unit_indices().filter(|unit| placement.owner[unit.index()] == Some(owner));
        let holders: BTreeSet<_> = of.flat_map(|unit| placement.standbys.of(unit)).collect();
        assert!(holders.len() >= 18, "{owner:?} has its copies at {} members", holders.len());
    }
}

#[test]
fn standbys_of_a_member_that_can_do_most_are_placed_without_looking_at_all_its_turns() {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 200_000);
    builder.want_standbys(topic, 1);
    for (id, capacity) in [("a", 1_000_000.0), ("b", 0.001), ("c", 1.0)] {
        builder.member(MemberSpec { capacity, ..MemberSpec::new(id) });
    }
    let placement = Balanced.assign(&builder.build().unwrap());
    assert_eq!(placement.standbys.len(), 200_000);
}

/// A unit that is pinned to `a`, banned from `b`, and wants two standbys among four members; with its owner and its
/// standbys, which are up to date.
fn pinned(owner: MemberIndex, standbys: &[MemberIndex]) -> Problem {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 1);
    builder.want_standbys(topic, 2);
    let members = ["a", "b", "c", "d"].map(|id| builder.member(MemberSpec::new(id)));
    builder.pin(topic, 0, members[0]);
    builder.ban(topic, 0, members[1]);
    builder.current(topic, 0, members[owner.index()]);
    standbys.iter().for_each(|standby| builder.standby(topic, 0, members[standby.index()], 0));
    builder.build().unwrap()
}

#[test]
fn a_pin_binds_the_owner_only_and_a_ban_the_standbys_too() {
    let [a, c, d] = [0, 2, 3].map(MemberIndex::new);
    let problem = pinned(c, &[]);
    let strategies: [&dyn kafka_assigner_strategies::Strategy; 2] = [&Balanced, &CopartitionedSticky];
    for strategy in strategies {
        let placement = strategy.assign(&problem);
        let unit = UnitIndex::new(0);
        assert_eq!(placement.owner, [Some(a)], "{}", strategy.name());
        let mut standbys = placement.standbys.of(unit).to_vec();
        standbys.sort_unstable();
        assert_eq!(standbys, [c, d], "{}", strategy.name());
        let after = pinned(a, &standbys);
        let again = strategy.assign(&after);
        let mut kept = again.standbys.of(unit).to_vec();
        kept.sort_unstable();
        assert_eq!((again.changes(&after).count(), kept), (0, standbys));
    }
}
