//! Input that a builder accepts, sorts and refuses.

use super::*;
use crate::{MemberIndex, MemberState, RackIndex, RackReader, TopicIndex, UnitIndex};

fn refused(tell: impl FnOnce(&mut ProblemBuilder)) -> InvalidProblem {
    let mut builder = Problem::builder();
    tell(&mut builder);
    builder.build().unwrap_err()
}

#[test]
fn nothing_at_all_is_a_problem() {
    let problem = Problem::builder().build().unwrap();
    assert_eq!((problem.units(), problem.topics().len(), problem.members().len()), (0, 0, 0));
}

#[test]
fn topics_members_and_units_are_sorted_by_name() {
    let mut builder = Problem::builder();
    let (late, early) = (builder.topic("late", 2), builder.topic("early", 3));
    let (b, a) = (builder.member(MemberSpec::new("b")), builder.member(MemberSpec::new("a")));
    builder.current(late, 1, b);
    builder.fixed(early, 0, a);
    builder.ban(late, 0, b);
    let problem = builder.build().unwrap();

    let (early, late) = (problem.topic_named("early").unwrap(), problem.topic_named("late").unwrap());
    let (a, b) = (problem.member_named("a").unwrap(), problem.member_named("b").unwrap());
    assert!(early < late && a < b);
    assert_eq!(problem.current(problem.unit(late, 1)), Some(b));
    assert_eq!(problem.fixed(problem.unit(early, 0)), Some(a));
    assert!(problem.is_banned(problem.unit(late, 0), b));
    assert!(!problem.may_own(problem.unit(late, 0), b));
    assert_eq!(problem.topic_of(UnitIndex::new(3)), (late, 0));
    assert_eq!(problem.units_of(late).collect::<Vec<_>>(), [3, 4].map(UnitIndex::new));
}

#[test]
fn a_topic_without_partitions_has_no_units() {
    let mut builder = Problem::builder();
    builder.topic("empty", 0);
    let full = builder.topic("full", 1);
    let a = builder.member(MemberSpec::new("a"));
    builder.current(full, 0, a);
    let problem = builder.build().unwrap();
    assert_eq!(problem.topic_of(UnitIndex::new(0)), (TopicIndex::new(1), 0));
}

#[test]
fn a_subscription_leaves_out_unknown_names() {
    let mut builder = Problem::builder();
    builder.topic("a", 1);
    let b = builder.topic("b", 1);
    assert_eq!(builder.subscription(["b", "c"]), Subscription::from_iter([b]));
}

#[test]
fn a_subscription_to_every_topic_is_to_all() {
    let mut builder = Problem::builder();
    let (b, a) = (builder.topic("b", 1), builder.topic("a", 1));
    let subscription = Subscription::from_iter([b, a, b]);
    builder.member(MemberSpec { subscription, ..MemberSpec::new("m") });
    assert_eq!(builder.build().unwrap().members()[0].subscription, Subscription::All);
}

#[test]
fn doubles_are_refused_by_name() {
    let topics = refused(|builder| {
        builder.topic("t", 1);
        builder.topic("t", 2);
    });
    let members = refused(|builder| {
        builder.member(MemberSpec::new("m"));
        builder.member(MemberSpec::new("m"));
    });
    assert_eq!(topics.to_string(), r#"topic "t" is listed twice"#);
    assert_eq!(members.to_string(), r#"member "m" is listed twice"#);
}

#[test]
fn a_partition_its_topic_does_not_have_is_refused() {
    let mistake = refused(|builder| {
        let topic = builder.topic("t", 2);
        let member = builder.member(MemberSpec::new("m"));
        builder.current(topic, 2, member);
    });
    assert_eq!(mistake.to_string(), r#"topic "t" has 2 partitions, so there is no partition 2"#);
}

#[test]
fn two_owners_of_one_partition_are_refused_and_one_told_twice_is_not() {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 1);
    let (a, b) = (builder.member(MemberSpec::new("a")), builder.member(MemberSpec::new("b")));
    builder.current(topic, 0, a);
    builder.current(topic, 0, a);
    assert!(builder.clone().build().is_ok());
    builder.current(topic, 0, b);
    let mistake = builder.build().unwrap_err();
    assert_eq!(mistake.to_string(), r#"partition 0 of topic "t" is given to both "a" and "b""#);
}

#[test]
fn a_count_beyond_reason_is_refused_before_memory_is_taken() {
    let mistake = refused(|builder| {
        builder.topic("huge", u32::MAX);
    });
    assert!(matches!(mistake, InvalidProblem::TooManyUnits { partitions: u32::MAX, .. }));
}

#[test]
fn handles_of_another_builder_are_refused() {
    let mut other = Problem::builder();
    let topic = other.topic("t", 1);
    let member = other.member(MemberSpec::new("m"));
    assert_eq!(refused(|builder| builder.ban(topic, 0, member)), InvalidProblem::ForeignHandle);
    let subscription = Subscription::from_iter([topic]);
    let spec = MemberSpec { subscription, ..MemberSpec::new("m") };
    let mistake = refused(|builder| {
        builder.member(spec);
    });
    assert_eq!(mistake, InvalidProblem::ForeignHandle);
}

#[test]
fn the_first_mistake_is_the_one_reported() {
    let mistake = refused(|builder| {
        builder.topic("t", 1);
        builder.topic("t", 1);
        builder.member(MemberSpec::new("m"));
        builder.member(MemberSpec::new("m"));
    });
    assert_eq!(mistake, InvalidProblem::DuplicateTopic("t".into()));
}

fn two_by_two(tell: impl FnOnce(&mut ProblemBuilder, TopicHandle, [MemberHandle; 2])) -> Problem {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 2);
    let members = ["a", "b"].map(|id| builder.member(MemberSpec::new(id)));
    tell(&mut builder, topic, members);
    builder.build().unwrap()
}

#[test]
fn amounts_that_are_none_are_refused_with_their_value() {
    for weight in [-1.0, f64::NAN, f64::INFINITY] {
        let mistake = refused(|builder| {
            let topic = builder.topic("t", 1);
            builder.weight(topic, 0, weight);
        });
        assert!(mistake.to_string().contains(&weight.to_string()), "{mistake}");
    }
    for capacity in [-1.0, 0.0, f64::NAN, f64::INFINITY] {
        let mistake = refused(|builder| {
            builder.member(MemberSpec { capacity, ..MemberSpec::new("a") });
        });
        assert!(mistake.to_string().contains(&capacity.to_string()), "{mistake}");
    }
    let tolerance = Options::MAX_TOLERANCE + 1;
    let mistake = refused(|builder| builder.options(Options { tolerance, ..Options::default() }));
    assert_eq!(mistake, InvalidProblem::Tolerance(1_001));
}

#[test]
fn what_nobody_weighed_weighs_one() {
    let problem = two_by_two(|builder, topic, _| builder.weight(topic, 1, 2.5));
    let weights = problem.unit_indices().map(|unit| problem.weight(unit).thousandths());
    assert_eq!(weights.collect::<Vec<_>>(), [1_000, 2_500]);
    assert!(problem.has_weights());
}

#[test]
fn a_weight_of_one_is_as_good_as_none() {
    assert_eq!(two_by_two(|builder, topic, _| builder.weight(topic, 1, 1.0)), two_by_two(|_, _, _| {}));
}

#[test]
fn racks_are_sorted_by_name_and_sets_by_racks() {
    let told = |flip: bool| {
        let mut builder = Problem::builder();
        let topic = builder.topic("t", 3);
        let both = vec!["south", "north"];
        let racks = if flip {
            builder.rack(&"south".into());
            ReplicaRacks::new([both, vec!["north", "south", "north"], vec![]])
        } else {
            let other = [vec!["north"]];
            ReplicaRacks::of_topics([&other[..], &[vec!["north", "south"], both]]).remove(1)
        };
        builder.replica_racks(topic, &racks);
        let south = builder.rack(&"south".into());
        builder.member(MemberSpec { rack: Some(south), ..MemberSpec::new("a") });
        builder.build().unwrap()
    };
    let problem = told(false);
    assert_eq!(problem, told(true));
    assert_eq!(problem.racks().iter().map(AsRef::as_ref).collect::<Vec<&str>>(), ["north", "south"]);
    let [both, same, none] = [0, 1, 2].map(|unit| problem.replica_racks(UnitIndex::new(unit)));
    assert_eq!((both, same, none.len()), (&[0, 1].map(RackIndex::new)[..], both, 0));
    assert_eq!(problem.members()[0].rack, Some(RackIndex::new(1)));
}

#[test]
fn topics_with_racks_may_be_told_in_any_order_and_made_together_or_not() {
    let lists = [&[vec!["a", "b"], vec!["c"]][..], &[vec!["b", "a"]], &[vec![], vec!["c", "a"]]];
    let together = ReplicaRacks::of_topics(lists);
    let apart: Vec<_> = lists.into_iter().map(ReplicaRacks::new).collect();
    let told = |order: [usize; 3], racks: &[ReplicaRacks]| {
        let mut builder = Problem::builder();
        for at in order {
            let topic = builder.topic(format!("t{at}"), 2);
            builder.replica_racks(topic, &racks[at]);
        }
        builder.topic("unknown", 2);
        builder.build().unwrap()
    };
    let problem = told([0, 1, 2], &together);
    assert_eq!(told([2, 0, 1], &together), problem);
    assert_eq!(told([1, 2, 0], &apart), problem);
    assert_ne!(told([0, 1, 2], &[apart[0].clone(), apart[2].clone(), apart[1].clone()]), problem);
    let racks = problem.unit_indices().map(|unit| problem.replica_racks(unit));
    let racks: Vec<Vec<_>> = racks.map(|racks| racks.iter().map(|rack| rack.index()).collect()).collect();
    assert_eq!(racks, [vec![0, 1], vec![2], vec![0, 1], vec![], vec![], vec![0, 2], vec![], vec![]]);
    for problem in [problem, told([1, 2, 0], &apart)] {
        let mut reader = RackReader::of(&problem);
        let units = problem.unit_indices().chain(problem.unit_indices().rev().step_by(2));
        units.for_each(|unit| assert_eq!(reader.racks(unit), problem.replica_racks(unit)));
    }
}

#[test]
fn racks_are_read_right_wherever_one_looks_next() {
    let mut builder = Problem::builder();
    for (topic, partitions) in [2, 0, 1, 0, 3].into_iter().enumerate() {
        let handle = builder.topic(format!("t{topic}"), partitions);
        if topic < 4 {
            let names =
                (0..partitions).map(|partition| vec![format!("r{topic}"), format!("r{topic}-{partition}")]);
            builder.replica_racks(handle, &ReplicaRacks::new(names));
        }
    }
    let problem = builder.build().unwrap();
    for first in problem.unit_indices() {
        for second in problem.unit_indices() {
            let mut reader = RackReader::of(&problem);
            assert_eq!(
                [first, second].map(|unit| reader.racks(unit)),
                [first, second].map(|unit| problem.replica_racks(unit))
            );
        }
    }
}

/// A builder with two topics, told in that order, and where their replicas are.
fn two_topics(names: [&str; 2]) -> ProblemBuilder {
    let mut builder = Problem::builder();
    for name in names {
        let topic = builder.topic(name, 2);
        builder.replica_racks(topic, &ReplicaRacks::new([[name], ["everywhere"]]));
    }
    builder
}

#[test]
fn what_is_told_to_a_clone_does_not_reach_what_it_was_cloned_from() {
    for names in [["t", "u"], ["u", "t"]] {
        let told = two_topics(names);
        let mut clone = told.clone();
        let topic = clone.topic_handle("t").unwrap();
        clone.topic("more", 3);
        clone.want_standbys(topic, 2);
        clone.replica_racks(topic, &ReplicaRacks::new([["elsewhere"]]));
        let member = clone.member(MemberSpec::new("m"));
        clone.current(topic, 1, member);
        assert_ne!(clone.build().unwrap(), told.clone().build().unwrap());
        assert_eq!(told.build().unwrap(), two_topics(names).build().unwrap());
    }
}

#[test]
fn a_clone_makes_what_a_builder_makes_that_was_told_everything() {
    let told = two_topics(["u", "t"]);
    let with_member = |mut builder: ProblemBuilder| {
        let [t, u] = ["t", "u"].map(|name| builder.topic_handle(name).unwrap());
        let rack = Some(builder.rack(&"a".into()));
        let member = builder.member(MemberSpec {
            subscription: [t].into_iter().collect(),
            rack,
            ..MemberSpec::new("m")
        });
        (0..2).for_each(|partition| builder.current(t, partition, member));
        builder.fixed(u, 0, member);
        builder.build().unwrap()
    };
    let problem = with_member(told.clone());
    assert_eq!(problem, with_member(told));
    assert_eq!(problem, with_member(two_topics(["t", "u"])));
}

#[test]
fn topics_told_in_the_order_of_their_names_are_shared_and_not_copied() {
    let told = two_topics(["t", "u"]);
    let problems = [told.clone(), told.clone()].map(|builder| builder.build().unwrap());
    assert!(problems.iter().all(|problem| Arc::ptr_eq(&problem.topics, &told.topics)));
    let mut clone = told.clone();
    clone.want_standbys(TopicHandle::new(0), 0);
    assert!(Arc::ptr_eq(&clone.topics, &told.topics), "nothing new was told");
}

#[test]
fn a_mistake_stays_one_in_clones() {
    let mut builder = Problem::builder();
    builder.topic("t", 1);
    builder.topic("t", 2);
    assert_eq!(builder.clone().build(), builder.build());
}

#[test]
fn racks_of_a_partition_that_its_topic_does_not_have_are_refused() {
    let racks = ReplicaRacks::new([["a"], ["b"]]);
    let mistake = refused(|builder| {
        let topic = builder.topic("t", 1);
        builder.replica_racks(topic, &racks);
    });
    assert_eq!(mistake.to_string(), r#"topic "t" has 1 partitions, so there is no partition 1"#);
    let foreign = refused(|builder| builder.replica_racks(TopicHandle::new(0), &racks));
    assert_eq!(foreign, InvalidProblem::ForeignHandle);
}

#[test]
fn a_rack_is_one_whether_its_name_is_shared_or_not() {
    let mut builder = Problem::builder();
    let names: Vec<Arc<str>> = (0..20).map(|rack| rack.to_string().into()).collect();
    for name in names.iter().chain(&names) {
        let copy = Arc::from(&**name);
        let handles = [name, &copy, &copy, name].map(|name| builder.rack(name));
        assert_eq!(handles, [handles[0]; 4]);
    }
    assert_eq!(builder.build().unwrap().racks().len(), 20);
}

#[test]
fn the_nearest_standby_comes_first_and_its_best_report_counts() {
    let problem = two_by_two(|builder, topic, [a, b]| {
        builder.standby(topic, 1, a, 9);
        builder.standby(topic, 1, b, 5);
        builder.standby(topic, 1, a, 7);
    });
    let of = |unit| problem.standbys(UnitIndex::new(unit)).iter().map(|s| (s.member.index(), s.lag));
    assert_eq!(of(0).count(), 0);
    assert_eq!(of(1).collect::<Vec<_>>(), [(1, 5), (0, 7)]);
}

#[test]
fn a_pin_bans_all_others() {
    let problem = two_by_two(|builder, topic, [a, _]| builder.pin(topic, 0, a));
    let [a, b] = [0, 1].map(MemberIndex::new);
    let [pinned, free] = [0, 1].map(UnitIndex::new);
    assert!(problem.may_own(pinned, a) && !problem.may_own(pinned, b));
    assert!(problem.may_own(free, a) && problem.may_own(free, b));
}

#[test]
fn a_pin_to_who_cannot_have_the_unit_is_none() {
    for state in [MemberState::Draining, MemberState::Hold] {
        let mut builder = Problem::builder();
        let topic = builder.topic("t", 1);
        let a = builder.member(MemberSpec { state, ..MemberSpec::new("a") });
        builder.member(MemberSpec::new("b"));
        builder.pin(topic, 0, a);
        let problem = builder.build().unwrap();
        assert!(problem.may_own(UnitIndex::new(0), MemberIndex::new(1)), "{state:?}");
    }
    let banned = two_by_two(|builder, topic, [a, _]| {
        builder.pin(topic, 0, a);
        builder.ban(topic, 0, a);
    });
    assert!(banned.may_own(UnitIndex::new(0), MemberIndex::new(1)));
}

#[test]
fn newer_labels_have_larger_numbers_and_none_is_oldest() {
    let mut builder = Problem::builder();
    for (id, label) in [("a", Some("v10")), ("b", Some("v9")), ("c", None), ("d", Some("v10"))] {
        builder.member(MemberSpec { generation: label.map(Into::into), ..MemberSpec::new(id) });
    }
    let problem = builder.build().unwrap();
    let generations = problem.members().iter().map(|member| member.generation);
    assert_eq!(generations.collect::<Vec<_>>(), [2, 1, 0, 2]);
}

#[test]
fn of_owners_the_first_mistake_is_refused() {
    let mistake = refused(|builder| {
        let topic = builder.topic("t", 2);
        let [a, b] = ["a", "b"].map(|id| builder.member(MemberSpec::new(id)));
        builder.current(topic, 0, a);
        [1, 2, 0].into_iter().for_each(|partition| builder.current(topic, partition, b));
    });
    assert!(matches!(mistake, InvalidProblem::NoSuchPartition { partition: 2, .. }), "{mistake}");
}
