//! Changes to the store by hand. The numbers are those of `docs/design/scenarios.md`.

use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_core::key::Key;
use kafka_assigner_proto::v1::{FenceReason, HeartbeatOutcome};
use kafka_assigner_store::Store as _;
use kafka_assigner_types::kv::{LeaseId, Op};
use tokio::time::sleep;

use crate::cluster::{Cluster, layout};
use crate::member::{Member, full};

fn registration() -> Bytes {
    layout().encode(&Key::Consumer("a".parse().expect("a name")))
}

// H46.
#[tokio::test(start_paused = true)]
async fn a_key_that_only_ends_like_a_registration_concerns_nobody() {
    let cluster = Cluster::start(1, 2).await;
    let mut member = Member::join(&cluster.nodes[0], "a").await;
    member.until("both", |roles| roles.assigned.len() == 2).await;
    let prefix = String::from_utf8(layout().prefix().to_vec()).unwrap();
    for stranger in ["others/a", "consumers/x/a", "consumers/aa", "consumers"] {
        let key = format!("{prefix}{stranger}");
        cluster.apply(vec![Op::put(key.clone(), "")]).await;
        cluster.apply(vec![Op::delete(key)]).await;
    }
    cluster.apply(vec![Op::put("/kafka-assigner/g2/consumers/a", "")]).await;
    cluster.apply(vec![Op::delete("/kafka-assigner/g2/consumers/a")]).await;
    sleep(Duration::from_secs(5)).await;
    assert!(member.is_quiet(), "{:?}", member.roles);
    assert_eq!(member.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    cluster.apply(vec![Op::delete(registration())]).await;
    assert_eq!(member.ended().await.unwrap().reason(), FenceReason::Expired);
    cluster.stop().await;
}

// H45, H47.
#[tokio::test(start_paused = true)]
async fn whoever_lost_its_registration_comes_back_as_another_session() {
    let cluster = Cluster::start(1, 2).await;
    let mut before = Member::join(&cluster.nodes[0], "a").await;
    before.until("both", |roles| roles.assigned.len() == 2).await;
    cluster.apply(vec![Op::delete(registration())]).await;
    assert_eq!(before.ended().await.unwrap().reason(), FenceReason::Expired);
    let mut after = Member::register(&cluster.nodes[0], full("a", "a-2")).await.unwrap();
    after.until("both", |roles| roles.assigned.len() == 2).await;
    assert_ne!(after.roles.lease, before.roles.lease);
    assert!(after.roles.assigned.iter().all(|(at, now)| now.epoch > before.roles.assigned[at].epoch));
    let left = cluster.memory.time_to_live(LeaseId(before.roles.lease)).await.unwrap();
    assert!(left.is_some(), "a claim may still count from it, so it is left to run out");
    let refused = before.resume(&cluster.nodes[0]).await.unwrap().ended().await;
    assert!(refused.is_some(), "gone is final");
    cluster.stop().await;
}
