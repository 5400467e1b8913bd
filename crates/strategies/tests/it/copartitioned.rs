//! `copartitioned-sticky` keeps equal partition numbers together, and standbys apart from owners.

use std::collections::BTreeSet;

use kafka_assigner_strategies::{
    CopartitionedSticky, MemberHandle, MemberIndex, MemberSpec, MemberState, Placement, Problem,
    ProblemBuilder, Strategy, TopicHandle, TopicIndex, UnitIndex,
};
use proptest::prelude::*;

use crate::cluster::spread;
use crate::scenario::{Scenario, any_scenario, copied_scenario};

/// By unit: who should stand by, without the order.
fn standbys(problem: &Problem, placement: &Placement) -> Vec<BTreeSet<MemberIndex>> {
    problem.unit_indices().map(|unit| placement.standbys.of(unit).iter().copied().collect()).collect()
}

/// The topics that are co-partitioned with `topic`.
fn set_of(problem: &Problem, topic: TopicIndex) -> Vec<TopicIndex> {
    let subscribers = |topic| {
        problem.member_indices().map(|member| problem.is_subscribed(topic, member)).collect::<Vec<_>>()
    };
    let alike = |other: &TopicIndex| {
        problem.topic(*other).partitions == problem.topic(topic).partitions
            && subscribers(*other) == subscribers(topic)
    };
    problem.topic_indices().filter(alike).collect()
}

/// True if anything keeps the slot of `unit` from being wherever it fits best.
fn is_free(problem: &Problem, unit: UnitIndex) -> bool {
    let holds = |member: MemberIndex| problem.member(member).state == MemberState::Hold;
    let members = || problem.member_indices();
    problem.fixed(unit).is_none()
        && !problem.is_cooling(unit)
        && members()
            .all(|member| !problem.is_banned(unit, member) && problem.member(member).max_partitions.is_none())
        && !problem.current(unit).is_some_and(holds)
}

fn slot(problem: &Problem, unit: UnitIndex) -> Vec<UnitIndex> {
    let (topic, partition) = problem.topic_of(unit);
    set_of(problem, topic).into_iter().map(|topic| problem.unit(topic, partition)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn equal_numbers_are_together(scenario in any_scenario()) {
        let problem = scenario.problem();
        let placement = CopartitionedSticky.assign(&problem);
        for unit in problem.unit_indices() {
            let slot = slot(&problem, unit);
            let taken = problem.member_indices().any(|member| {
                problem.member(member).state == MemberState::Active && problem.may_own(unit, member)
            });
            if taken && slot.iter().all(|unit| is_free(&problem, *unit)) {
                let owners: BTreeSet<_> = slot.iter().map(|unit| placement.owner[unit.index()]).collect();
                prop_assert_eq!(owners.len(), 1, "{:?}", slot);
            }
        }
    }

    #[test]
    fn standbys_may_take_over_and_own_nothing_of_the_slot(mut scenario in any_scenario()) {
        let problem = scenario.problem();
        // Pins bind owners only.
        scenario.units.iter_mut().flatten().for_each(|fate| fate.pins.clear());
        let unpinned = scenario.problem();
        let placement = CopartitionedSticky.assign(&problem);
        for unit in problem.unit_indices() {
            let standbys = placement.standbys.of(unit);
            let distinct: BTreeSet<_> = standbys.iter().collect();
            prop_assert_eq!(distinct.len(), standbys.len());
            let wanted = problem.topic(problem.topic_of(unit).0).standbys;
            prop_assert!(standbys.len() <= wanted as usize);
            for standby in standbys {
                prop_assert!(unpinned.may_own(unit, *standby));
                let member = problem.member(*standby);
                prop_assert!(member.state != MemberState::Draining && member.max_partitions != Some(0));
                let had = |unit: &UnitIndex| {
                    let mut copies = problem.standbys(*unit).iter().map(|copy| copy.member);
                    copies.any(|member| member == *standby) || problem.current(*unit) == Some(*standby)
                };
                prop_assert!(member.state == MemberState::Active || slot(&problem, unit).iter().any(had));
                let owners = slot(&problem, unit).into_iter().map(|unit| placement.owner[unit.index()]);
                prop_assert!(!owners.into_iter().any(|owner| owner == Some(*standby)));
            }
        }
    }

    #[test]
    fn a_second_run_moves_no_standby(mut scenario in any_scenario()) {
        // A pin to a member that can't take counts only once that has the unit: another question.
        scenario.units.iter_mut().flatten().for_each(|fate| fate.pins.clear());
        let (problem, first) = settled(&scenario);
        let after = scenario.after(&first).problem();
        let second = CopartitionedSticky.assign(&after);
        prop_assert_eq!(&second.owner, &first.owner);
        prop_assert_eq!(standbys(&problem, &first), standbys(&after, &second));
    }

    #[test]
    fn each_set_is_even_and_has_as_many_standbys_as_it_can(scenario in copied_scenario()) {
        let (problem, placement) = settled(&scenario);
        let others = u32::try_from(problem.members().len() - 1).unwrap();
        for topic in problem.topic_indices() {
            let (mut owned, mut copied) = (vec![0; problem.members().len()], vec![0; problem.members().len()]);
            for unit in problem.units_of(topic) {
                owned[placement.owner[unit.index()].unwrap().index()] += 1;
                placement.standbys.of(unit).iter().for_each(|standby| copied[standby.index()] += 1);
                let wanted = problem.topic(topic).standbys.min(others) as usize;
                prop_assert_eq!(placement.standbys.of(unit).len(), wanted);
            }
            prop_assert!(spread(&owned) <= 1, "owned {:?}", owned);
            // Only the standbys of whole slots are shared out: all topics of the set want as many.
            let same = set_of(&problem, topic).iter().all(|other| problem.topic(*other).standbys == problem.topic(topic).standbys);
            prop_assert!(!same || spread(&copied) <= 1, "copied {:?}", copied);
        }
    }

    #[test]
    fn nobody_is_empty_while_another_has_two(scenario in copied_scenario()) {
        let (problem, placement) = settled(&scenario);
        let largest = problem.topic_indices().map(|topic| set_of(&problem, topic).len()).max().unwrap_or(0);
        let mut owned = vec![0; problem.members().len()];
        placement.owner.iter().flatten().for_each(|owner| owned[owner.index()] += 1);
        prop_assert!(spread(&owned) <= largest, "{:?}", owned);
    }
}

fn settled(scenario: &Scenario) -> (Problem, Placement) {
    let problem = scenario.problem();
    let placement = CopartitionedSticky.assign(&problem);
    (problem, placement)
}

/// A topic that wants a standby each; for each partition its owner and who has a copy, of members `0` and on.
fn copied(members: usize, slots: &[(Option<usize>, Option<usize>)], draining: Option<usize>) -> Problem {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", u32::try_from(slots.len()).unwrap());
    builder.want_standbys(topic, 1);
    let state = |at| if draining == Some(at) { MemberState::Draining } else { MemberState::Active };
    let spec = |at: usize| MemberSpec { state: state(at), ..MemberSpec::new(at.to_string()) };
    let members: Vec<_> = (0..members).map(|at| builder.member(spec(at))).collect();
    for (slot, (owner, copy)) in (0..).zip(slots) {
        owner.iter().for_each(|at| builder.current(topic, slot, members[*at]));
        copy.iter().for_each(|at| builder.standby(topic, slot, members[*at], 0));
    }
    builder.build().unwrap()
}

/// By partition its owner and its standby.
fn settled_copies(problem: &Problem) -> Vec<(usize, Option<usize>)> {
    let placement = CopartitionedSticky.assign(problem);
    let standby = |unit| placement.standbys.of(unit).first().map(|member| member.index());
    problem
        .unit_indices()
        .map(|unit| (placement.owner[unit.index()].unwrap().index(), standby(unit)))
        .collect()
}

#[test]
fn what_is_nobodys_goes_to_who_has_a_copy_and_not_in_turn() {
    let problem = copied(2, &[(None, Some(1)), (None, Some(0))], None);
    assert_eq!(settled_copies(&problem), [(1, Some(0)), (0, Some(1))]);
}

#[test]
fn a_draining_member_holds_no_copy() {
    let problem = copied(3, &[(Some(0), Some(1)), (Some(2), Some(1))], Some(1));
    assert_eq!(settled_copies(&problem), [(0, Some(2)), (2, Some(0))]);
}

#[test]
fn who_gives_a_slot_keeps_its_copy() {
    let settled = settled_copies(&copied(3, &[(Some(2), None), (Some(2), None)], None));
    let given: Vec<_> = settled.iter().filter(|(owner, _)| *owner != 2).collect();
    assert_eq!(given, [&(0, Some(2))]);
}

#[test]
fn a_copy_that_moves_goes_to_a_rack_of_its_own() {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 8);
    builder.want_standbys(topic, 1);
    let members = ["a", "b", "a", "c"].iter().enumerate().map(|(at, rack)| {
        let rack = Some(builder.rack(&(*rack).into()));
        builder.member(MemberSpec { rack, ..MemberSpec::new(at.to_string()) })
    });
    let members: Vec<_> = members.collect();
    for slot in 0..8 {
        let owner = slot as usize % 4;
        builder.current(topic, slot, members[owner]);
        builder.standby(topic, slot, members[if owner == 1 { 0 } else { 1 }], 0);
    }
    let problem = builder.build().unwrap();
    let rack = |member| problem.member(MemberIndex::new(member)).rack;
    let settled = settled_copies(&problem);
    assert!(settled.iter().all(|(owner, holder)| rack(*owner) != holder.and_then(rack)), "{settled:?}");
    let holds = |member| settled.iter().filter(|(_, holder)| *holder == Some(member)).count();
    assert_eq!([0, 1, 2, 3].map(holds), [2; 4]);
}

#[test]
fn copies_stay_where_they_are() {
    let problem = copied(3, &[(Some(0), Some(2))], None);
    assert_eq!(settled_copies(&problem), [(0, Some(2))]);
}

#[test]
fn the_copies_of_one_owner_are_with_many() {
    let problem = copied(4, &[(None, None); 12], None);
    let settled = settled_copies(&problem);
    for owner in 0..4 {
        let holders: BTreeSet<_> =
            settled.iter().filter(|(of, _)| *of == owner).map(|(_, holder)| holder).collect();
        assert_eq!(holders.len(), 3, "the copies of {owner} are at {holders:?}");
    }
}

#[test]
fn copies_move_from_who_has_too_many_straight_to_who_has_none() {
    let slots: Vec<_> =
        (0..6).map(|slot| (Some(slot % 3), Some(if slot % 3 == 0 { 1 } else { 0 }))).collect();
    let settled = settled_copies(&copied(3, &slots, None));
    let holds = |member| settled.iter().filter(|(_, holder)| *holder == Some(member)).count();
    assert_eq!([0, 1, 2].map(holds), [2, 2, 2]);
    let moved = settled.iter().zip(&slots).filter(|((_, after), (_, before))| after != before);
    assert_eq!(moved.count(), 2);
}

/// All that `0` could give is what `1` owns or may not have, but `2` has a copy that `1` may have.
#[test]
fn a_copy_goes_by_way_of_another_where_it_may_not_go_straight() {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 6);
    builder.want_standbys(topic, 1);
    let members = ["0", "1", "2"].map(|id| builder.member(MemberSpec::new(id)));
    for (slot, (owner, copy)) in (0..).zip([(1, 0), (1, 0), (2, 0), (2, 0), (0, 1), (0, 2)]) {
        builder.current(topic, slot, members[owner]);
        builder.standby(topic, slot, members[copy], 0);
    }
    [2, 3].into_iter().for_each(|slot| builder.ban(topic, slot, members[1]));
    let settled = settled_copies(&builder.build().unwrap());
    let holds = |member| settled.iter().filter(|(_, holder)| *holder == Some(member)).count();
    assert_eq!([0, 1, 2].map(holds), [2, 2, 2], "{settled:?}");
}

/// `0` has copies of half of each slot only.
#[test]
fn who_has_copies_of_a_part_of_a_slot_exchanges_nothing_for_it() {
    let mut builder = Problem::builder();
    let [t, u] = ["t", "u"].map(|name| builder.topic(name, 4));
    let members = ["0", "1"].map(|id| builder.member(MemberSpec::new(id)));
    let gone = builder.member(MemberSpec { state: MemberState::Draining, ..MemberSpec::new("gone") });
    for slot in 0..2 {
        [t, u].into_iter().for_each(|topic| builder.current(topic, slot, members[0]));
        builder.standby(t, slot + 2, members[0], 0);
        builder.standby(u, slot + 2, gone, 0);
    }
    let settled = settled_copies(&builder.build().unwrap());
    assert!(settled[..2].iter().all(|(owner, _)| *owner == 0), "{settled:?}");
}

/// Topics `t0` and so on of one unit for each of `owners`, and members `0` and so on.
fn owned(
    members: usize,
    topics: &[&[Option<usize>]],
) -> (ProblemBuilder, Vec<TopicHandle>, Vec<MemberHandle>) {
    let mut builder = Problem::builder();
    let members: Vec<_> = (0..members).map(|at| builder.member(MemberSpec::new(at.to_string()))).collect();
    let mut handles = Vec::new();
    for (at, owners) in topics.iter().enumerate() {
        let topic = builder.topic(format!("t{at}"), u32::try_from(owners.len()).unwrap());
        for (slot, owner) in (0..).zip(*owners) {
            owner.iter().for_each(|at| builder.current(topic, slot, members[*at]));
        }
        handles.push(topic);
    }
    (builder, handles, members)
}

/// `0` to `3` share topics of 5, 3, 3 and 11. What one of the first topic takes at first it has to
/// give again, as all together must be even, and gives that and not what it owned.
#[test]
fn who_took_too_much_gives_what_it_took() {
    let [a, b, c, d] = [0, 1, 2, 3].map(Some);
    let topics: [&[_]; 4] = [
        &[None, None, a, None, b],
        &[None, None, b],
        &[a, b, d],
        &[None, c, d, None, a, c, d, c, None, c, c],
    ];
    let problem = owned(4, &topics).0.build().unwrap();
    let placement = CopartitionedSticky.assign(&problem);
    assert_eq!(placement.owner[4], b.map(MemberIndex::new));
}

/// `1` owns one partition of the second topic and has a copy of the other, which is nobody's. It
/// goes on with that and gives its own, and keeps it so when all together are made even.
#[test]
fn what_was_promoted_is_not_given_away_again() {
    let (a, b) = (Some(0), Some(1));
    let topics: [&[_]; 2] = [&[b, a, b, a, None, None, a, None], &[b, None]];
    let (mut builder, topics, members) = owned(2, &topics);
    builder.standby(topics[1], 1, members[1], 5_000);
    let placement = CopartitionedSticky.assign(&builder.build().unwrap());
    assert_eq!(placement.owner[8..], [a, b].map(|at| at.map(MemberIndex::new)));
}

#[test]
fn a_share_ends_where_there_is_no_more_room() {
    let mut builder = Problem::builder();
    for name in ["t", "u"] {
        builder.topic(name, 4);
    }
    builder.member(MemberSpec { max_partitions: Some(3), ..MemberSpec::new("a") });
    builder.member(MemberSpec::new("b"));
    let placement = CopartitionedSticky.assign(&builder.build().unwrap());
    let has =
        |member| placement.owner.iter().filter(|owner| **owner == Some(MemberIndex::new(member))).count();
    assert_eq!([0, 1].map(has), [2, 6]);
}
