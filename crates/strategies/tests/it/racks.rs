//! The choice among members that would all do: `balanced` with standbys and racks, with and without weights.

use kafka_assigner_strategies::{
    Balanced, MemberIndex, MemberSpec, Problem, ProblemBuilder, ReplicaRacks, Strategy as _,
};

const WEIGHTS: [f64; 4] = [2.0, 1.0, 2.0, 1.0];

/// A topic of four partitions, with these racks or other replicas, and two members, each in a rack of its own.
fn builder(has_weights: bool, replicas: [usize; 4]) -> ProblemBuilder {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 4);
    let racks = ["r1", "r2"].map(|rack| builder.rack(&rack.into()));
    builder.replica_racks(topic, &ReplicaRacks::new(replicas.map(|rack| [["r1", "r2"][rack]])));
    for (partition, weight) in (0..).zip(WEIGHTS).filter(|_| has_weights) {
        builder.weight(topic, partition, weight);
    }
    for (id, rack) in ["a", "b"].into_iter().zip(racks) {
        builder.member(MemberSpec { rack: Some(rack), ..MemberSpec::new(id) });
    }
    builder
}

fn owners(builder: ProblemBuilder) -> Vec<usize> {
    let placement = Balanced.assign(&builder.build().unwrap());
    placement.owner.into_iter().map(|owner| owner.map_or(usize::MAX, MemberIndex::index)).collect()
}

#[test]
fn what_is_nobodys_goes_to_members_in_a_rack_with_a_replica() {
    for has_weights in [false, true] {
        for racks in [[1, 0, 0, 1], [0, 1, 1, 0]] {
            assert_eq!(owners(builder(has_weights, racks)), racks, "weights: {has_weights}");
        }
    }
}

#[test]
fn what_is_nobodys_goes_to_its_standbys_before_racks_count() {
    for has_weights in [false, true] {
        for near in [[1, 0, 0, 1], [0, 1, 1, 0]] {
            let mut builder = builder(has_weights, near.map(|near| 1 - near));
            let topic = builder.topic_handle("t").unwrap();
            let members = ["a", "b"].map(|id| builder.member_handle(id).unwrap());
            (0..).zip(near).for_each(|(at, near)| builder.standby(topic, at, members[near], 0));
            assert_eq!(owners(builder), near, "weights: {has_weights}");
        }
    }
}

#[test]
fn what_has_its_replicas_elsewhere_leaves_first() {
    for racks in [[1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]] {
        let mut builder = builder(false, racks);
        let topic = builder.topic_handle("t").unwrap();
        let a = builder.member_handle("a").unwrap();
        (0..4).for_each(|partition| builder.current(topic, partition, a));
        assert_eq!(owners(builder), racks);
    }
}

#[test]
fn members_of_a_rack_get_units_one_after_the_other_even_if_another_is_banned() {
    for bans in [false, true] {
        let mut builder = Problem::builder();
        let topic = builder.topic("t", 8);
        let racks = ["east", "west"].map(|name| builder.rack(&name.into()));
        for at in 0..4_usize {
            builder.member(MemberSpec { rack: Some(racks[at % 2]), ..MemberSpec::new(at.to_string()) });
        }
        let max_partitions = Some(0);
        let idle = builder.member(MemberSpec { max_partitions, ..MemberSpec::new("idle") });
        let replicas = (0..8).map(|partition| [["west", "east"][partition / 4]]);
        builder.replica_racks(topic, &ReplicaRacks::new(replicas));
        for partition in (0..8).filter(|_| bans) {
            builder.ban(topic, partition, idle);
        }
        let sides: Vec<_> = owners(builder).into_iter().map(|owner| owner % 2).collect();
        assert_eq!(sides, [1, 1, 1, 1, 0, 0, 0, 0], "bans: {bans}");
    }
}
