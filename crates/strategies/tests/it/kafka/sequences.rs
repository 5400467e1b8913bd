//! Groups that change step by step: what every step must keep, under `sticky` and, round by round,
//! under `cooperative-sticky`.

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::check::{assert_sticky, assert_valid, changed, fewest_moves, load, settle, span};
use super::notation::{group, with_replicas};
use super::vector::{Member, Outcome, Topic, Vector};

const STICKY: [&str; 2] = ["sticky", "coop"];

/// The racks that Kafka's tests try each sequence with: none, only the members', and those of both.
const RACKS: [(bool, bool); 3] = [(false, false), (true, false), (true, true)];

/// Members that subscribe to `topics`, numbered from `first` on.
fn members(first: usize, count: usize, topics: &[String]) -> Vec<Member> {
    let member = |at| Member { id: format!("consumer{at:02}"), topics: topics.to_vec(), ..Member::default() };
    (first..first + count).map(member).collect()
}

fn names(topics: usize) -> Vec<String> {
    (0..topics).map(|at| format!("topic{at:02}")).collect()
}

fn of(assignor: &str, partitions: &[u32], members: Vec<Member>) -> Vector {
    let topics = names(partitions.len()).into_iter().zip(partitions);
    Vector {
        n: 0,
        assignor: assignor.to_owned(),
        topics: topics.map(|(name, partitions)| Topic(name, *partitions, Vec::new())).collect(),
        members,
        expect: Outcome::new(),
    }
}

/// The same with racks: members' if the first, replicas' if the second.
fn in_racks(vector: &Vector, (members, replicas): (bool, bool)) -> Vector {
    let mut vector = vector.clone();
    if replicas {
        vector = with_replicas(&vector, 3, 3);
    }
    for (member, rack) in vector.members.iter_mut().zip(["a", "b", "c"].iter().cycle()) {
        member.rack = members.then(|| (*rack).to_owned());
    }
    vector
}

/// Every sticky assignor in every constellation of racks.
fn in_all_ways(vector: &Vector, mut check: impl FnMut(Vector)) {
    for assignor in STICKY {
        for racks in RACKS {
            check(in_racks(&Vector { assignor: assignor.to_owned(), ..vector.clone() }, racks));
        }
    }
}

/// One step: what comes out at last, valid and sticky, with its group as it is then.
fn step(vector: &Vector) -> (Vector, Outcome) {
    let (settled, outcome, rounds) = settle(vector.clone());
    assert!(rounds <= 2, "{rounds} rounds");
    assert_valid(vector, &outcome);
    assert_sticky(vector, &outcome);
    (settled.after(&outcome), outcome)
}

#[test]
fn every_member_always_has_as_much_of_each_topic_as_any() {
    in_all_ways(&of("sticky", &[12, 12], members(0, 1, &names(2))), |vector| {
        let all =
            in_racks(&of("sticky", &[], members(0, 4, &names(2))), (vector.members[0].rack.is_some(), false));
        let mut vector = vector;
        for count in [1, 2, 4, 2] {
            let known = vector.members.len();
            vector.members.extend(all.members.iter().skip(known).take(count.max(known) - known).cloned());
            vector.members.drain(..vector.members.len() - count);
            let (next, outcome) = step(&vector);
            for lists in outcome.values() {
                assert!(lists.iter().all(|(_, list)| list.len() == 12 / count), "{outcome:?}");
            }
            vector = next;
        }
    });
}

#[test]
fn topics_come_and_go() {
    in_all_ways(&of("sticky", &[3], members(0, 2, &names(2))), |vector| {
        let (mut vector, _) = step(&vector);
        vector.topics.push(Topic("topic01".to_owned(), 3, vector.topics[0].2.clone()));
        let (mut vector, _) = step(&vector);
        vector.topics.remove(0);
        let (_, outcome) = step(&vector);
        assert_eq!(span(&outcome), (1, 2));
    });
}

#[test]
fn one_of_many_with_growing_subscriptions_leaves() {
    let partitions: Vec<u32> = (1..20).collect();
    let growing = (1..20).flat_map(|at| members(at, 1, &names(at)));
    in_all_ways(&of("sticky", &partitions, growing.collect()), |vector| {
        let (mut vector, _) = step(&vector);
        vector.members.remove(9);
        step(&vector);
    });
}

#[test]
fn one_joins_many_and_nobody_gives_more_than_it_must() {
    in_all_ways(&of("sticky", &[20], members(0, 9, &names(1))), |vector| {
        let (vector, before) = step(&vector);
        let joined = Vector {
            members: vector.members.iter().cloned().chain(members(9, 1, &names(1))).collect(),
            ..vector
        };
        let (_, after) = step(&joined);
        assert_eq!(span(&after), (2, 2));
        // Two had three: only they give, one each.
        let given = before.keys().filter(|id| load(&after, id) < load(&before, id));
        assert_eq!(given.count(), 2);
    });
}

#[test]
fn one_of_eight_that_share_topics_of_all_sizes_leaves() {
    let partitions: Vec<u32> = (1..=14).collect();
    in_all_ways(&of("sticky", &partitions, members(1, 8, &names(14))), |vector| {
        let (mut vector, _) = step(&vector);
        vector.members.remove(4);
        let least = fewest_moves(&vector);
        let (_, outcome) = step(&vector);
        assert_eq!(changed(&vector, &outcome), least);
    });
}

#[test]
fn a_member_subscribes_to_one_more_topic() {
    for assignor in STICKY {
        let (mut vector, _) = step(&group(assignor, "t1=3 t2=4", "c1{t1} | c2{t1}"));
        vector.members[0].topics.push("t2".to_owned());
        let (_, outcome) = step(&vector);
        assert_eq!(load(&outcome, "c1") + load(&outcome, "c2"), 7);
    }
}

#[test]
fn what_is_even_already_stays_however_subscriptions_overlap() {
    let members = "c1{t1,t2} own t1-0 gen 1 | c2{t1,t2,t3,t4} own t2-0 t3-0 gen 1 \
                   | c3{t2,t3,t4,t5,t6} own t4-0 t5-0 t6-0 gen 1";
    for assignor in STICKY {
        let vector = group(assignor, "t1=1 t2=1 t3=1 t4=1 t5=1 t6=1", members);
        let (_, outcome) = step(&vector);
        assert_eq!(changed(&vector, &outcome), 0);
    }
}

#[test]
fn who_had_nothing_takes_over_from_who_leaves() {
    in_all_ways(&of("sticky", &[3], members(0, 4, &names(1))), |vector| {
        let (mut vector, before) = step(&vector);
        let had = |id: &str| before[id].iter().any(|(_, list)| list.contains(&0));
        let gone = vector.members.iter().position(|member| had(&member.id)).unwrap();
        vector.members.remove(gone);
        let (_, after) = step(&vector);
        let idle = before.iter().find(|(_, lists)| lists.is_empty()).unwrap().0;
        assert_eq!(after[idle], [("topic00".to_owned(), vec![0])]);
        assert!(after.iter().all(|(id, lists)| id == idle || *lists == before[id]));
    });
}

#[test]
fn a_topic_is_deleted_and_the_last_one_as_well() {
    in_all_ways(&of("sticky", &[1, 100], members(0, 2, &names(2))), |vector| {
        let (mut vector, _) = step(&vector);
        vector.topics.pop();
        let (mut vector, outcome) = step(&vector);
        assert_eq!(span(&outcome), (0, 1));
        vector.topics.clear();
        assert_eq!(span(&step(&vector).1), (0, 0));
    });
}

#[test]
fn a_newcomer_takes_one_from_each_and_nothing_else_moves() {
    let all = "{t1,t2,t3,t4}";
    let members = format!(
        "a{all} own t1-0 t2-0 t3-0 t4-0 gen 1 | b{all} own t1-1 t2-1 t3-1 t4-1 gen 1 | c{all} own t1-2 t2-2 t3-2 t4-2 gen 1 | d{all}"
    );
    for assignor in STICKY {
        let vector = group(assignor, "t1=3 t2=3 t3=3 t4=3", &members);
        let (_, outcome) = step(&vector);
        assert_eq!((span(&outcome), changed(&vector, &outcome)), ((3, 3), 3));
        assert_eq!(outcome["d"], [("t4".to_owned(), vec![0, 1, 2])]);
    }
}

/// The next change of a group. Numbers choose among what there is.
#[derive(Clone, Debug)]
enum Change {
    Join(Vec<usize>),
    Leave(usize),
    Subscribe(usize, Vec<usize>),
    Grow(usize),
    Delete(usize),
}

fn change(topics: usize) -> impl Strategy<Value = Change> {
    let some = || btree_set(0..topics, 1..=topics).prop_map(|set| set.into_iter().collect::<Vec<_>>());
    prop_oneof![
        3 => some().prop_map(Change::Join),
        3 => any::<usize>().prop_map(Change::Leave),
        1 => (any::<usize>(), some()).prop_map(|(at, topics)| Change::Subscribe(at, topics)),
        1 => any::<usize>().prop_map(Change::Grow),
        1 => any::<usize>().prop_map(Change::Delete),
    ]
}

/// A group and its changes. Where it is not `mixed` all subscribe to all topics.
fn history(mixed: bool) -> impl Strategy<Value = (Vector, Vec<Change>)> {
    (vec(1..12_u32, 1..6), 1..8_usize).prop_flat_map(move |(partitions, count)| {
        let topics = partitions.len();
        let some = btree_set(0..topics, 1..=topics).prop_map(|set| set.into_iter().collect::<Vec<_>>());
        (vec(some, count), vec(change(topics), 1..10)).prop_map(move |(subscriptions, changes)| {
            let mut vector = of("sticky", &partitions, Vec::new());
            subscriptions.iter().for_each(|topics| join(&mut vector, mixed, topics));
            (vector, changes)
        })
    })
}

fn join(vector: &mut Vector, mixed: bool, topics: &[usize]) {
    vector.n += 1;
    vector.members.extend(members(vector.n as usize, 1, &subscription(mixed, topics)));
}

fn subscription(mixed: bool, topics: &[usize]) -> Vec<String> {
    let all = names(6);
    if mixed { topics.iter().map(|at| all[*at].clone()).collect() } else { all }
}

fn apply(vector: &mut Vector, mixed: bool, change: &Change) {
    let count = vector.members.len();
    match change {
        Change::Join(topics) => join(vector, mixed, topics),
        Change::Leave(at) if count > 1 => drop(vector.members.remove(at % count)),
        Change::Subscribe(at, topics) => vector.members[at % count].topics = subscription(mixed, topics),
        Change::Grow(at) if !vector.topics.is_empty() => {
            let at = at % vector.topics.len();
            vector.topics[at].1 += 3;
        }
        Change::Delete(at) if vector.topics.len() > 1 => drop(vector.topics.remove(at % vector.topics.len())),
        Change::Leave(_) | Change::Grow(_) | Change::Delete(_) => {}
    }
}

fn seeded(cases: u32) -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(16_277), ..ProptestConfig::with_cases(cases) }
}

proptest! {
    #![proptest_config(seeded(500))]

    #[test]
    fn any_history_of_equal_members_stays_within_one_with_the_fewest_moves((start, changes) in history(false)) {
        for assignor in STICKY {
            let mut vector = Vector { assignor: assignor.to_owned(), ..start.clone() };
            for change in &changes {
                let (mut next, _) = step(&vector);
                apply(&mut next, false, change);
                let outcome = settle(next.clone()).1;
                let (least, most) = span(&outcome);
                prop_assert!(most - least <= 1);
                prop_assert_eq!(changed(&next, &outcome), fewest_moves(&next));
                vector = next;
            }
        }
    }

    #[test]
    fn any_history_of_mixed_members_stays_valid((start, changes) in history(true)) {
        for assignor in STICKY {
            let mut vector = Vector { assignor: assignor.to_owned(), ..start.clone() };
            for change in &changes {
                let (settled, outcome, _) = settle(vector.clone());
                assert_valid(&vector, &outcome);
                vector = settled.after(&outcome);
                apply(&mut vector, true, change);
            }
        }
    }
}
