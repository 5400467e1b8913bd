//! Groups that are deleted while somebody acts, or writes into them.

use std::time::Duration;

use kafka_assigner_core::key::{ClusterLayout, DEFAULT_PREFIX, Key};
use kafka_assigner_proto::v1::{
    self, DeleteGroupRequest, DeleteGroupResponse, HeartbeatOutcome, SetGroupConfigRequest, SetTopicRequest,
};
use kafka_assigner_proto::{Reason, ReasonExt as _};
use kafka_assigner_server::AdminService;
use kafka_assigner_store::Store as _;
use kafka_assigner_types::claim::LONGEST_OUTAGE_GRACE;
use kafka_assigner_types::kv::Op;
use tokio::time::{Instant, sleep, timeout};
use tonic::{Code, Status};

use crate::cluster::{Cluster, GROUP, Node, group, layout};
use crate::exclusive::exclusive;
use crate::member::{Member, full};

async fn delete(node: &Node) -> Result<DeleteGroupResponse, Status> {
    delete_after(node, false).await
}

/// Deletes the group, with or without the word that its owners have stopped.
async fn delete_after(node: &Node, owners_stopped: bool) -> Result<DeleteGroupResponse, Status> {
    let request = DeleteGroupRequest { group: GROUP.to_owned(), owners_stopped };
    AdminService::new(node.instance.clone()).delete_group(request).await
}

/// A strict group whose name another one had that was deleted, and a consumer of it. Of the former one, a consumer may
/// work on that reaches no instance.
async fn strict_after_a_deletion(owners_stopped: bool) -> (Cluster, Member) {
    let cluster = Cluster::start(1, 2).await;
    let mut member = Member::join(&cluster.nodes[0], "a").await;
    member.until("both", |roles| roles.assigned.len() == 2).await;
    cluster.revoke(member.roles.lease).await;
    cluster.until("it is gone", |state| state.consumers().is_empty()).await;
    delete_after(&cluster.nodes[0], owners_stopped).await.expect("it is deleted");
    let config = Some(v1::GroupConfig { mode: Some("exclusive".to_owned()), ..v1::GroupConfig::default() });
    let request = SetGroupConfigRequest { group: GROUP.to_owned(), config, owners_stopped: false };
    let admin = AdminService::new(cluster.nodes[0].instance.clone());
    admin.set_group_config(request).await.expect("it is created");
    cluster.topic("t", 2).await;
    let anew = Member::join(&cluster.nodes[0], "b").await;
    (cluster, anew)
}

/// True if a tombstone of the group is stored.
async fn has_tombstone(cluster: &Cluster) -> bool {
    let gone = ClusterLayout::new(DEFAULT_PREFIX).gone(&group());
    cluster.memory.get(&gone).await.expect("memory answers").0.is_some()
}

/// A cluster whose first instance still shows a group that the second has deleted.
async fn deleted_behind_the_first() -> Cluster {
    let cluster = Cluster::start(2, 2).await;
    let mut member = Member::join(&cluster.nodes[0], "a").await;
    member.until("both", |roles| roles.assigned.len() == 2).await;
    cluster.revoke(member.roles.lease).await;
    cluster.until("it is gone", |state| state.consumers().is_empty()).await;
    cluster.nodes[0].link.hold_watches();
    delete(&cluster.nodes[1]).await.expect("it is deleted");
    cluster
}

/// The records of the group that stay; an instance that does not know of its end may campaign for it.
async fn records(cluster: &Cluster) -> usize {
    let leader = layout().encode(&Key::Leader);
    let records = cluster.memory.range(&layout().prefix()).await.expect("memory answers").records;
    records.iter().filter(|record| record.key != leader).count()
}

/// Registers as clients do, until the instance knows that the group is another one.
async fn come_again(node: &Node) -> Member {
    for attempt in 2..20 {
        match Member::register(node, full("b", &format!("b-{attempt}"))).await {
            Ok(member) => return member,
            Err(refused) => assert_eq!(refused.reason(), Some(Reason::LostRace), "{refused:?}"),
        }
        sleep(Duration::from_millis(100)).await;
    }
    panic!("it is never taken");
}

#[tokio::test(start_paused = true)]
async fn who_registers_in_a_group_that_was_deleted_meanwhile_comes_again() {
    let cluster = deleted_behind_the_first().await;
    let refused = Member::register(&cluster.nodes[0], full("b", "b-1")).await.err().expect("it is refused");
    assert_eq!(refused.reason(), Some(Reason::LostRace), "{refused:?}");
    assert!(refused.message().contains("the group was deleted"), "{refused:?}");
    assert_eq!(records(&cluster).await, 0, "nothing is left of the group");
    cluster.nodes[0].link.release_watches();
    cluster.topic("t", 2).await;
    let mut again = come_again(&cluster.nodes[0]).await;
    again.until("both", |roles| roles.assigned.len() == 2).await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_topic_is_not_set_in_a_group_that_was_deleted_meanwhile() {
    let cluster = deleted_behind_the_first().await;
    let admin = AdminService::new(cluster.nodes[0].instance.clone());
    let topic = Some(v1::Topic { topic: "t2".to_owned(), partitions: 2, ..v1::Topic::default() });
    let refused = admin.set_topic(SetTopicRequest { group: GROUP.to_owned(), topic }).await;
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(records(&cluster).await, 0);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_does_not_bring_its_deleted_group_back() {
    let cluster = Cluster::start(1, 2).await;
    let member = Member::join(&cluster.nodes[0], "a").await;
    let of_the_group = layout().prefix();
    let entry = ClusterLayout::new(DEFAULT_PREFIX).group(&group());
    cluster.apply(vec![Op::DeletePrefix { prefix: of_the_group }, Op::delete(entry)]).await;
    let name = group();
    while cluster.nodes[0].instance.group(&name).await.is_ok() {
        sleep(Duration::from_millis(10)).await;
    }
    let refused = member.resume(&cluster.nodes[0]).await.err().expect("it is refused");
    assert_eq!((refused.code(), records(&cluster).await), (Code::NotFound, 0), "{refused:?}");
    cluster.stop().await;
}

/// Until the claims of the group of its name that was deleted are over, a new one grants nothing strictly.
#[tokio::test(start_paused = true)]
async fn a_strict_group_waits_for_the_claims_of_one_of_its_name_that_was_deleted() {
    let (cluster, mut anew) = strict_after_a_deletion(false).await;
    assert!(has_tombstone(&cluster).await);
    let since = Instant::now();
    while anew.roles.assigned.len() < 2 {
        assert_eq!(anew.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
        let _told = timeout(Duration::from_secs(5), anew.more()).await;
    }
    // Its leader began to wait before the consumer was there.
    let waited = since.elapsed() + Duration::from_secs(1);
    assert!(waited >= LONGEST_OUTAGE_GRACE, "granted after {waited:?}");
    assert!(!has_tombstone(&cluster).await, "its leader removes it");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_owners_that_have_stopped_by_an_operators_word() {
    let (cluster, mut anew) = strict_after_a_deletion(true).await;
    let since = Instant::now();
    anew.until("both", |roles| roles.assigned.len() == 2).await;
    assert!(since.elapsed() < Duration::from_secs(30), "granted after {:?}", since.elapsed());
    assert!(!has_tombstone(&cluster).await);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_group_is_not_deleted_while_an_owner_may_act() {
    let cluster = Cluster::tuned(1, 2, exclusive).await;
    let mut member = Member::join(&cluster.nodes[0], "a").await;
    member.until("both", |roles| roles.assigned.len() == 2).await;
    cluster.apply(vec![Op::delete(layout().encode(&Key::Consumer("a".parse().unwrap())))]).await;
    let refused = delete(&cluster.nodes[0]).await.unwrap_err();
    assert_eq!(refused.reason(), Some(Reason::GroupInUse), "{refused:?}");
    assert!(refused.message().contains("may still act"), "{refused:?}");
    cluster.revoke(member.roles.lease).await;
    assert!(delete(&cluster.nodes[0]).await.is_ok());
    cluster.stop().await;
}
