//! Grants that their owners have not begun: what heartbeats tell of them, what is shown, and how they move.

use std::time::Duration;

use kafka_assigner_core::begun::{GrantStage, grant_stage};
use kafka_assigner_core::record::UnbegunGrant;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_core::test_group::tp;
use kafka_assigner_proto::v1::{
    Capability, HeartbeatRequest, StreamState, UnbegunPartition, UnbegunPartitions, UnbegunReason,
    UncommittedPartition, UncommittedPartitions,
};
use kafka_assigner_server::AdminService;
use kafka_assigner_types::id::TopicPartition;

use crate::cluster::{Cluster, Node, shown_of_one};
use crate::member::{Member, full};
use crate::worker::Worker;

fn at() -> TopicPartition {
    tp("t", 0)
}

/// A consumer that tells what it has not begun, and owns something by now.
async fn owner(node: &Node, name: &str) -> Member {
    let mut request = full(name, &format!("{name}-1"));
    request.capabilities.push(Capability::Begun.into());
    let mut member = Member::register(node, request).await.expect("it registers");
    member.until("its partition", |roles| !roles.assigned.is_empty()).await;
    told_by_now(&mut member);
    member
}

/// From now on its heartbeats say that its stream has told all that the member has read of it.
fn told_by_now(member: &mut Member) {
    member.stream = Some(StreamState { revision: member.roles.revision, digest: None });
}

fn waits(member: &Member, reason: UnbegunReason) -> UnbegunPartition {
    let granted = member.roles.assigned.values().next().expect("it owns it");
    UnbegunPartition {
        topic: granted.topic.clone(),
        partition: granted.partition,
        epoch: granted.epoch,
        reason: reason.into(),
        message: "no disk".to_owned(),
        ..UnbegunPartition::default()
    }
}

fn stage(state: &GroupState) -> Option<String> {
    Some(match grant_stage(state, &at())? {
        GrantStage::Granted => "granted".to_owned(),
        GrantStage::Begun => "begun".to_owned(),
        GrantStage::NotBegun(grant) => grant.to_string(),
    })
}

#[tokio::test(start_paused = true)]
async fn a_grant_is_shown_as_such_until_its_owner_says_what_becomes_of_it() {
    let cluster = Cluster::start(2, 1).await;
    let a = owner(&cluster.nodes[0], "a").await;
    let admin = AdminService::new(cluster.nodes[1].instance.clone());
    let shown = async || {
        let (assignment, consumer, reasons) = shown_of_one(&admin).await;
        (assignment.stage, assignment.stage_message, consumer.not_begun, reasons)
    };
    cluster.until("it is granted", |state| stage(state).as_deref() == Some("granted")).await;
    let (stage_word, _, not_begun, reasons) = shown().await;
    assert_eq!((&*stage_word, not_begun), ("granted", 1));
    assert!(reasons.contains("a has not said yet that it has begun"), "{reasons}");
    a.unbegun(vec![waits(&a, UnbegunReason::Failing)]).await;
    cluster.until("it says why", |state| stage(state).is_some_and(|stage| stage.contains("no disk"))).await;
    let (stage_word, message, not_begun, reasons) = shown().await;
    assert_eq!((&*stage_word, &*message, not_begun), ("failing", "no disk", 1));
    assert!(reasons.contains("a has not begun it: it failed and is tried again: no disk."), "{reasons}");
    a.unbegun(Vec::new()).await;
    cluster.until("it has begun", |state| stage(state).as_deref() == Some("begun")).await;
    let (stage_word, message, not_begun, _) = shown().await;
    assert_eq!((&*stage_word, &*message, not_begun), ("begun", "", 0));
    let written = cluster.revision().await;
    a.unbegun(Vec::new()).await;
    assert_eq!(cluster.revision().await, written, "at rest nothing is written");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_report_says_nothing_of_grants_that_its_stream_had_not_told() {
    let cluster = Cluster::start(1, 1).await;
    let mut a = owner(&cluster.nodes[0], "a").await;
    a.stream = Some(StreamState { revision: 1, digest: None });
    a.unbegun(Vec::new()).await;
    a.stream = None;
    a.unbegun(Vec::new()).await;
    assert_eq!(cluster.group().await.read(stage).as_deref(), Some("granted"));
    told_by_now(&mut a);
    a.unbegun(Vec::new()).await;
    cluster.until("it has begun", |state| stage(state).as_deref() == Some("begun")).await;
    a.stream = None;
    a.unbegun(Vec::new()).await;
    assert_eq!(
        cluster.group().await.read(stage).as_deref(),
        Some("begun"),
        "a stream that breaks takes nothing back"
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_client_makes_up_of_its_grants_comes_into_no_record() {
    let cluster = Cluster::start(1, 1).await;
    let a = owner(&cluster.nodes[0], "a").await;
    a.unbegun(Vec::new()).await;
    cluster.until("it has begun", |state| stage(state).as_deref() == Some("begun")).await;
    let written = cluster.revision().await;
    let real = waits(&a, UnbegunReason::Place);
    let made_up = vec![
        UnbegunPartition { topic: "x".repeat(300), ..real.clone() },
        UnbegunPartition { partition: -1, ..real.clone() },
        UnbegunPartition { partition: 7, ..real.clone() },
        UnbegunPartition { epoch: real.epoch + 1, ..real.clone() },
    ];
    a.unbegun(made_up).await;
    assert_eq!(cluster.revision().await, written);
    tokio::time::sleep(Duration::from_secs(10)).await;
    a.unbegun(vec![UnbegunPartition { message: "x".repeat(100_000), reason: 99, ..real }]).await;
    let kept = |state: &GroupState| match grant_stage(state, &at()) {
        Some(GrantStage::NotBegun(grant)) => Some((grant.message.len(), grant.why.label())),
        _ => None,
    };
    cluster.until("in few words", |state| kept(state) == Some((UnbegunGrant::MOST_MESSAGE, "other"))).await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_its_owner_never_begins_moves_to_another_consumer() {
    let cluster = Cluster::start(2, 1).await;
    let a = owner(&cluster.nodes[0], "a").await;
    let b = Worker::start(&cluster.nodes, "b").await;
    let has =
        |state: &GroupState, name: &str| state.owner(&at()).is_some_and(|owner| owner.name.as_str() == name);
    for _ in 0..29 {
        a.unbegun(vec![waits(&a, UnbegunReason::Failing)]).await;
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    assert!(cluster.group().await.read(|state| has(state, "a")), "it has its five minutes");
    for _ in 0..2 {
        a.unbegun(vec![waits(&a, UnbegunReason::Failing)]).await;
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    cluster.until("b has it", |state| has(state, "b")).await;
    drop(b);
    cluster.stop().await;
}

/// The owner tells that its stream has told it everything, that it has begun everything, and what it has not committed.
async fn tell_commits(cluster: &Cluster, owner: &mut Member, uncommitted: Option<&[&str]>) {
    let digest = cluster.group().await.read(|state| {
        let member = state.owner(&at()).expect("it owns it");
        state.concern(&member).and_then(|concern| concern.digest)
    });
    let digest = digest.map(|digest| digest.0);
    owner.stream = Some(StreamState { revision: owner.roles.revision, digest });
    let named = |topic: &&str| UncommittedPartition { topic: (*topic).to_owned(), partition: 0 };
    let uncommitted = uncommitted.map(|topics| topics.iter().map(named).collect());
    let report = HeartbeatRequest {
        unbegun: Some(UnbegunPartitions::default()),
        uncommitted: uncommitted.map(|partitions| UncommittedPartitions { partitions }),
        ..HeartbeatRequest::default()
    };
    owner.report(report).await.expect("an answer");
    cluster.until("it has begun", |state| stage(state).as_deref() == Some("begun")).await;
}

/// True if the next owner is told of a commit, after one that has told this of its own and is heard of no more.
async fn told_after(uncommitted: Option<&[&str]>) -> bool {
    let cluster = Cluster::start(1, 1).await;
    let mut a = owner(&cluster.nodes[0], "a").await;
    assert!(a.roles.assigned.values().all(|granted| !granted.was_committed), "nobody had it before");
    tell_commits(&cluster, &mut a, uncommitted).await;
    drop(a);
    cluster.until("its session is over", |state| state.consumers().is_empty()).await;
    let b = owner(&cluster.nodes[0], "b").await;
    let was_committed = b.roles.assigned.values().all(|granted| granted.was_committed);
    drop(b);
    cluster.stop().await;
    was_committed
}

#[tokio::test(start_paused = true)]
async fn the_next_owner_is_told_of_a_commit_that_was_acknowledged() {
    assert!(told_after(Some(&[])).await);
}

#[tokio::test(start_paused = true)]
async fn the_next_owner_is_told_of_no_commit_that_is_not_certain() {
    assert!(!told_after(Some(&["t"])).await, "it has committed nothing");
    assert!(!told_after(None).await, "it does not tell");
    let too_many: Vec<&str> = std::iter::repeat_n("u", 101).collect();
    assert!(!told_after(Some(&too_many)).await, "of those that it names too many, any may be meant");
    assert!(!told_after(Some(&["no name"])).await, "it can't be read");
}
