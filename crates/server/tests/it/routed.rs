//! Handoffs in `routed`: requests wait at the routers while the owner changes.

use std::time::Duration;

use kafka_assigner_core::record::Phase;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_proto::v1::{
    AckOutcome, AssignedPartition, AttachRequest, BusyPartition, Capability, FenceReason, HeartbeatOutcome,
    RegisterRequest, RouteAck,
};
use kafka_assigner_proto::{Reason, ReasonExt as _};
use kafka_assigner_server::Options;
use kafka_assigner_types::mode::Mode;
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::member::{Member, full};
use crate::router::Router;
use crate::worker::Worker;

fn routed(options: &mut Options) {
    options.group_defaults.mode = Mode::Routed;
}

fn impatient(options: &mut Options) {
    routed(options);
    options.group_defaults.phase_deadline_ms = 4_000;
}

/// An owner of both partitions and two routers; then a newcomer that is to take one of them and is warm: it freezes.
async fn freezing(tune: impl Fn(&mut Options)) -> (Cluster, Member, Member, [Router; 2]) {
    let cluster = Cluster::tuned(1, 2, tune).await;
    let request = RegisterRequest { endpoint: "http://a:1".to_owned(), ..full("a", "a-1") };
    let mut old = Member::register(&cluster.nodes[0], request).await.expect("it registers");
    old.until("both", |roles| roles.assigned.len() == 2).await;
    let mut routers =
        [Router::join(&cluster.nodes[0], "r").await, Router::join(&cluster.nodes[0], "s").await];
    let mut new = Member::join(&cluster.nodes[0], "b").await;
    new.until("one to warm", |roles| roles.warming.len() == 1).await;
    assert_eq!(new.ready().await, [AckOutcome::Applied]);
    for router in &mut routers {
        router.stashes().await;
    }
    (cluster, old, new, routers)
}

/// Goes on from the freeze to the end: the old owner stops, the new one catches up and takes it.
async fn finish(old: &mut Member, new: &mut Member) {
    old.until("it shall stop", |roles| roles.draining.len() == 1).await;
    assert_eq!(old.drained(5).await, [AckOutcome::Applied]);
    new.until("it reads the rest", |roles| roles.catching_up.len() == 1).await;
    assert_eq!(new.caught_up().await, [AckOutcome::Applied]);
    new.until("it owns it", |roles| roles.assigned.len() == 1).await;
}

#[tokio::test(start_paused = true)]
async fn the_owner_stops_once_every_router_holds_requests_back_and_they_go_to_the_new_one_then() {
    let (cluster, mut old, mut new, [mut first, mut second]) = freezing(routed).await;
    assert_eq!(first.known.open(), [("a".to_owned(), 1)].into(), "the other one goes on");
    assert_eq!(first.freeze().await, [AckOutcome::Applied]);
    assert!(old.is_quiet(), "one router is not enough");
    assert_eq!(first.freeze().await, [AckOutcome::Already], "saying it twice is harmless");
    let since = Instant::now();
    assert_eq!(second.freeze().await, [AckOutcome::Applied]);
    finish(&mut old, &mut new).await;
    for router in [&mut first, &mut second] {
        router.until("the switch", |known| known.open().contains_key("b")).await;
        assert_eq!(router.known.open().len(), 2);
    }
    assert!(since.elapsed() < Duration::from_millis(5), "no leader in between: {:?}", since.elapsed());
    let owned = new.roles.assigned.values().next().unwrap();
    let route = &first.known.routes[&(owned.topic.clone(), owned.partition)];
    assert_eq!((route.epoch, owned.start_offset), (owned.epoch, Some(5)));
    let stays = first.known.routes.values().filter_map(|route| route.owner.as_ref());
    assert!(stays.clone().any(|owner| owner.endpoint == "http://a:1"));
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn requests_are_held_back_once_the_owner_says_that_no_record_is_in_the_works() {
    let cluster = Cluster::tuned(1, 2, routed).await;
    let mut request = full("a", "a-1");
    request.capabilities.push(Capability::Rest.into());
    let mut old = Member::register(&cluster.nodes[0], request).await.expect("it registers");
    old.until("both", |roles| roles.assigned.len() == 2).await;
    let mut router = Router::join(&cluster.nodes[0], "r").await;
    let mut new = Member::join(&cluster.nodes[0], "b").await;
    new.until("one to warm", |roles| roles.warming.len() == 1).await;
    assert_eq!(new.ready().await, [AckOutcome::Applied]);
    let rests = |owned: &AssignedPartition| !owned.rest_handoff_id.is_empty();
    old.until("it is to rest", |roles| roles.assigned.values().any(rests)).await;
    for _ in 0..20 {
        let resting = old.roles.assigned.values().filter(|owned| rests(owned));
        let busy = resting.map(|owned| BusyPartition {
            topic: owned.topic.clone(),
            partition: owned.partition,
            handoff_id: owned.rest_handoff_id.clone(),
        });
        old.busy(busy.collect()).await.expect("an answer");
        new.heartbeat().await;
        router.heartbeat().await;
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    let phases = |state: &GroupState| -> Vec<Phase> {
        state.handoffs().keys().filter_map(|at| Some(state.handoff(at)?.phase)).collect()
    };
    assert_eq!(cluster.group().await.read(phases), [Phase::Ready], "a record of 40 s is in the works");
    assert_eq!(old.rested().await, [AckOutcome::Applied]);
    router.stashes().await;
    assert_eq!(router.freeze().await, [AckOutcome::Applied]);
    finish(&mut old, &mut new).await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_router_that_leaves_is_not_waited_for() {
    let (cluster, mut old, mut new, [first, mut second]) = freezing(routed).await;
    assert_eq!(first.freeze().await, [AckOutcome::Applied]);
    second.detach().await.unwrap();
    finish(&mut old, &mut new).await;
    second.until("its session is over", |known| known.fenced.is_some()).await;
    assert_eq!(second.known.fenced.as_ref().unwrap().reason(), FenceReason::Deregistered);
    assert_eq!(second.detach().await.unwrap_err().reason(), Some(Reason::RouterNotFound));
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_late_router_finds_the_freeze_in_its_first_table_and_is_not_waited_for() {
    let (cluster, mut old, mut new, [first, second]) = freezing(routed).await;
    let mut late = Router::join(&cluster.nodes[0], "late").await;
    assert_eq!(late.known.stashed().len(), 1);
    assert_eq!(first.freeze().await, [AckOutcome::Applied]);
    assert_eq!(second.freeze().await, [AckOutcome::Applied]);
    finish(&mut old, &mut new).await;
    late.until("the switch", |known| known.open().contains_key("b")).await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_word_counts_for_the_handoff_and_the_session_that_it_names_only() {
    let (cluster, mut old, _new, [first, second]) = freezing(routed).await;
    let foreign = |ack: RouteAck| RouteAck { handoff_id: "an-earlier-one".to_owned(), ..ack };
    let earlier = first.known.stashed().into_iter().map(foreign).collect();
    assert_eq!(first.say(earlier).await, [AckOutcome::Over]);
    let mut again = first.again(&cluster.nodes[0], "r-2").await;
    assert_eq!(first.freeze().await, [AckOutcome::Refused], "another session has the name");
    assert_eq!(first.heartbeat().await.fenced.unwrap().reason(), FenceReason::Superseded);
    assert_eq!(again.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    again.stashes().await;
    assert_eq!(second.freeze().await, [AckOutcome::Applied], "the new session came after the freeze began");
    old.until("it shall stop", |roles| roles.draining.len() == 1).await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn without_routers_a_freeze_ends_at_once() {
    let cluster = Cluster::tuned(2, 4, routed).await;
    let _workers = Worker::several(&cluster.nodes, ["a", "b"].map(str::to_owned)).await;
    assert!(cluster.settled(2).await.values().all(|count| *count == 2));
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_router_that_never_answers_is_named_and_left_out_after_two_freezes() {
    let (cluster, old, new, [first, second]) = freezing(impatient).await;
    let (_old, _new) = (Worker::of(&cluster.nodes, old), Worker::of(&cluster.nodes, new));
    let named = |state: &GroupState| {
        let handoffs = state.handoffs().keys().filter_map(|at| state.handoff(at));
        handoffs.flat_map(|handoff| state.missing_routers(handoff)).map(|name| name.to_string()).collect()
    };
    let missing: Vec<String> = cluster.group().await.read(named);
    assert_eq!(missing, ["r", "s"]);
    let beats = async {
        loop {
            first.heartbeat().await;
            second.heartbeat().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::select! {
        biased;
        _ = cluster.settled(2) => {}
        () = beats => unreachable!("it beats for ever"),
    }
    assert_eq!(cluster.group().await.read(|state| state.routers().len()), 2, "they keep their sessions");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_to_the_dead_and_a_resumed_stream_begins_with_a_table() {
    let (cluster, old, _new, [first, _second]) = freezing(routed).await;
    cluster.revoke(old.roles.lease).await;
    let mut resumed = first.resume(&cluster.nodes[0]).await;
    resumed.until("nothing goes to it", |known| !known.open().contains_key("a")).await;
    assert_eq!(resumed.known.routes.len(), 2);
    cluster.nodes[0].instance.stop(Duration::from_secs(1)).await;
    resumed.until("it is sent away", |known| known.go_away.is_some()).await;
}

#[tokio::test(start_paused = true)]
async fn a_router_that_stashes_for_less_than_requests_are_held_back_is_refused() {
    let cluster = Cluster::tuned(1, 2, routed).await;
    let _creates_the_group = Member::join(&cluster.nodes[0], "a").await;
    let router = Router::join(&cluster.nodes[0], "r").await;
    for (age, fits) in [(0, true), (10_000, false), (10_001, true)] {
        let (stash_age_ms, incarnation) = (age, format!("r-{age}"));
        let request = AttachRequest { stash_age_ms, incarnation, ..router.request.clone() };
        match Router::attach(&cluster.nodes[0], request).await {
            Ok(_) => assert!(fits, "{age}"),
            Err(status) => {
                assert!(!fits && status.message().contains("above 10000"), "{}", status.message());
                assert_eq!(status.reason(), Some(Reason::StashTooShort));
            }
        }
    }
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_router_that_dies_is_over_before_a_freeze_that_waits_for_it_is_cancelled() {
    let cluster = Cluster::tuned(1, 2, routed).await;
    let _creates_the_group = Member::join(&cluster.nodes[0], "a").await;
    let router = Router::join(&cluster.nodes[0], "r").await;
    let ttl = |state: &GroupState| state.routers().values().next().map(|r| r.last_good().unwrap().ttl_ms);
    assert_eq!(cluster.group().await.read(ttl), Some(5_000), "half of what holding requests back may take");
    for (asked, fits) in [(7_000, true), (7_001, false), (30_000, false)] {
        let request = AttachRequest {
            session_timeout_ms: asked,
            incarnation: format!("r-{asked}"),
            ..router.request.clone()
        };
        match Router::attach(&cluster.nodes[0], request).await {
            Ok(_) => assert!(fits, "{asked}"),
            Err(status) => {
                assert!(!fits && status.message().contains("at most 7000"), "{}", status.message());
                assert_eq!(status.reason(), Some(Reason::InvalidField));
            }
        }
    }
    cluster.stop().await;
}
