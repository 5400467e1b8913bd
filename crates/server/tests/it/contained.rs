//! Panics: one group stands still, or begins anew, and no other one notices.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{GroupConfig, encode};
use kafka_assigner_core::state::GroupState;
use kafka_assigner_proto::v1::{ExplainRequest, RegisterRequest};
use kafka_assigner_server::{AdminService, Options, WallClock};
use kafka_assigner_strategies::{Placement, Problem, Registry, Strategy};
use kafka_assigner_types::moment::WallMillis;
use tokio::time::{Instant, sleep};

use crate::cluster::{Cluster, GROUP};
use crate::member::full;
use crate::worker::Worker;

/// A strategy of a user that panics.
#[derive(Debug)]
struct PanickingStrategy;

impl Strategy for PanickingStrategy {
    fn name(&self) -> &'static str {
        "panicking"
    }

    fn summary(&self) -> &'static str {
        "panics"
    }

    fn assign(&self, problem: &Problem) -> Placement {
        panic!("{} units are too many", problem.units());
    }
}

fn with_panicking(options: &mut Options) {
    options.strategies = Registry::builtin().with(&PanickingStrategy);
}

async fn choose(cluster: &Cluster, strategy: &str) {
    let config = GroupConfig { strategy: strategy.to_owned(), ..GroupConfig::default() };
    cluster.put(&Key::GroupConfig, encode(&config)).await;
}

async fn worker(cluster: &Cluster, group: &str, name: &str) -> Worker {
    let request = RegisterRequest { group: group.to_owned(), ..full(name, &format!("{name}-1")) };
    Worker::with(&cluster.nodes, request, Duration::ZERO).await
}

/// The instances whose metrics have `line`.
fn showing(cluster: &Cluster, line: &str) -> usize {
    cluster.nodes.iter().filter(|node| node.metrics().lines().any(|shown| shown == line)).count()
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let since = Instant::now();
    while !holds() {
        sleep(Duration::from_millis(50)).await;
        assert!(since.elapsed() < Duration::from_secs(60), "never came: {what}");
    }
}

async fn explained(cluster: &Cluster) -> String {
    let admin = AdminService::new(cluster.nodes[0].instance.clone());
    let request = ExplainRequest { group: GROUP.to_owned(), topic: "t".to_owned(), partition: 0 };
    admin.explain(request).await.expect("it answers").reasons.join("\n")
}

fn owned(state: &GroupState) -> Vec<String> {
    let owner = |at| Some(state.assignment(at)?.owner.as_ref()?.name.to_string());
    state.assignments().keys().filter_map(owner).collect()
}

#[tokio::test(start_paused = true)]
async fn a_strategy_that_panics_stops_its_group_and_no_other() {
    let cluster = Cluster::tuned(3, 4, with_panicking).await;
    cluster.topic_of("other", "t", 4).await;
    let _first = worker(&cluster, GROUP, "a").await;
    let before = cluster.settled(1).await;
    choose(&cluster, "panicking").await;
    let _second = worker(&cluster, GROUP, "b").await;
    let unplanned = "unplanned{group=\"g\",reason=\"panicked\"} 1";
    until("it is shown", || showing(&cluster, unplanned) == 1).await;
    sleep(Duration::from_secs(120)).await;
    assert_eq!(showing(&cluster, unplanned), 1, "one leader says so");
    assert_eq!(showing(&cluster, "leader{group=\"g\"} 1"), 1, "it has a leader");
    assert_eq!(cluster.group().await.read(owned), ["a"; 4], "{before:?} stays");
    let why = explained(&cluster).await;
    assert!(why.contains("the strategy \"panicking\" panicked: 4 units are too many"), "{why}");

    let others = [worker(&cluster, "other", "c").await, worker(&cluster, "other", "d").await];
    until("the other group is shared", || others.iter().all(|w| w.roles().assigned.len() == 2)).await;

    choose(&cluster, Registry::DEFAULT).await;
    cluster.settled(2).await;
    until("it is not shown any more", || showing(&cluster, unplanned) == 0).await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_panicked_begins_anew_and_no_stream_ends() {
    let panics = Arc::new(AtomicBool::new(false));
    let cluster = Cluster::tuned(1, 4, |options| {
        let panics = Arc::clone(&panics);
        options.wall = WallClock::new(move || {
            assert!(!panics.swap(false, Ordering::SeqCst), "the clock is broken");
            WallMillis(0)
        });
    })
    .await;
    let worker = worker(&cluster, GROUP, "a").await;
    cluster.settled(1).await;
    let before = worker.roles().assigned;
    let group = cluster.group().await;
    panics.store(true, Ordering::SeqCst);
    until("the clock was asked", || !panics.load(Ordering::SeqCst)).await;
    until("it is counted", || showing(&cluster, "group_restarts_total{group=\"g\"} 1") == 1).await;
    assert_eq!(showing(&cluster, "leader{group=\"g\"} 1"), 0, "the gauge tells the truth");
    assert!(
        !group.view().health().stopped && cluster.nodes[0].instance.streams() == 1,
        "its members do not notice"
    );
    cluster.topic("other", 2).await;
    until("what is new is granted", || worker.roles().assigned.len() == 6).await;
    let after = worker.roles();
    assert!(
        before.iter().all(|(at, role)| after.assigned.get(at) == Some(role)),
        "nothing was lost: {after:?}"
    );
    assert!(after.fenced.is_none());
    cluster.stop().await;
}
