//! Partitions that stand before a record, and members of no use: what heartbeats tell of them, and what operators command.

use kafka_assigner_core::record::Stop;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_core::stops::standing;
use kafka_assigner_core::test_group::tp;
use kafka_assigner_proto::v1::{
    EndConsumerRequest, FenceReason, HeartbeatOutcome, ResumePartitionRequest, StoppedPartition,
};
use kafka_assigner_proto::{Reason, ReasonExt as _};
use kafka_assigner_server::AdminService;
use kafka_assigner_types::id::TopicPartition;

use crate::cluster::Cluster;
use crate::member::Member;
use crate::worker::Worker;

fn at() -> TopicPartition {
    tp("t", 0)
}

fn offset(state: &GroupState) -> Option<i64> {
    standing(state, &at()).map(|stop| stop.offset.get())
}

/// The report of `member` that its one partition stands.
fn stands(member: &Member, offset: i64) -> StoppedPartition {
    let granted = member.roles.assigned.values().next().expect("it owns it");
    let (topic, partition, epoch) = (granted.topic.clone(), granted.partition, granted.epoch);
    StoppedPartition { topic, partition, offset, reason: "no amount".to_owned(), epoch, is_of_drain: false }
}

/// A consumer that owns the one partition.
async fn owner(cluster: &Cluster, name: &str) -> Member {
    let mut member = Member::join(&cluster.nodes[0], name).await;
    member.until("its partition", |roles| roles.assigned.len() == 1).await;
    member
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_says_which_partitions_stand_and_which_go_on() {
    let cluster = Cluster::start(1, 1).await;
    let a = owner(&cluster, "a").await;
    assert_eq!(a.stopped(vec![stands(&a, 5)]).await.outcome(), HeartbeatOutcome::Confirmed);
    cluster.until("it stands", |state| offset(state) == Some(5)).await;
    let written = cluster.revision().await;
    a.stopped(vec![stands(&a, 5)]).await;
    assert_eq!(cluster.revision().await, written, "a repeated report writes nothing");
    a.stopped(vec![stands(&a, 6)]).await;
    cluster.until("it stands before another one", |state| offset(state) == Some(6)).await;
    a.heartbeat().await;
    cluster.until("it goes on", |state| offset(state).is_none()).await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_client_makes_up_of_stopped_partitions_comes_into_no_record() {
    let cluster = Cluster::start(1, 1).await;
    let a = owner(&cluster, "a").await;
    let written = cluster.revision().await;
    let real = stands(&a, 5);
    let made_up = vec![
        StoppedPartition { topic: "x".repeat(300), ..real.clone() },
        StoppedPartition { partition: -1, ..real.clone() },
        StoppedPartition { partition: 7, ..real.clone() },
        StoppedPartition { offset: -1, ..real.clone() },
        StoppedPartition { epoch: real.epoch + 1, ..real.clone() },
    ];
    a.stopped(made_up).await;
    assert_eq!(cluster.revision().await, written);
    a.stopped(vec![StoppedPartition { reason: "x".repeat(100_000), ..real }]).await;
    cluster.until("it stands", |state| offset(state) == Some(5)).await;
    let reason = |state: &GroupState| standing(state, &at()).map(|stop| stop.reason.len());
    cluster.until("in few words", |state| reason(state) == Some(Stop::MOST_REASON)).await;
    let written = cluster.revision().await;
    a.stopped(vec![StoppedPartition { offset: -1, ..stands(&a, 5) }]).await;
    assert_eq!(cluster.revision().await, written, "what can't be read does not say that anything goes on");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_partition_at_which_two_consumers_stopped_goes_to_nobody() {
    let cluster = Cluster::start(1, 1).await;
    let a = owner(&cluster, "a").await;
    a.stopped(vec![stands(&a, 5)]).await;
    cluster.until("it stands", |state| offset(state) == Some(5)).await;
    cluster.revoke(a.roles.lease).await;
    let b = owner(&cluster, "b").await;
    b.stopped(vec![stands(&b, 5)]).await;
    let is_last = |state: &GroupState| standing(state, &at()).is_some_and(Stop::is_last);
    cluster.until("nobody is granted it", is_last).await;
    cluster.stop().await;
}

fn resume(skip: bool) -> ResumePartitionRequest {
    let (group, topic, reason) = ("g".to_owned(), "t".to_owned(), "tested".to_owned());
    ResumePartitionRequest { group, topic, partition: 0, skip, reason }
}

#[tokio::test(start_paused = true)]
async fn an_operator_lets_the_owner_pass_the_record_over() {
    let cluster = Cluster::start(2, 1).await;
    let mut a = owner(&cluster, "a").await;
    let admin = AdminService::new(cluster.nodes[1].instance.clone());
    let refused = admin.resume_partition(resume(false)).await.unwrap_err();
    assert_eq!(refused.reason(), Some(Reason::PartitionNotStopped), "{refused}");
    let unknown = ResumePartitionRequest { partition: 9, ..resume(false) };
    let refused = admin.resume_partition(unknown).await.unwrap_err();
    assert_eq!(refused.reason(), Some(Reason::PartitionNotFound), "{refused}");
    a.stopped(vec![StoppedPartition { epoch: 0, ..stands(&a, 5) }]).await;
    cluster.until("its state can't be built", |state| offset(state) == Some(5)).await;
    let refused = admin.resume_partition(resume(true)).await.unwrap_err();
    assert_eq!(refused.reason(), Some(Reason::StateNotBuilt), "{refused}");
    a.stopped(vec![stands(&a, 6)]).await;
    cluster.until("it stands", |state| offset(state) == Some(6)).await;
    let stopped = admin.resume_partition(resume(true)).await.unwrap().stopped.expect("it stood");
    assert_eq!((stopped.offset, &*stopped.reason, &*stopped.consumer), (6, "no amount", "a"));
    let granted = stands(&a, 6).epoch;
    a.until("it is told", |roles| {
        roles.assigned.values().all(|role| role.epoch > granted && role.skip_offset == Some(6))
    })
    .await;
    let run = a.roles.assigned.values().next().expect("it owns it").run;
    assert_eq!(run, granted, "it keeps its state");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_operator_ends_a_consumer_and_its_partitions_go_to_others() {
    let cluster = Cluster::start(2, 1).await;
    let mut a = owner(&cluster, "a").await;
    let b = Worker::start(&cluster.nodes, "b").await;
    let admin = AdminService::new(cluster.nodes[1].instance.clone());
    let end = |consumer: &str, incarnation: &str| EndConsumerRequest {
        group: "g".to_owned(),
        consumer: consumer.to_owned(),
        incarnation: incarnation.to_owned(),
        reason: "its disk is full".to_owned(),
    };
    for unknown in [end("c", ""), end("a", "a-0")] {
        let refused = admin.end_consumer(unknown).await.unwrap_err();
        assert_eq!(refused.reason(), Some(Reason::ConsumerNotFound), "{refused}");
    }
    assert_eq!(admin.end_consumer(end("a", "")).await.unwrap().incarnation, "a-1");
    assert_eq!(admin.end_consumer(end("a", "a-1")).await.unwrap().incarnation, "a-1", "a repeated call");
    assert_eq!(a.heartbeat().await.outcome(), HeartbeatOutcome::Fenced);
    assert_eq!(a.ended().await.expect("it is told").reason(), FenceReason::Ended);
    cluster
        .until("b has it", |state| state.owner(&at()).is_some_and(|owner| owner.name.as_str() == "b"))
        .await;
    drop(b);
    cluster.stop().await;
}
