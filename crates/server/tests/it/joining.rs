//! The grants when consumers come and go: the "gRPC level" of consumers only.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use kafka_assigner_core::record::Phase;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_proto::Reason;
use kafka_assigner_proto::ReasonExt as _;
use kafka_assigner_proto::v1::kafka_assigner_server::KafkaAssigner as _;
use kafka_assigner_proto::v1::{AckOutcome, DeregisterMode, FenceReason, RegisterRequest};
use prost::Message as _;
use tokio::time::Instant;
use tonic::Request;

use crate::cluster::{Cluster, is_settled, owners};
use crate::member::{Member, Roles, full};
use crate::worker::Worker;

fn shares(pairs: &[(&str, usize)]) -> BTreeMap<String, usize> {
    pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

fn names(prefix: &str, numbers: std::ops::Range<usize>) -> impl Iterator<Item = String> {
    numbers.map(move |n| format!("{prefix}{n}"))
}

#[tokio::test(start_paused = true)]
async fn a_single_consumer_gets_every_partition_and_no_handoff() {
    let cluster = Cluster::start(1, 6).await;
    let mut only = Member::join(&cluster.nodes[0], "a").await;
    only.until("all six", |roles| roles.assigned.len() == 6).await;
    assert!(only.roles.assigned.values().all(|a| a.handoff_id.is_empty() && a.epoch > 0));
    assert!(cluster.group().await.read(|state| state.handoffs().is_empty()));
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_member_with_very_much_is_told_so_in_several_messages() {
    let cluster = Cluster::start(1, 6_000).await;
    let mut first = Member::join(&cluster.nodes[0], "a").await;
    first.until("all of them", |roles| roles.assigned.len() == 6_000).await;
    let smallest = RegisterRequest { capabilities: Vec::new(), ..first.resumption() };
    for request in [first.resumption(), smallest] {
        let api = &cluster.nodes[0].api;
        let mut commands = api.register(Request::new(request)).await.unwrap().into_inner();
        let mut again = Roles::default();
        let mut commands_read = 0;
        while again.assigned.len() < 6_000 || again.has_more {
            let command = commands.next().await.expect("the stream goes on").unwrap();
            assert!(command.encoded_len() < 1 << 20, "far below gRPC's 4 MiB");
            again.take(command);
            commands_read += 1;
        }
        assert_eq!(commands_read, 2);
        assert_eq!(again.assigned, first.roles.assigned);
    }
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn two_topics_are_both_given_out() {
    let cluster = Cluster::start(1, 4).await;
    cluster.topic("u", 6).await;
    let _a = Worker::start(&cluster.nodes, "a").await;
    let _b = Worker::start(&cluster.nodes, "b").await;
    assert_eq!(cluster.settled(2).await, shares(&[("a", 5), ("b", 5)]));
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_handoff_passes_through_all_its_phases() {
    let cluster = Cluster::start(1, 2).await;
    let mut old = Member::join(&cluster.nodes[0], "a").await;
    old.until("both", |roles| roles.assigned.len() == 2).await;
    let mut new = Member::join(&cluster.nodes[0], "b").await;

    new.until("one to warm", |roles| roles.warming.len() == 1).await;
    let (at, warm) = new.roles.warming.first_key_value().map(|(at, w)| (at.clone(), w.clone())).unwrap();
    assert_eq!(warm.current_owner, "a");
    assert!(old.is_quiet(), "the old owner works on and need not know");

    assert_eq!(new.ready().await, [AckOutcome::Applied]);
    new.until("it owns it", |roles| roles.assigned.contains_key(&at)).await;
    assert_eq!(new.roles.assigned[&at].handoff_id, warm.handoff_id);
    assert!(new.roles.assigned[&at].epoch > old.roles.assigned[&at].epoch);
    assert!(old.is_quiet(), "the old owner is not told to release before the new one has taken");

    assert_eq!(new.taken().await, [AckOutcome::Applied]);
    old.until("it shall release", |roles| roles.releasing.contains_key(&at)).await;
    assert_eq!(old.roles.releasing[&at].new_owner, "b");
    assert_eq!(old.released().await, [AckOutcome::Applied]);
    old.until("it is rid of it", |roles| roles.releasing.is_empty()).await;
    assert_eq!(cluster.settled(2).await, shares(&[("a", 1), ("b", 1)]));
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_long_warm_up_keeps_the_handoff_warming_and_the_old_owner_working() {
    let cluster = Cluster::start(1, 2).await;
    let old = Worker::start(&cluster.nodes, "a").await;
    cluster.settled(1).await;
    let _new = Worker::with(&cluster.nodes, full("b", "b-1"), Duration::from_secs(2)).await;
    cluster.until("it warms", |state| state.handoffs().len() == 1).await;
    let since = Instant::now();
    tokio::time::sleep(Duration::from_millis(1_900)).await;
    let phases = |state: &GroupState| {
        state.handoffs().keys().filter_map(|at| state.handoff(at)).map(|h| h.phase).collect::<Vec<_>>()
    };
    assert_eq!(cluster.group().await.read(phases), [Phase::Warming]);
    assert_eq!(old.roles().assigned.len(), 2, "the old owner has both");
    assert_eq!(cluster.settled(2).await, shares(&[("a", 1), ("b", 1)]));
    assert!(since.elapsed() < Duration::from_millis(2_500), "{:?}", since.elapsed());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_while_warming_leaves_everything_as_it_was() {
    let cluster = Cluster::start(1, 4).await;
    let mut old = Worker::start(&cluster.nodes, "a").await;
    old.until("all four", |roles| roles.assigned.len() == 4).await;
    let before = old.roles().assigned;
    let mut new = Member::join(&cluster.nodes[0], "b").await;
    new.until("two to warm", |roles| roles.warming.len() == 2).await;
    drop(new);
    cluster.until("the newcomer is gone", |state| state.consumers().len() == 1).await;
    assert_eq!(cluster.settled(1).await, shares(&[("a", 4)]));
    assert_eq!(old.roles().assigned, before, "not even an epoch was touched");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_partitions_of_a_crashed_owner_are_granted_directly_and_at_once() {
    let cluster = Cluster::start(1, 6).await;
    let mut workers = Worker::several(&cluster.nodes, names("c", 0..3)).await;
    cluster.settled(3).await;
    drop(workers.pop());
    cluster.until("the session is over", |state| state.consumers().len() == 2).await;
    let since = Instant::now();
    assert!(cluster.group().await.read(|state| state.handoffs().is_empty()));
    cluster.until("it is given to others", is_settled).await;
    assert!(since.elapsed() <= Duration::from_millis(200), "{:?}", since.elapsed());
    assert_eq!(cluster.settled(2).await, shares(&[("c0", 3), ("c1", 3)]));
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn joins_do_not_put_off_the_answer_to_a_crash() {
    let cluster = Cluster::start(1, 6).await;
    let mut workers = Worker::several(&cluster.nodes, names("c", 0..2)).await;
    cluster.settled(2).await;
    drop(workers.pop());
    tokio::time::sleep(Duration::from_millis(29_500)).await;
    // Somebody joins every 40 ms, before and after it is noticed: each would put off a plan by 100 ms.
    let (mut noticed, mut n) = (None, 0);
    while !cluster.group().await.read(nothing_is_c1s) {
        workers.push(Worker::start(&cluster.nodes, &format!("j{n}")).await);
        tokio::time::sleep(Duration::from_millis(40)).await;
        n += 1;
        if !cluster.group().await.read(|state| state.consumers().contains_key("c1")) {
            noticed = noticed.or_else(|| Some(Instant::now()));
        }
    }
    let took = noticed.map_or(Duration::ZERO, |at| at.elapsed());
    assert!(took <= Duration::from_millis(200) && n > 5, "{took:?} after {n} joins");
    cluster.stop().await;
}

fn nothing_is_c1s(state: &GroupState) -> bool {
    let owners = state.assignments().values().filter_map(|entry| entry.last_good()?.owner.as_ref());
    owners.into_iter().all(|owner| owner.name.as_str() != "c1")
}

#[tokio::test(start_paused = true)]
async fn a_crash_in_the_middle_of_a_move_ends_with_everything_owned() {
    for phase in [Phase::Warming, Phase::Complete] {
        for survivor in ["a", "b"] {
            let cluster = Cluster::start(1, 2).await;
            let mut old = Member::join(&cluster.nodes[0], "a").await;
            old.until("both", |roles| roles.assigned.len() == 2).await;
            let mut new = Member::join(&cluster.nodes[0], "b").await;
            new.until("one to warm", |roles| roles.warming.len() == 1).await;
            if phase == Phase::Complete {
                new.ready().await;
                new.until("one to take", |roles| roles.assigned.len() == 1).await;
            }
            let mut survivor = if survivor == "a" { old } else { new };
            let revision = survivor.roles.revision;
            while cluster.group().await.read(|state| state.consumers().len() == 2) {
                tokio::time::sleep(Duration::from_secs(5)).await;
                survivor.heartbeat().await;
            }
            survivor.until("both", |roles| roles.assigned.len() == 2 && roles.revision >= revision).await;
            cluster.until("it is calm", is_settled).await;
            cluster.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn sequential_crashes_end_with_all_on_the_last() {
    let cluster = Cluster::start(1, 6).await;
    let mut workers = Worker::several(&cluster.nodes, names("c", 0..3)).await;
    cluster.settled(3).await;
    for left in [2, 1] {
        drop(workers.pop());
        cluster.until("it is noticed", |state| state.consumers().len() == left).await;
        cluster.settled(left).await;
    }
    assert_eq!(cluster.settled(1).await, shares(&[("c0", 6)]));
    workers[0].until("it knows", |roles| roles.assigned.len() == 6).await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn twenty_consumers_share_forty_partitions_and_four_that_are_left_too() {
    let cluster = Cluster::start(2, 40).await;
    let mut workers = Worker::several(&cluster.nodes, ["c0".to_owned()]).await;
    cluster.settled(1).await;
    workers.extend(Worker::several(&cluster.nodes, names("c", 1..20)).await);
    assert!(cluster.settled(20).await.values().all(|count| *count == 2));
    workers.truncate(4);
    cluster.until("they are gone", |state| state.consumers().len() == 4).await;
    assert!(cluster.settled(4).await.values().all(|count| *count == 10));
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn ten_joins_within_a_debounce_are_planned_at_once() {
    let cluster = Cluster::start(1, 10).await;
    let _first = Worker::start(&cluster.nodes, "c0").await;
    cluster.settled(1).await;
    let _others = Worker::several(&cluster.nodes, names("c", 1..10)).await;
    assert!(cluster.settled(10).await.values().all(|count| *count == 1));
    let epochs = cluster.group().await.read(|state| {
        state
            .assignments()
            .values()
            .filter_map(|entry| entry.last_good())
            .map(|a| a.held_epoch().0)
            .collect::<Vec<_>>()
    });
    assert_eq!(epochs.len(), 10);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn more_consumers_than_partitions_leave_some_without() {
    let cluster = Cluster::start(1, 2).await;
    let workers = Worker::several(&cluster.nodes, names("c", 0..5)).await;
    assert!(cluster.settled(2).await.values().all(|count| *count == 1));
    drop(workers);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn all_gone_and_back_gets_everything_again_under_higher_epochs() {
    let cluster = Cluster::start(1, 4).await;
    let mut first = Member::join(&cluster.nodes[0], "a").await;
    first.until("all four", |roles| roles.assigned.len() == 4).await;
    let before = first.roles.assigned.clone();
    drop(first);
    cluster.until("nobody is left", |state| state.consumers().is_empty()).await;
    let mut second = Member::register(&cluster.nodes[0], full("z", "z-1")).await.unwrap();
    second.until("all four", |roles| roles.assigned.len() == 4).await;
    assert!(second.roles.assigned.iter().all(|(at, now)| now.epoch > before[at].epoch));
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_draining_consumer_hands_everything_over_and_is_told_that_it_left() {
    let cluster = Cluster::start(1, 4).await;
    let mut leaver = Member::join(&cluster.nodes[0], "a").await;
    leaver.until("all four", |roles| roles.assigned.len() == 4).await;
    let mut stayer = Worker::start(&cluster.nodes, "b").await;
    leaver.deregister(DeregisterMode::Drain).await.unwrap();
    while leaver.roles.fenced.is_none() {
        leaver.next().await;
        if !leaver.roles.releasing.is_empty() {
            leaver.released().await;
        }
    }
    assert_eq!(leaver.ended().await.unwrap().reason(), FenceReason::Deregistered);
    stayer.until("all four", |roles| roles.assigned.len() == 4).await;
    assert!(stayer.roles().assigned.values().all(|a| !a.handoff_id.is_empty()), "each by a handoff");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn leaving_at_once_frees_everything_at_once() {
    let cluster = Cluster::start(2, 4).await;
    let mut leaver = Member::join(&cluster.nodes[0], "a").await;
    leaver.until("all four", |roles| roles.assigned.len() == 4).await;
    let mut stayer = Member::join(&cluster.nodes[1], "b").await;
    stayer.until("two to warm", |roles| roles.warming.len() == 2).await;
    let since = Instant::now();
    leaver.deregister(DeregisterMode::Now).await.unwrap();
    assert_eq!(leaver.ended().await.unwrap().reason(), FenceReason::Deregistered);
    stayer.until("all four", |roles| roles.assigned.len() == 4).await;
    assert!(since.elapsed() <= Duration::from_millis(200), "{:?}", since.elapsed());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_restarting_consumer_finds_its_partitions_kept_for_it() {
    let cluster = Cluster::start(1, 4).await;
    let _other = Worker::start(&cluster.nodes, "b").await;
    let mut first = Member::join(&cluster.nodes[0], "a").await;
    while first.roles.assigned.len() < 2 {
        first.next().await;
        if !first.roles.warming.is_empty() {
            first.ready().await;
        }
        first.taken_if_any().await;
    }
    cluster.settled(2).await;
    let mine: Vec<_> = first.roles.assigned.keys().cloned().collect();
    first.deregister(DeregisterMode::Restart).await.unwrap();
    assert_eq!(first.ended().await.unwrap().reason(), FenceReason::Deregistered);
    // Long enough for many plans, short of the time for which they are kept.
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(cluster.group().await.read(owners), shares(&[("b", 2)]), "nobody else got them");
    let mut second = Member::register(&cluster.nodes[0], full("a", "a-2")).await.unwrap();
    second.until("its own again", |roles| roles.assigned.len() == 2).await;
    assert_eq!(second.roles.assigned.keys().cloned().collect::<Vec<_>>(), mine);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_that_never_comes_back_frees_its_partitions() {
    let cluster = Cluster::start(1, 4).await;
    let mut first = Member::join(&cluster.nodes[0], "a").await;
    first.until("all four", |roles| roles.assigned.len() == 4).await;
    let _other = Worker::start(&cluster.nodes, "b").await;
    first.deregister(DeregisterMode::Restart).await.unwrap();
    cluster.until("b has all", |state| owners(state) == shares(&[("b", 4)])).await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn whoever_is_not_registered_can_not_leave() {
    let cluster = Cluster::start(1, 1).await;
    let member = Member::join(&cluster.nodes[0], "a").await;
    let mut stranger = Member::join(&cluster.nodes[0], "b").await;
    stranger.request.incarnation = "another".to_owned();
    for mode in [DeregisterMode::Drain, DeregisterMode::Now, DeregisterMode::Restart] {
        let refused = stranger.deregister(mode).await.unwrap_err();
        assert_eq!(refused.reason(), Some(Reason::ConsumerNotFound), "{refused:?}");
    }
    drop(member);
    cluster.stop().await;
}
