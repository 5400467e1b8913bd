//! Wrong input from callers.

use kafka_assigner_proto::v1::{
    Capability, DrainPartition, DrainedPartition, HandledRecord, HeartbeatRequest, PartitionAck,
    RegisterRequest, Renewal,
};
use kafka_assigner_proto::{Reason, ReasonExt as _};
use tonic::Code;

use crate::cluster::Cluster;
use crate::exclusive::{draining, exclusive};
use crate::member::{Member, ack, drained, full};

#[tokio::test(start_paused = true)]
async fn names_that_are_no_names_are_refused_with_their_rule() {
    let cluster = Cluster::start(1, 1).await;
    let long = "x".repeat(250);
    for name in ["a/b", "", ".", "..", long.as_str(), "a b", "ä"] {
        let refused = Member::register(&cluster.nodes[0], full(name, "1")).await.err().expect("refused");
        assert_eq!(
            (refused.code(), refused.reason()),
            (Code::InvalidArgument, Some(Reason::InvalidName)),
            "{name}"
        );
        let request = RegisterRequest { topics: vec![name.to_owned()], ..full("c", "1") };
        let refused = Member::register(&cluster.nodes[0], request).await.err().expect("refused");
        assert_eq!(refused.reason(), Some(Reason::InvalidName), "{name}");
        if !name.is_empty() {
            let request = RegisterRequest { group: name.to_owned(), ..full("c", "1") };
            let refused = Member::register(&cluster.nodes[0], request).await.err().expect("refused");
            assert_eq!(refused.reason(), Some(Reason::InvalidName), "{name}");
        }
    }
    assert!(cluster.nodes[0].instance.groups().is_empty(), "and nothing was created");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_group_that_does_not_exist_is_named_with_what_creates_it() {
    let cluster = Cluster::tuned(1, 1, |options| options.auto_create = false).await;
    let refused = Member::register(&cluster.nodes[0], full("a", "1")).await.err().expect("refused");
    assert_eq!(refused.reason(), Some(Reason::GroupNotFound));
    assert!(refused.message().contains("kafka-assigner group set g"), "{}", refused.message());
    assert!(cluster.nodes[0].instance.groups().is_empty());
    cluster.stop().await;
}

/// It would be granted partitions, and lose them at the end of its lease: the lease is told in a snapshot alone.
#[tokio::test(start_paused = true)]
async fn a_client_that_renews_and_could_not_learn_its_lease_is_refused() {
    let cluster = Cluster::start(1, 1).await;
    let taken = vec![Capability::Taken.into()];
    let request = RegisterRequest { capabilities: taken.clone(), ..full("c", "1") };
    let refused = Member::register(&cluster.nodes[0], request.clone()).await.err().expect("refused");
    assert_eq!(refused.reason(), Some(Reason::CapabilityMissing), "{refused}");
    assert!(refused.message().contains("SNAPSHOT"), "{}", refused.message());
    let renewed = RegisterRequest { renewal: Renewal::Server.into(), ..request };
    assert!(Member::register(&cluster.nodes[0], renewed).await.is_ok(), "the service renews it");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_without_a_lease_is_refused_and_says_where_the_lease_comes_from() {
    use kafka_assigner_proto::v1::kafka_assigner_server::KafkaAssigner as _;
    let cluster = Cluster::start(1, 1).await;
    let _member = Member::join(&cluster.nodes[0], "a").await;
    let request = HeartbeatRequest {
        group: "g".to_owned(),
        consumer_name: "a".to_owned(),
        incarnation: "1".to_owned(),
        ..HeartbeatRequest::default()
    };
    let refused = cluster.nodes[0].api.heartbeat(tonic::Request::new(request)).await.expect_err("refused");
    assert_eq!(refused.reason(), Some(Reason::InvalidField));
    assert!(refused.message().contains("lease"), "{}", refused.message());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_of_nobody_is_fenced_and_of_no_group_refused() {
    use kafka_assigner_proto::v1::kafka_assigner_server::KafkaAssigner as _;
    let cluster = Cluster::start(1, 1).await;
    let member = Member::join(&cluster.nodes[0], "a").await;
    let request = HeartbeatRequest {
        group: "g".to_owned(),
        consumer_name: "nobody".to_owned(),
        incarnation: "1".to_owned(),
        lease: member.roles.lease,
        ..HeartbeatRequest::default()
    };
    let api = &cluster.nodes[0].api;
    let answer = api.heartbeat(tonic::Request::new(request.clone())).await.unwrap().into_inner();
    assert!(answer.fenced.is_some());
    let elsewhere = HeartbeatRequest { group: "h".to_owned(), ..request };
    let refused = api.heartbeat(tonic::Request::new(elsewhere)).await.unwrap_err();
    assert_eq!(refused.reason(), Some(Reason::GroupNotFound));
    cluster.stop().await;
}

/// Clients of Kafka use negative numbers for "end", "beginning" and "unknown".
#[tokio::test(start_paused = true)]
async fn a_negative_offset_is_refused_with_its_rule_and_nothing_is_recorded() {
    let (cluster, old, mut new) = draining(2, exclusive).await;
    let DrainPartition { topic, partition, handoff_id, .. } =
        old.roles.draining.values().next().unwrap().clone();
    let said = |next_offset| drained(&topic, partition, &handoff_id, next_offset);
    for offset in [-1, -2, -1001, i64::MIN] {
        let handled = Some(HandledRecord { offset, time_unix_ms: 1 });
        let edge = PartitionAck { handled, ..ack(&topic, partition, &handoff_id) };
        for (field, refused) in [
            ("next_offset", old.say_drained(vec![said(offset)]).await),
            ("handled.offset", old.say_drained(vec![DrainedPartition { handled, ..said(7) }]).await),
            ("handled.offset", new.say_taken(vec![edge.clone()]).await),
            ("handled.offset", old.say_released(vec![edge]).await),
        ] {
            let refused = refused.expect_err("refused");
            assert_eq!(refused.reason(), Some(Reason::InvalidField), "{refused}");
            let message = format!("{field} = {offset} is refused: it must not be negative");
            assert!(refused.message().starts_with(&message), "{refused}");
        }
    }
    old.say_drained(vec![said(7)]).await.expect("what it says then is recorded");
    new.until("it starts there", |roles| roles.assigned.values().any(|given| given.start_offset == Some(7)))
        .await;
    cluster.stop().await;
}
