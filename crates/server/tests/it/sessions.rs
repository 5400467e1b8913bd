//! Sessions: how they begin, go on elsewhere, and end.

use std::time::Duration;

use kafka_assigner_proto::v1::{
    Capability, DeregisterMode, FenceReason, HeartbeatOutcome, RegisterRequest, Renewal,
};
use kafka_assigner_proto::{Reason, ReasonExt as _};
use kafka_assigner_store::Store as _;
use kafka_assigner_store::faulty::{Fault, Outage};
use kafka_assigner_types::kv::{Op, Txn};
use tokio::time::{Instant, sleep};

use crate::cluster::{Cluster, layout, owners};
use crate::member::{Member, full};
use crate::worker::Worker;

/// The request of a client of three calls: the service renews its session.
fn minimal(name: &str) -> RegisterRequest {
    RegisterRequest { renewal: Renewal::Server.into(), capabilities: Vec::new(), ..full(name, "") }
}

#[tokio::test(start_paused = true)]
async fn whoever_registers_under_a_name_takes_it_over() {
    let cluster = Cluster::start(2, 4).await;
    let mut old = Member::join(&cluster.nodes[0], "a").await;
    old.until("all four", |roles| roles.assigned.len() == 4).await;
    let since = Instant::now();
    let mut new = Member::register(&cluster.nodes[1], full("a", "a-2")).await.unwrap();
    assert_eq!(old.ended().await.unwrap().reason(), FenceReason::Superseded);
    let answer = old.heartbeat().await;
    assert_eq!(answer.outcome(), HeartbeatOutcome::Fenced);
    assert_eq!(answer.fenced.unwrap().reason(), FenceReason::Superseded);
    let refused = old.resume(&cluster.nodes[0]).await.unwrap().ended().await.unwrap();
    assert_eq!(refused.reason(), FenceReason::Superseded, "nor can it come back");
    new.until("all four", |roles| roles.assigned.len() == 4).await;
    assert!(new.roles.assigned.iter().all(|(at, now)| now.epoch > old.roles.assigned[at].epoch));
    assert!(since.elapsed() <= Duration::from_millis(200), "{:?}", since.elapsed());
    assert_eq!(new.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_repeated_opening_never_gives_a_session_a_second_lease() {
    let cluster = Cluster::start(1, 1).await;
    let first = Member::join(&cluster.nodes[0], "a").await;
    let mut again = Member::register(&cluster.nodes[0], full("a", "a-1")).await.unwrap();
    assert_eq!(again.ended().await.unwrap().reason(), FenceReason::Superseded);
    assert_eq!(first.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_goes_on_at_another_instance_as_it_was() {
    let cluster = Cluster::start(2, 4).await;
    let mut here = Member::join(&cluster.nodes[0], "a").await;
    here.until("all four", |roles| roles.assigned.len() == 4).await;
    let there = here.resume(&cluster.nodes[1]).await.unwrap();
    assert_eq!(there.roles.assigned, here.roles.assigned, "the first command tells everything");
    assert_eq!(there.roles.lease, here.roles.lease);
    drop(here);
    for _ in 0..10 {
        sleep(Duration::from_secs(10)).await;
        assert_eq!(there.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    }
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_is_behind_its_client_does_not_answer_it() {
    let mut cluster = Cluster::start(1, 4).await;
    let mut here = Member::join(&cluster.nodes[0], "a").await;
    here.until("all four", |roles| roles.assigned.len() == 4).await;
    cluster.add(|_| {}, None).await;
    let _served = cluster.nodes[1].instance.group(&crate::cluster::group()).await.unwrap();
    cluster.nodes[1].link.hold_watches();
    cluster.topic("u", 1).await;
    here.until("the fifth", |roles| roles.assigned.len() == 5).await;
    let refused = here.resume(&cluster.nodes[1]).await.err().expect("it is behind");
    assert_eq!(refused.reason(), Some(Reason::ViewBehind), "{refused:?}");
    cluster.nodes[1].link.release_watches();
    assert_eq!(here.resume(&cluster.nodes[1]).await.unwrap().roles.assigned.len(), 5);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ran_out_can_not_be_resumed() {
    let cluster = Cluster::start(1, 1).await;
    let member = Member::join(&cluster.nodes[0], "a").await;
    sleep(Duration::from_secs(31)).await;
    assert_eq!(member.heartbeat().await.fenced.unwrap().reason(), FenceReason::Expired);
    let mut back = member.resume(&cluster.nodes[0]).await.unwrap();
    assert_eq!(back.ended().await.unwrap().reason(), FenceReason::Expired);
    assert!(back.roles.revision > 0, "what it is told is of some revision");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_registration_was_deleted_is_told_at_once() {
    let cluster = Cluster::start(1, 1).await;
    let mut member = Member::join(&cluster.nodes[0], "a").await;
    let key = layout().encode(&kafka_assigner_core::key::Key::Consumer("a".parse().unwrap()));
    let since = Instant::now();
    cluster.memory.txn(Txn::guarded(Vec::new(), vec![Op::delete(key)])).await.unwrap();
    assert_eq!(member.ended().await.unwrap().reason(), FenceReason::Expired);
    assert!(since.elapsed() <= Duration::from_secs(1));
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_whose_processing_stands_still_loses_its_session() {
    let cluster = Cluster::start(2, 1).await;
    let request = RegisterRequest { max_poll_interval_ms: 60_000, ..full("a", "a-1") };
    let mut member = Member::register(&cluster.nodes[0], request).await.unwrap();
    for progress in 0..10 {
        sleep(Duration::from_secs(10)).await;
        let answer = member.beat(progress, Vec::new()).await.unwrap();
        assert_eq!(answer.outcome(), HeartbeatOutcome::Confirmed, "it goes on");
    }
    // Heartbeats need not come in where the stream is.
    member.node = cluster.nodes[1].clone();
    let since = Instant::now();
    while member.beat(9, Vec::new()).await.unwrap().outcome() == HeartbeatOutcome::Confirmed {
        sleep(Duration::from_secs(10)).await;
        assert!(since.elapsed() < Duration::from_secs(100), "it stands still for too long");
    }
    assert!(since.elapsed() > Duration::from_secs(60), "{:?}", since.elapsed());
    assert_eq!(member.ended().await.unwrap().reason(), FenceReason::PollInterval);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_minimal_client_lives_as_long_as_its_stream() {
    let cluster = Cluster::start(1, 4).await;
    let mut member = Member::register(&cluster.nodes[0], minimal("a")).await.unwrap();
    member.until("all four", |roles| roles.assigned.len() == 4).await;
    sleep(Duration::from_secs(600)).await;
    assert!(cluster.group().await.read(|state| state.consumers().contains_key("a")));
    drop(member);
    cluster.until("its session ran out", |state| state.consumers().is_empty()).await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_renewal_costs_a_minimal_client_nothing() {
    let cluster = Cluster::start(1, 1).await;
    let mut member = Member::register(&cluster.nodes[0], minimal("a")).await.unwrap();
    member.until("it", |roles| roles.assigned.len() == 1).await;
    for _ in 0..5 {
        sleep(Duration::from_millis(9_500)).await;
        // The renewal falls into it, and the next one does not.
        cluster.nodes[0].link.begin_outage(Outage::Silent);
        sleep(Duration::from_secs(1)).await;
        cluster.nodes[0].link.end_outage();
        sleep(Duration::from_secs(10)).await;
        assert!(member.is_quiet(), "{:?}", member.roles);
    }
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_minimal_client_that_can_not_be_renewed_is_fenced_before_its_lease_ends() {
    let cluster = Cluster::start(1, 1).await;
    let mut member = Member::register(&cluster.nodes[0], minimal("a")).await.unwrap();
    member.until("it", |roles| roles.assigned.len() == 1).await;
    cluster.nodes[0].link.begin_outage(Outage::Refusing);
    let since = Instant::now();
    assert_eq!(member.ended().await.unwrap().reason(), FenceReason::RenewalLate);
    assert!(since.elapsed() <= Duration::from_secs(20), "{:?}", since.elapsed());
    cluster.nodes[0].link.end_outage();
    cluster.stop().await;
}

/// The topics of [`deafen`].
fn topics() -> Vec<String> {
    (0..8).map(|n| format!("u{n}")).chain(["t".to_owned()]).collect()
}

/// Gives the only consumer of some topics more news than fits between it and the service.
async fn deafen(cluster: &Cluster, deaf: &mut Member) {
    deaf.until("all six", |roles| roles.assigned.len() == 6).await;
    for n in 0..8 {
        cluster.topic(&format!("u{n}"), 2).await;
        cluster.until("it is given out", |state| owners(state)["deaf"] == 6 + 2 * (n + 1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_is_in_nobodys_way_and_is_cut_off() {
    let cluster = Cluster::start(1, 6).await;
    let request = RegisterRequest { topics: topics(), ..full("deaf", "deaf-1") };
    let mut deaf = Member::register(&cluster.nodes[0], request).await.unwrap();
    let request = RegisterRequest { topics: vec!["v".to_owned()], ..full("b", "b-1") };
    let mut other = Worker::with(&cluster.nodes, request, Duration::ZERO).await;
    deafen(&cluster, &mut deaf).await;
    let since = Instant::now();
    cluster.topic("v", 2).await;
    other.until("its own", |roles| roles.assigned.len() == 2).await;
    assert!(since.elapsed() <= Duration::from_millis(200), "{:?}", since.elapsed());
    for _ in 0..4 {
        sleep(Duration::from_secs(10)).await;
        assert_eq!(deaf.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    }
    assert_eq!(cluster.nodes[0].instance.streams(), 1, "its stream is no longer served");
    while deaf.more().await {}
    let resumed = deaf.resume(&cluster.nodes[0]).await.unwrap();
    assert_eq!(resumed.roles.assigned.len(), 22, "its session goes on");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_minimal_client_that_reads_nothing_is_not_renewed_for_ever() {
    let cluster = Cluster::start(1, 6).await;
    let mut deaf = Member::register(&cluster.nodes[0], minimal("deaf")).await.unwrap();
    deafen(&cluster, &mut deaf).await;
    cluster.until("its session ran out", |state| state.consumers().is_empty()).await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_thousand_idle_consumers_write_nothing() {
    let cluster = Cluster::start(1, 4).await;
    let mut members = Vec::new();
    for n in 0..1_000 {
        members.push(Member::join(&cluster.nodes[0], &format!("c{n}")).await);
    }
    let mut owning = 0;
    cluster.until("four have one", |state| owners(state).len() == 4).await;
    // Moves of the first moments.
    sleep(Duration::from_secs(5)).await;
    for member in &mut members {
        while !member.is_quiet() {}
        member.ready_if_any().await;
        owning += member.roles.assigned.len();
    }
    assert!(owning <= 4);
    cluster.until("it is calm", |state| state.handoffs().is_empty()).await;
    let (_, before) = cluster.memory.get(b"/").await.unwrap();
    for _ in 0..6 {
        sleep(Duration::from_secs(10)).await;
        for member in &members {
            assert_eq!(member.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
        }
    }
    let (_, after) = cluster.memory.get(b"/").await.unwrap();
    assert_eq!(before, after, "heartbeats only keep leases alive");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_registration_had_no_definite_answer_for_is_taken_over_by_the_next_try() {
    for fault in [Fault::LoseAnswer, Fault::LoseRequest] {
        let cluster = Cluster::start(1, 2).await;
        let mut other = Member::join(&cluster.nodes[0], "b").await;
        other.until("both", |roles| roles.assigned.len() == 2).await;
        // Read, grant, write: the write has no answer.
        cluster.nodes[0].link.script([None, None, Some(fault)]);
        let refused = Member::register(&cluster.nodes[0], full("a", "a-1")).await.err().expect("no answer");
        assert_eq!(refused.reason(), Some(Reason::StoreUnavailable), "{refused:?}");
        let mut member = Member::register(&cluster.nodes[0], full("a", "a-2")).await.unwrap();
        member.until("one to warm", |roles| roles.warming.len() == 1).await;
        cluster.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_without_snapshots_is_told_everything_in_pieces() {
    let cluster = Cluster::start(1, 2).await;
    let mut first = Member::join(&cluster.nodes[0], "a").await;
    first.until("both", |roles| roles.assigned.len() == 2).await;
    let capabilities = vec![Capability::Taken.into()];
    let request = RegisterRequest { renewal: Renewal::Server.into(), capabilities, ..full("b", "b-1") };
    let mut second = Member::register(&cluster.nodes[0], request).await.unwrap();
    assert!(
        second.roles.lease == 0 && second.roles.assigned.is_empty(),
        "a full Assignment, without anything"
    );
    second.until("one to warm", |roles| roles.warming.len() == 1).await;
    second.ready().await;
    second.until("it is handed over", |roles| roles.assigned.len() == 1).await;
    cluster.stop().await;
}

/// It would wait for its whole drain timeout otherwise: for a newcomer's Ctrl-C, and for a group that is scaled to zero.
#[tokio::test(start_paused = true)]
async fn a_drain_is_told_when_nobody_is_left_who_takes_anything() {
    let cluster = Cluster::start(1, 2).await;
    let mut first = Member::join(&cluster.nodes[0], "a").await;
    first.until("both", |roles| roles.assigned.len() == 2).await;
    let second = Member::join(&cluster.nodes[0], "b").await;
    assert!(!first.leaves(DeregisterMode::Drain).await.unwrap(), "b takes it");
    second.deregister(DeregisterMode::Drain).await.unwrap();
    let writes = cluster.nodes[0].calls("txn");
    assert!(first.leaves(DeregisterMode::Drain).await.unwrap(), "b drains too");
    assert_eq!(cluster.nodes[0].calls("txn"), writes, "to ask again writes nothing");
    cluster.stop().await;
}
