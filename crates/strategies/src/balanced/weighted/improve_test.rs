use super::*;
use crate::balanced::classes::Classes;
use crate::balanced::roles::Roles;
use crate::{MemberSpec, Place, Problem};

/// Runs `check` on the search of the first component, and returns how many looks that took.
fn looks_of(problem: &Problem, looks: u64, check: impl FnOnce(&mut LocalSearch<'_, '_>)) -> u64 {
    let roles = Roles::of(problem);
    let classes = Classes::of(problem, &roles, Place::Owner);
    let (mut scales, pool) = Scales::load(problem, &roles, &classes);
    assert!(pool.is_empty());
    let mut givable = GivableUnits::of(&scales);
    let component = Component::of(&scales, &givable, 0);
    let mut search =
        LocalSearch { scales: &mut scales, givable: &mut givable, component, looks: Cell::new(looks) };
    check(&mut search);
    looks - search.looks.get()
}

/// Members of some generations, each with units of those weights.
fn group(members: &[(&str, &[f64])]) -> Problem {
    let mut builder = Problem::builder();
    let units = members.iter().map(|(_, weights)| weights.len()).sum::<usize>();
    let topic = builder.topic("t", u32::try_from(units).unwrap());
    let mut partitions = 0..;
    for (at, (generation, weights)) in members.iter().enumerate() {
        let spec =
            MemberSpec { generation: Some((*generation).into()), ..MemberSpec::new(format!("m{at:05}")) };
        let member = builder.member(spec);
        for (weight, partition) in weights.iter().zip(&mut partitions) {
            builder.weight(topic, partition, *weight);
            builder.current(topic, partition, member);
        }
    }
    builder.build().unwrap()
}

#[test]
fn where_nobody_has_anything_to_give_nothing_is_looked_at() {
    let two: [(&str, &[f64]); 2] = [("2", &[1.0]), ("2", &[2.0, 2.0])];
    let mut members = two.repeat(2_000);
    members.push(("1", &[1.0]));
    let looks = looks_of(&group(&members), MOST_LOOKS, |search| {
        assert!(Component::is_uneven(search.scales, 0));
        assert!(!search.round());
    });
    assert_eq!(looks, 0);
}

#[test]
fn pairs_that_cannot_trade_cost_looks_too() {
    let problem = group(&[("1", &[1.0, 1.0, 1.0, 1.0]), ("1", &[1.0])]);
    let [a, b] = [0, 1].map(MemberIndex::new);
    for (giver, taker) in [(a, b), (b, a)] {
        // One for the pair, and one for the list of the giver.
        let looks = looks_of(&problem, 10, |search| {
            search.can_trade(giver, taker);
        });
        assert_eq!(looks, 2);
    }
}

#[test]
fn who_owes_its_level_to_its_heaviest_unit_is_passed_over_once() {
    let problem = group(&[("1", &[9.0]), ("1", &[8.0]), ("1", &[2.0, 2.0]), ("1", &[1.0])]);
    looks_of(&problem, MOST_LOOKS, |search| {
        let heaviest = search.heavy().map(|(_, member)| member);
        assert_eq!(heaviest, Some(MemberIndex::new(2)));
        assert_eq!((search.component.untried.len(), search.component.all.len()), (2, 4));
    });
}

#[test]
fn without_looks_left_no_swap_is_found() {
    let problem = group(&[("1", &[6.0, 6.0]), ("1", &[4.0, 4.0])]);
    let [a, b] = [0, 1].map(MemberIndex::new);
    for (looks, finds) in [(MOST_LOOKS, true), (0, false)] {
        looks_of(&problem, looks, |search| {
            assert_eq!(search.best_swap(a, b).is_some(), finds);
            assert_eq!(search.best([(a, b)].into_iter()).is_some(), finds);
        });
    }
}
