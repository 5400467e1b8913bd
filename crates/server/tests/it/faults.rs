//! A store that fails, in every way that it can.

use std::time::Duration;

use kafka_assigner_proto::v1::{HeartbeatOutcome, RegisterRequest};
use kafka_assigner_store::faulty::{Fault, Outage, Rates};
use tokio::time::{Instant, sleep};

use crate::cluster::{Cluster, Node, is_settled};
use crate::member::{Member, full};
use crate::worker::Worker;

/// Sessions that outlive an outage of half a minute, as they do in etcd.
fn patient(name: &str) -> RegisterRequest {
    RegisterRequest { session_timeout_ms: 120_000, ..full(name, &format!("{name}-1")) }
}

async fn workers(nodes: &[Node], names: &[&str]) -> Vec<Worker> {
    let mut workers = Vec::new();
    for name in names {
        workers.push(Worker::with(nodes, patient(name), Duration::ZERO).await);
    }
    workers
}

#[tokio::test(start_paused = true)]
async fn half_a_minute_without_the_store_costs_no_session_and_no_partition() {
    for outage in [Outage::Refusing, Outage::Silent, Outage::Deaf] {
        let cluster = Cluster::start(2, 8).await;
        let workers = workers(&cluster.nodes, &["a", "b"]).await;
        cluster.settled(2).await;
        let before: Vec<_> = workers.iter().map(|w| w.roles().assigned).collect();
        cluster.nodes.iter().for_each(|node| node.link.begin_outage(outage));
        sleep(Duration::from_secs(30)).await;
        cluster.nodes.iter().for_each(|node| node.link.end_outage());
        // Long enough for a new leader, and for whatever it might do.
        sleep(Duration::from_secs(60)).await;
        let after: Vec<_> = workers.iter().map(|w| w.roles().assigned).collect();
        assert_eq!(before, after, "{outage:?}");
        assert!(workers.iter().all(|w| w.roles().fenced.is_none()));
        cluster.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_without_the_store_says_so_and_ends_nothing() {
    let cluster = Cluster::start(1, 1).await;
    let member = Member::register(&cluster.nodes[0], patient("a")).await.unwrap();
    cluster.nodes[0].link.begin_outage(Outage::Refusing);
    let answer = member.heartbeat().await;
    assert_eq!(answer.outcome(), HeartbeatOutcome::StoreUnavailable);
    assert!(answer.fenced.is_none());
    cluster.nodes[0].link.end_outage();
    assert_eq!(member.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_that_the_store_does_not_answer_is_answered_while_its_client_waits() {
    let cluster = Cluster::start(1, 1).await;
    let short = RegisterRequest { session_timeout_ms: 6_000, ..full("a", "a-1") };
    let member = Member::register(&cluster.nodes[0], short).await.unwrap();
    cluster.nodes[0].link.begin_outage(Outage::Silent);
    let since = Instant::now();
    assert_eq!(member.heartbeat().await.outcome(), HeartbeatOutcome::StoreUnavailable);
    // A client waits for a tenth of its time to live.
    assert!(since.elapsed() < Duration::from_millis(600), "{:?}", since.elapsed());
    cluster.nodes[0].link.end_outage();
    assert_eq!(member.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_in_the_middle_of_moves_is_replaced() {
    let cluster = Cluster::start(2, 12).await;
    let _owner = workers(&cluster.nodes, &["a"]).await;
    cluster.settled(1).await;
    let _slow = Worker::with(&cluster.nodes, patient("b"), Duration::from_secs(2)).await;
    cluster.until("moves are under way", |state| state.handoffs().len() == 6).await;
    let leader = cluster.group().await.read(leader_of);
    let cut = cluster.nodes.iter().position(|node| node.instance.options().id == leader).unwrap();
    let nodes = vec![cluster.nodes[1 - cut].clone()];
    let other = Cluster { memory: cluster.memory.clone(), nodes, ..Cluster::empty() };
    cluster.nodes[cut].link.begin_outage(Outage::Silent);
    other.until("another one leads", |state| leader_of(state) != leader).await;
    let shares = other.settled(2).await;
    assert!(shares.values().all(|count| *count == 6), "{shares:?}");
    cluster.stop().await;
}

fn leader_of(state: &kafka_assigner_core::state::GroupState) -> String {
    state
        .leader()
        .and_then(|entry| entry.last_good())
        .map(|leader| leader.instance.clone())
        .unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn cut_and_compacted_watches_lose_nothing() {
    let cluster = Cluster::start(2, 8).await;
    let _a = workers(&cluster.nodes, &["a"]).await;
    cluster.settled(1).await;
    let mut others = Vec::new();
    for name in ["b", "c", "d"] {
        for node in &cluster.nodes {
            node.link.hold_watches();
        }
        cluster.topic(&format!("of-{name}"), 4).await;
        for node in &cluster.nodes {
            node.link.compact_under_watches().await.unwrap();
            node.link.release_watches();
            node.link.cut_watches();
        }
        others.extend(workers(&cluster.nodes, &[name]).await);
    }
    let shares = cluster.settled(4).await;
    assert!(shares.values().all(|count| *count == 5), "{shares:?}");
    cluster.stop().await;
}

/// Two consumers, a move, and one that leaves in order: every kind of write there is.
async fn join_move_and_leave(cluster: &Cluster) {
    let _stays = Worker::insistent(&cluster.nodes, &patient("a")).await;
    let leaves = Worker::insistent(&cluster.nodes, &patient("b")).await;
    cluster.settled(2).await;
    leaves.leave();
    cluster.until("a has everything", |state| is_settled(state) && state.consumers().len() == 1).await;
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_of_any_one_call_heals() {
    for fault in
        [Fault::LoseAnswer, Fault::LoseRequest, Fault::Refuse, Fault::ApplyLate(Duration::from_secs(1))]
    {
        for nth in 0.. {
            let cluster = Cluster::start(1, 4).await;
            let link = &cluster.nodes[0].link;
            link.script((0..nth).map(|_| None).chain([Some(fault)]));
            join_move_and_leave(&cluster).await;
            let counts = link.counts();
            let met = counts.refused + counts.requests_lost + counts.answers_lost + counts.applied_late;
            cluster.stop().await;
            if met == 0 {
                assert!(nth > 25, "{nth} calls are fewer than it takes");
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_all_the_time_only_makes_it_slow() {
    let cluster = Cluster::start(2, 12).await;
    let mut all = workers(&cluster.nodes, &["a"]).await;
    cluster.settled(1).await;
    let rates = Rates {
        refuse: 0.05,
        lose_request: 0.05,
        lose_answer: 0.05,
        apply_late: 0.05,
        latest: Duration::from_secs(2),
        delay: Duration::from_millis(20),
        cut_watch: 0.02,
        watch_delay: Duration::from_millis(50),
    };
    cluster.nodes.iter().for_each(|node| node.link.set_rates(rates));
    for name in ["b", "c"] {
        all.push(Worker::insistent(&cluster.nodes, &patient(name)).await);
    }
    sleep(Duration::from_secs(120)).await;
    cluster.nodes.iter().for_each(|node| node.link.set_rates(Rates::default()));
    let shares = cluster.settled(3).await;
    assert!(shares.values().all(|count| *count == 4), "{shares:?}");
    cluster.stop().await;
}
