//! Faust's assignor, without its faults, for `copartitioned-sticky`.

use kafka_assigner_strategies::{CopartitionedSticky, MoveReason, Strategy};
use proptest::prelude::*;

use crate::cluster::{Cluster, Held, spread};

#[test]
fn fresh_placements_are_those_of_faust() {
    let owned = |partitions, members| Cluster::fresh(partitions, 0, members).settled();
    let lists =
        |cluster: &Cluster| cluster.members.values().map(|held| held.owns.clone()).collect::<Vec<_>>();
    assert_eq!(lists(&owned(3, 2)), [vec![0, 2], vec![1]]);
    assert_eq!(lists(&owned(6, 3)), [vec![0, 3], vec![1, 4], vec![2, 5]]);
    assert_eq!(lists(&owned(7, 4)), [vec![0, 4], vec![1, 5], vec![2, 6], vec![3]]);
}

#[test]
fn fresh_standbys_are_as_even_as_those_of_faust_or_more() {
    let sorted = |partitions, standbys, members| {
        let cluster = Cluster::fresh(partitions, standbys, members).settled();
        cluster.assert_sound();
        let mut copied = cluster.copied();
        copied.sort_unstable_by(|a, b| b.cmp(a));
        copied
    };
    assert_eq!(sorted(4, 1, 2), [2, 2]);
    assert_eq!(sorted(6, 1, 3), [2, 2, 2]);
    assert_eq!(sorted(5, 1, 3), [2, 2, 1]);
    assert_eq!(sorted(6, 2, 3), [4, 4, 4]);
    assert_eq!(sorted(7, 1, 4), [2, 2, 2, 1]);
    assert_eq!(sorted(2, 1, 4), [1, 1, 0, 0]);
    assert_eq!(sorted(10, 2, 4), [5, 5, 5, 5]);
    assert_eq!(sorted(6, 5, 3), sorted(6, 2, 3));
}

#[test]
fn a_third_member_takes_the_least_and_its_loss_is_taken_over_by_standbys() {
    let two = Cluster::of(6, 1, &[(&[0, 2, 4], &[1, 3, 5]), (&[1, 3, 5], &[0, 2, 4])]);
    let mut three = two.clone();
    three.join("c2");
    let three = three.settled();
    three.assert_sound();
    assert_eq!(two.moved(&three).len(), 2);
    assert_eq!(three.members["c2"].owns.len(), 2);

    let mut lost = three.clone();
    lost.leave("c0");
    let after = lost.settled();
    after.assert_sound();
    assert_promoted(&lost, &after, &three.members["c0"].owns);
}

/// Each of `lost` went to a member that had a copy.
fn assert_promoted(before: &Cluster, after: &Cluster, lost: &[u32]) {
    for partition in lost {
        let (id, _) = after.members.iter().find(|(_, held)| held.owns.contains(partition)).unwrap();
        assert!(before.members[id].has_copy(*partition), "{partition} went to {id}");
    }
}

#[test]
fn a_zombie_is_never_standby_of_its_own() {
    let zombie = Cluster::of(4, 1, &[(&[0, 1], &[2]), (&[0, 2], &[1]), (&[3], &[0, 3])]);
    let after = zombie.settled();
    after.assert_sound();
    assert_eq!(after.members["c2"].owns, [3]);
}

#[test]
fn a_member_that_comes_back_gets_its_share() {
    for standbys in [0, 1] {
        let mut cluster = Cluster::fresh(100, standbys, 40).settled();
        cluster.leave("c0017");
        cluster = cluster.settled();
        cluster.assert_sound();
        cluster.join("c0017");
        let back = cluster.settled();
        back.assert_sound();
        assert!((2..=3).contains(&back.members["c0017"].owns.len()));
        assert!(cluster.moved(&back).len() <= 2);
    }
}

#[test]
fn nobody_is_left_behind_as_members_come_one_by_one() {
    let mut cluster = Cluster::fresh(10, 0, 2).settled();
    for id in ["c2", "c3"] {
        cluster.join(id);
        cluster = cluster.settled();
    }
    assert_eq!(spread(&cluster.owned()), 1);
}

#[test]
fn more_members_than_partitions_is_nothing_special() {
    for standbys in [0, 1, 64] {
        let cluster = Cluster::fresh(2, standbys, 5).settled();
        cluster.assert_sound();
        assert_eq!(cluster, cluster.settled());
    }
}

/// `c0` to `c3` own the partition of their number; the one that `copies` says stands by for each.
fn one_each(copies: [u32; 4]) -> Cluster {
    let mut cluster = Cluster::of(4, 1, &[(&[0], &[]), (&[1], &[]), (&[2], &[]), (&[3], &[])]);
    for (partition, holder) in (0..).zip(copies) {
        cluster.members.get_mut(&format!("c{holder}")).unwrap().copies.push((partition, 0));
    }
    cluster
}

#[test]
fn who_comes_back_gets_back_what_it_has_a_copy_of() {
    for lost in 0..4_u32 {
        let mut cluster = one_each([1, 2, 3, 0]);
        let id = format!("c{lost}");
        cluster.leave(&id);
        let mut without = cluster.settled();
        let copies = vec![(lost, 5_000)];
        without.members.insert(id.clone(), Held { owns: vec![], copies });
        let back = without.settled();
        assert_eq!(back.members[&id].owns, [lost]);
        assert_eq!(without.moved(&back), [lost]);
        back.assert_sound();
    }
}

#[test]
fn who_comes_back_without_state_costs_one_move() {
    let mut cluster = one_each([1, 2, 3, 0]);
    cluster.leave("c3");
    let mut without = cluster.settled();
    without.join("c3");
    let back = without.settled();
    assert_eq!(without.moved(&back).len(), 1);
    back.assert_sound();
}

#[test]
fn the_least_behind_is_promoted() {
    let mut cluster = Cluster::fresh(1, 2, 3);
    for (id, lag) in [("c0000", 50), ("c0001", 10), ("c0002", 90)] {
        cluster.members.get_mut(id).unwrap().copies.push((0, lag));
    }
    assert_eq!(cluster.settled().members["c0001"].owns, [0]);
}

/// `c0` has copies of both partitions that lost their owner, and owns two; `c1` owns nothing.
fn full_heir(lag: u64) -> Cluster {
    let mut cluster = Cluster::of(4, 1, &[(&[0, 1], &[]), (&[], &[])]);
    cluster.members.get_mut("c0").unwrap().copies = vec![(2, lag), (3, lag)];
    cluster
}

#[test]
fn a_full_member_with_a_warm_copy_exchanges_for_it() {
    let cluster = full_heir(100);
    let after = cluster.settled();
    assert_eq!(after.members["c0"].owns, [2, 3]);
    assert_eq!(after.members["c1"].owns, [0, 1]);
    after.assert_sound();
    let problem = cluster.problem();
    let reasons: Vec<_> = CopartitionedSticky
        .assign(&problem)
        .moves(&problem)
        .iter()
        .map(|moved| moved.reason.to_string())
        .collect();
    assert_eq!(reasons[0], "its owner takes others instead");
    assert_eq!(reasons[2], MoveReason::Unowned.to_string());
}

#[test]
fn a_copy_far_behind_is_not_worth_an_exchange() {
    assert_eq!(full_heir(101).settled().members["c0"].owns, [0, 1]);
}

#[test]
fn an_exchange_gives_what_the_other_has_a_copy_of() {
    let cluster = Cluster::of(3, 1, &[(&[0, 1], &[2]), (&[], &[0])]);
    let after = cluster.settled();
    assert_eq!([&after.members["c0"].owns, &after.members["c1"].owns], [&vec![1, 2], &vec![0]]);
}

/// `c1` would be the first to get it, `c2` can go on with it at once, and `c0` could as well.
#[test]
fn what_goes_to_a_warm_copy_is_not_exchanged_for_another() {
    let cluster = Cluster::of(2, 0, &[(&[0], &[1]), (&[], &[]), (&[], &[1])]);
    let after = cluster.settled();
    assert_eq!([&after.members["c0"].owns, &after.members["c2"].owns], [&vec![0], &vec![1]]);
}

#[test]
fn who_gives_keeps_a_copy_where_one_is_wanting() {
    let mut cluster = Cluster::of(2, 1, &[(&[0, 1], &[])]);
    cluster.join("c1");
    let after = cluster.settled();
    assert_eq!(after.members["c0"], Held::of(&[0], &[1]));
    assert_eq!(after.members["c1"], Held::of(&[1], &[0]));
}

#[test]
fn the_slots_of_a_lost_member_are_taken_over_by_many() {
    let mut cluster = Cluster::fresh(90, 1, 10).settled();
    let lost = cluster.members["c0004"].owns.clone();
    assert_eq!(lost.len(), 9);
    cluster.leave("c0004");
    let after = cluster.settled();
    assert_promoted(&cluster, &after, &lost);
    let heirs = after.members.iter().filter(|(id, held)| held.owns.len() > cluster.members[*id].owns.len());
    assert_eq!(heirs.count(), 9);
}

fn shapes() -> impl proptest::strategy::Strategy<Value = (u32, u32, usize)> {
    prop_oneof![(0..256_u32, 0..64_u32, 1..1024_usize), (0..40_u32, 0..8_u32, 1..12_usize)]
}

/// The number of partitions that the owners of `before` have to give so that `members` share evenly; an owner with more
/// than its share keeps what is left over.
fn fewest_moves(before: &Cluster, members: usize) -> usize {
    let partitions = before.partitions as usize;
    let (share, over) = (partitions / members, partitions % members);
    let above: Vec<_> = before.owned().into_iter().filter(|owned| *owned > share).collect();
    above.iter().sum::<usize>() - above.len() * share - over.min(above.len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn fresh_is_even((partitions, standbys, members) in shapes()) {
        Cluster::fresh(partitions, standbys, members).settled().assert_sound();
    }

    #[test]
    fn those_who_join_take_the_least(
        (partitions, standbys, members) in shapes(),
        joining in 1..=16_usize,
    ) {
        let before = Cluster::fresh(partitions, standbys, members).settled();
        let mut joined = before.clone();
        (0..joining).for_each(|member| joined.join(&format!("n{member:02}")));
        let after = joined.settled();
        after.assert_sound();
        prop_assert!(before.members.iter().all(|(id, held)| after.members[id].owns.len() <= held.owns.len()));
        prop_assert_eq!(before.moved(&after).len(), fewest_moves(&before, members + joining));
        prop_assert!(joining > 1 || before.moved(&after).len() <= partitions as usize / (members + 1));
        prop_assert_eq!(&after, &after.settled());
    }

    #[test]
    fn when_members_leave_the_others_keep_theirs_but_for_exchanges(
        (partitions, standbys, members) in shapes(),
        leaving in 1..=16_usize,
    ) {
        let before = Cluster::fresh(partitions, standbys, members).settled();
        let mut left = before.clone();
        let leaving: Vec<_> = before.members.keys().take(leaving.min(members - 1)).cloned().collect();
        leaving.iter().for_each(|id| left.leave(id));
        let after = left.settled();
        after.assert_sound();
        let cold = |partition: &u32| {
            let owner = after.members.iter().find(|(_, held)| held.owns.contains(partition)).unwrap().0;
            !left.members[owner].has_copy(*partition)
        };
        let lost = leaving.iter().flat_map(|id| &before.members[id].owns);
        // A member with a copy and something of its own left would have exchanged the two.
        let could_exchange = |partition: &&u32| {
            let mut holders = left.members.iter().filter(|(_, held)| held.has_copy(**partition));
            holders.any(|(id, held)| held.owns.iter().any(|own| after.members[id].owns.contains(own)))
        };
        prop_assert!(!lost.clone().filter(could_exchange).any(cold));
        let exchanged = left.moved(&after);
        prop_assert!(exchanged.len() <= lost.count());
        prop_assert!(standbys > 0 || exchanged.is_empty());
        prop_assert_eq!(&after, &after.settled());
    }
}
