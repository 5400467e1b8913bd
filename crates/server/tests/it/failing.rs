//! Partitions whose next record fails for long: what heartbeats tell of them, and what is shown.

use std::time::Duration;

use kafka_assigner_core::failing::{self, WRITE_INTERVAL, failure};
use kafka_assigner_core::record::RecordFailure;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_core::test_group::tp;
use kafka_assigner_proto::v1::{FailingPartition, FailingPartitions, FailingRecord, HeartbeatRequest};
use kafka_assigner_server::AdminService;
use kafka_assigner_types::id::TopicPartition;
use tokio::time::sleep;

use crate::cluster::{Cluster, shown_of_one};
use crate::member::Member;

fn at() -> TopicPartition {
    tp("t", 0)
}

fn offset(state: &GroupState) -> Option<i64> {
    failure(state, &at()).map(|failure| failure.offset.get())
}

/// The report of `member` that the next record of its one partition fails.
fn fails(member: &Member, offset: i64) -> FailingPartition {
    let granted = member.roles.assigned.values().next().expect("it owns it");
    let (topic, partition, epoch) = (granted.topic.clone(), granted.partition, granted.epoch);
    FailingPartition { topic, partition, epoch, offset, reason: "no disk".to_owned(), since_unix_ms: 7 }
}

/// A consumer that owns the one partition.
async fn owner(cluster: &Cluster, name: &str) -> Member {
    let mut member = Member::join(&cluster.nodes[0], name).await;
    member.until("its partition", |roles| roles.assigned.len() == 1).await;
    member
}

#[tokio::test(start_paused = true)]
async fn a_partition_whose_record_fails_is_shown_by_every_instance_until_it_is_handled() {
    let cluster = Cluster::start(2, 1).await;
    let a = owner(&cluster, "a").await;
    let admin = AdminService::new(cluster.nodes[1].instance.clone());
    let shown = async || {
        let (assignment, consumer, reasons) = shown_of_one(&admin).await;
        assert_eq!((assignment.stopped, consumer.stopped), (None, 0), "it does not stand");
        (assignment.failing, consumer.failing, reasons)
    };
    a.failing(vec![fails(&a, 5)]).await;
    cluster.until("it is told", |state| offset(state) == Some(5)).await;
    let (failing, count, reasons) = shown().await;
    // The clock of these instances stands at 0, and what lies ahead of it counts as now.
    let record = FailingRecord { offset: 5, reason: "no disk".to_owned(), since_unix_ms: 0 };
    assert_eq!((failing, count), (Some(record), 1));
    assert!(reasons.contains("At a, the record at offset 5 fails and is tried again: no disk."), "{reasons}");
    sleep(WRITE_INTERVAL).await;
    a.failing(Vec::new()).await;
    cluster.until("it was handled", |state| offset(state).is_none()).await;
    let (failing, count, reasons) = shown().await;
    assert_eq!((failing, count), (None, 0));
    assert!(!reasons.contains("fails"), "{reasons}");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_fails_is_written_when_it_changes_and_at_a_limited_rate() {
    let cluster = Cluster::start(1, 1).await;
    let a = owner(&cluster, "a").await;
    a.failing(Vec::new()).await;
    a.failing(vec![fails(&a, 5)]).await;
    cluster.until("it is told", |state| offset(state) == Some(5)).await;
    let written = cluster.revision().await;
    let error = FailingPartition { reason: "no route".to_owned(), ..fails(&a, 5) };
    a.failing(vec![fails(&a, 6)]).await;
    a.failing(Vec::new()).await;
    assert_eq!(cluster.revision().await, written, "not so soon after the last one");
    sleep(WRITE_INTERVAL).await;
    a.failing(vec![error]).await;
    a.heartbeat().await;
    assert_eq!(
        cluster.revision().await,
        written,
        "neither another error nor a client that does not tell is news"
    );
    a.failing(vec![fails(&a, 6)]).await;
    cluster.until("the next one fails", |state| offset(state) == Some(6)).await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_client_makes_up_of_records_that_fail_comes_into_no_record() {
    let cluster = Cluster::start(1, 1).await;
    let a = owner(&cluster, "a").await;
    let written = cluster.revision().await;
    let real = fails(&a, 5);
    let made_up = vec![
        FailingPartition { topic: "x".repeat(300), ..real.clone() },
        FailingPartition { partition: -1, ..real.clone() },
        FailingPartition { partition: 7, ..real.clone() },
        FailingPartition { offset: -1, ..real.clone() },
        FailingPartition { epoch: real.epoch + 1, ..real.clone() },
    ];
    a.failing(made_up).await;
    assert_eq!(cluster.revision().await, written);
    let reason = format!("\n{}", "x".repeat(1_000));
    let failing = FailingPartitions {
        partitions: vec![FailingPartition { reason, since_unix_ms: i64::MAX, ..real }; 5_000],
        unnamed: u32::MAX,
    };
    let report = HeartbeatRequest { failing: Some(failing), ..HeartbeatRequest::default() };
    a.report(report).await.expect("an answer");
    cluster.until("it is told", |state| offset(state) == Some(5)).await;
    let kept = |state: &GroupState| {
        let failure = failure(state, &at()).expect("it is told");
        let owner = state.owner(&at()).expect("it has an owner");
        (failure.reason.clone(), failure.since.0, failing::count(state, &owner))
    };
    let (reason, since, count) = cluster.group().await.read(kept);
    assert_eq!(
        (reason.len(), count),
        (RecordFailure::MOST_REASON, 1),
        "nobody has more that fail than it owns"
    );
    assert!(reason.starts_with(" x"), "in one line: {reason:?}");
    assert_eq!(since, 0, "no time that is still to come");
    cluster.stop().await;
}

/// An owner whose record fails for hours keeps its partition and its session.
#[tokio::test(start_paused = true)]
async fn nothing_is_taken_from_who_says_that_a_record_fails() {
    let cluster = Cluster::start(1, 1).await;
    let a = owner(&cluster, "a").await;
    let owns = |state: &GroupState| {
        state.assignment(&at()).map(|it| (it.owner.clone().map(|owner| owner.name), it.held_epoch()))
    };
    let before = cluster.group().await.read(owns);
    let b = Member::join(&cluster.nodes[0], "b").await;
    for _ in 0..90 {
        a.failing(vec![fails(&a, 5)]).await;
        b.heartbeat().await;
        sleep(Duration::from_secs(10)).await;
    }
    assert_eq!(cluster.group().await.read(owns), before);
    cluster.stop().await;
}
