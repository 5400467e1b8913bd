//! Consumers that are replaced, and that join while others warm up.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{Assignment, decode};
use kafka_assigner_core::state::GroupState;
use kafka_assigner_proto::v1::RegisterRequest;
use kafka_assigner_store::{Store as _, Watch};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::kv::Change;
use tokio::time::{sleep, timeout};

use crate::cluster::{self, Cluster, is_settled, layout};
use crate::member::full;
use crate::worker::Worker;

/// The owners of each partition, one after the other.
type Owners = BTreeMap<TopicPartition, Vec<String>>;

async fn watch(cluster: &Cluster) -> Watch {
    cluster.memory.watch(&layout().prefix(), cluster.revision().await).await.expect("memory watches")
}

/// Everything that the watch has seen up to now.
async fn owners(cluster: &Cluster, mut watch: Watch) -> Owners {
    let (end, mut owners, mut seen) = (cluster.revision().await, Owners::new(), Default::default());
    while seen < end {
        let batch = watch.next().await.expect("it goes on").expect("no compaction");
        seen = batch.revision;
        for change in batch.changes {
            let Change::Put(record) = change else { continue };
            let Some(Key::Assignment(at)) = layout().decode(&record.key) else { continue };
            let assignment: Assignment = decode(&record.value).expect("readable");
            let Some(owner) = assignment.owner.map(|owner| owner.name.to_string()) else { continue };
            let owners = owners.entry(at).or_default();
            if owners.last() != Some(&owner) {
                owners.push(owner);
            }
        }
    }
    owners
}

fn of_generation(name: &str, generation: &str) -> RegisterRequest {
    RegisterRequest { generation: generation.to_owned(), ..full(name, &format!("{name}-1")) }
}

// P9.
#[tokio::test(start_paused = true)]
async fn a_rolling_deployment_ends_with_the_new_generation_and_moves_each_partition_once() {
    let cluster = Cluster::start(2, 12).await;
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for n in 0..3 {
        let request = of_generation(&format!("old{n}"), "1");
        old.push(Worker::with(&cluster.nodes, request, Duration::from_millis(300)).await);
    }
    cluster.settled(3).await;
    let watch = watch(&cluster).await;
    for n in 0..3 {
        let request = of_generation(&format!("new{n}"), "2");
        new.push(Worker::with(&cluster.nodes, request, Duration::from_millis(300)).await);
        sleep(Duration::from_secs(2)).await;
        let leaving = old.remove(0);
        leaving.leave();
        cluster.until("it has left", |state| !state.consumers().contains_key(leaving.name.as_str())).await;
    }
    let shares = cluster.settled(3).await;
    assert!(shares.iter().all(|(name, count)| name.starts_with("new") && *count == 4), "{shares:?}");
    let moved = owners(&cluster, watch).await;
    assert_eq!(moved.len(), 12);
    // The record is rewritten under its first owner when that one drains.
    let is_one_move =
        |owners: &Vec<String>| owners.iter().filter(|name| name.starts_with("new")).count() == 1;
    assert!(moved.values().all(is_one_move), "moved more than once: {moved:?}");
    cluster.stop().await;
}

// P11: the warm-ups are longer than the debounce, and the joins are further apart than it.
#[tokio::test(start_paused = true)]
async fn joins_during_warm_ups_converge() {
    let cluster = Cluster::start(1, 12).await;
    let mut workers = Vec::new();
    for n in 0..4 {
        let name = format!("c{n}");
        let request = full(&name, &format!("{name}-1"));
        workers.push(Worker::with(&cluster.nodes, request, Duration::from_millis(300)).await);
        sleep(Duration::from_millis(150)).await;
    }
    let is_even = |state: &GroupState| {
        let shares = cluster::owners(state);
        is_settled(state) && shares.len() == 4 && shares.values().all(|count| *count == 3)
    };
    timeout(Duration::from_secs(30), cluster.until("all have three", is_even)).await.expect("in time");
    cluster.stop().await;
}
