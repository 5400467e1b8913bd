//! Streams that hear nothing, and sessions without any: noticed wherever the heartbeats go.

use std::time::Duration;

use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{Assignment, encode};
use kafka_assigner_proto::v1::{FenceReason, HeartbeatOutcome, RegisterRequest, Seen, StreamState};
use kafka_assigner_proto::{Reason, ReasonExt as _};
use kafka_assigner_store::faulty::Outage;
use kafka_assigner_types::digest::{Digest, RoleKey};
use kafka_assigner_types::id::{Epoch, TopicPartition};
use tokio::time::{Instant, sleep, timeout};

use crate::cluster::{Cluster, owners};
use crate::member::{Member, Roles, full};
use crate::router::Router;

/// Two instances, of which the second one lost its store after `a` attached there, and `b` at the first one has left
/// everything to `a` since.
async fn granted_behind_its_back() -> (Cluster, Member) {
    let cluster = Cluster::start(2, 4).await;
    let other = Member::join(&cluster.nodes[0], "b").await;
    cluster.until("b has all", |state| owners(state).get("b") == Some(&4)).await;
    let mut deaf = Member::join(&cluster.nodes[1], "a").await;
    cluster.nodes[1].link.begin_outage(Outage::Silent);
    cluster.revoke(other.roles.lease).await;
    cluster.until("a has all", |state| owners(state).get("a") == Some(&4)).await;
    deaf.node = cluster.nodes[0].clone();
    (cluster, deaf)
}

fn digest_of(roles: &Roles) -> u64 {
    let fingerprint = |((topic, partition), owned): (&(String, i32), &_)| {
        let owned: &kafka_assigner_proto::v1::AssignedPartition = owned;
        let at = TopicPartition::new(
            topic.parse().expect("a name"),
            u32::try_from(*partition).expect("a partition"),
        );
        RoleKey::Owner(Epoch(owned.epoch)).in_partition(&at)
    };
    roles.assigned.iter().map(fingerprint).collect::<Digest>().0
}

fn tells(revision: u64, digest: Option<u64>) -> Option<StreamState> {
    Some(StreamState { revision, digest })
}

// The heart of it: the instance that confirms the session serves no stream of it, and knows all the same.
#[tokio::test(start_paused = true)]
async fn a_grant_behind_a_deaf_stream_is_told_by_the_heartbeat_elsewhere() {
    let (cluster, mut deaf) = granted_behind_its_back().await;
    deaf.stream = tells(deaf.roles.revision, Some(digest_of(&deaf.roles)));
    let answer = deaf.heartbeat().await;
    assert_eq!(answer.outcome(), HeartbeatOutcome::Confirmed);
    assert!(answer.concerned_revision > deaf.roles.revision, "{answer:?} after {:?}", deaf.roles);
    assert!(answer.concerned_revision <= answer.revision);
    let metrics = cluster.nodes[0].metrics();
    assert!(metrics.contains("heartbeats_behind_total{group=\"g\"} 1"), "{metrics}");
    let resumed = deaf.resume(&cluster.nodes[0]).await.unwrap();
    assert_eq!(resumed.roles.assigned.len(), 4);
    assert_eq!(
        answer.digest,
        Some(digest_of(&resumed.roles)),
        "what the stream tells is what it has to know"
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_told_a_revision_of_its_records_within_a_second_though_nothing_is_new() {
    let cluster = Cluster::start(2, 1).await;
    let mut member = Member::join(&cluster.nodes[0], "a").await;
    member.until("it", |roles| roles.assigned.len() == 1).await;
    while !member.is_quiet() {}
    let key = Key::Assignment(TopicPartition::new("t".parse().unwrap(), 0));
    let record = cluster.get(&key).await.unwrap();
    let assignment: Assignment = kafka_assigner_core::record::decode(&record.value).unwrap();
    let since = Instant::now();
    let written = cluster.put(&key, encode(&Assignment { gap_ms: Some(1), ..assignment })).await;
    member.until("the revision", |roles| roles.revision >= written.0).await;
    assert!(since.elapsed() <= Duration::from_secs(1), "{:?}", since.elapsed());
    member.node = cluster.nodes[1].clone();
    member.stream = tells(member.roles.revision, None);
    let answer = member.heartbeat().await;
    assert!(answer.concerned_revision <= member.roles.revision, "so nobody takes it for deaf");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_router_is_told_what_concerned_the_routes_wherever_its_stream_is() {
    let cluster = Cluster::start(2, 2).await;
    let _owner = Member::join(&cluster.nodes[0], "a").await;
    let mut router = Router::join(&cluster.nodes[1], "r").await;
    cluster.settled(1).await;
    let before = router.heartbeat().await;
    cluster.nodes[1].link.hold_watches();
    cluster.topic("u", 1).await;
    cluster.until("it is there", |state| state.topics().contains_key("u")).await;
    router.move_to(&cluster.nodes[0]);
    let answer = router.heartbeat().await;
    assert!(answer.concerned_revision > before.concerned_revision, "{answer:?} after {before:?}");
    assert_ne!(answer.digest, before.digest);
    cluster.stop().await;
}

// P18: an instance says it once; in a full outage nobody is sent round.
/// Routers' sessions may be as long as those of consumers.
fn long_holds(options: &mut kafka_assigner_server::Options) {
    options.group_defaults.hold_deadline_ms = 400_000;
}

#[tokio::test(start_paused = true)]
async fn an_instance_out_of_touch_says_so_once_and_refuses_new_streams_with_a_wait() {
    for silent in [true, false] {
        let cluster = Cluster::tuned(1, 1, long_holds).await;
        let node = &cluster.nodes[0];
        let session_timeout_ms = 120_000;
        let request = RegisterRequest { session_timeout_ms, ..full("a", "a-1") };
        let mut member = Member::register(node, request).await.unwrap();
        member.until("it", |roles| roles.assigned.len() == 1).await;
        let mut router = Router::lasting(node, "r", session_timeout_ms).await;
        sleep(Duration::from_secs(60)).await;
        while !member.is_quiet() {}
        assert_eq!(member.roles.out_of_touch, 0, "silence of a store is peace");
        for times in 1..=2 {
            // Calls that get through make a watch that falls silent no better.
            if silent {
                node.link.hold_watches();
            } else {
                node.link.begin_outage(Outage::Silent);
            }
            cluster.topic_of("elsewhere", "u", times).await;
            let since = Instant::now();
            member.until("it", |roles| roles.out_of_touch == times).await;
            router.until("it", |known| known.out_of_touch == times).await;
            assert!(since.elapsed() >= Duration::from_secs(4), "{:?}", since.elapsed());
            assert!(since.elapsed() <= Duration::from_secs(15), "{:?}", since.elapsed());
            let refused = Member::register(node, full("b", "b-1")).await.err().expect("refused");
            assert_eq!(refused.reason(), Some(Reason::StoreUnavailable), "{refused:?}");
            let wait = refused.retry_after().expect("a wait");
            assert!(wait >= Duration::from_secs(5) && wait <= Duration::from_secs(15), "{wait:?}");
            assert!(node.metrics().contains("groups_out_of_touch 1"));
            let again =
                timeout(Duration::from_secs(10), member.until("again", |roles| roles.out_of_touch > times))
                    .await;
            assert!(again.is_err(), "once");
            node.link.release_watches();
            node.link.end_outage();
            sleep(Duration::from_secs(5)).await;
            assert!(node.metrics().contains("groups_out_of_touch 0"));
            assert_eq!(member.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
            router.heartbeat().await;
        }
        drop(Member::register(node, full("b", "b-2")).await.expect("it is in touch again"));
        cluster.stop().await;
    }
}

// P16: no instance knows that there is no stream anywhere; the client does.
#[tokio::test(start_paused = true)]
async fn a_session_that_is_renewed_without_a_stream_is_ended() {
    let cluster = Cluster::start(2, 1).await;
    let mut member = Member::join(&cluster.nodes[0], "a").await;
    member.until("it", |roles| roles.assigned.len() == 1).await;
    member.stream = tells(0, None);
    let since = Instant::now();
    loop {
        let answer = member.heartbeat().await;
        if answer.outcome() == HeartbeatOutcome::Fenced {
            assert_eq!(answer.fenced.unwrap().reason(), FenceReason::Unattached);
            break;
        }
        assert!(since.elapsed() < Duration::from_secs(61), "it is borne for too long");
        sleep(Duration::from_secs(5)).await;
    }
    assert!(since.elapsed() >= Duration::from_secs(60), "{:?}", since.elapsed());
    assert!(cluster.nodes[0].metrics().contains("sessions_unattached_total{group=\"g\"} 1"));
    member.node = cluster.nodes[1].clone();
    let elsewhere = member.heartbeat().await;
    assert_eq!(elsewhere.fenced.unwrap().reason(), FenceReason::Unattached, "this is final, everywhere");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_says_nothing_of_its_stream_is_borne_as_before() {
    let cluster = Cluster::tuned(1, 1, long_holds).await;
    let mut member = Member::join(&cluster.nodes[0], "a").await;
    let mut router = Router::join(&cluster.nodes[0], "r").await;
    for _ in 0..40 {
        sleep(Duration::from_secs(5)).await;
        assert_eq!(member.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
        assert_eq!(router.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    }
    router.stream = tells(0, None);
    member.stream = tells(0, None);
    for _ in 0..12 {
        assert_eq!(router.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
        assert_eq!(member.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
        member.stream = tells(member.roles.revision, None);
        sleep(Duration::from_secs(5)).await;
    }
    assert_eq!(router.heartbeat().await.fenced.unwrap().reason(), FenceReason::Unattached, "routers as well");
    assert_eq!(member.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    cluster.stop().await;
}

// A store that was put back behind what clients have seen renews them and can serve none of them a stream.
#[tokio::test(start_paused = true)]
async fn a_client_that_has_seen_more_than_the_store_holds_is_fenced() {
    let cluster = Cluster::start(1, 1).await;
    let mut member = Member::join(&cluster.nodes[0], "a").await;
    member.until("it", |roles| roles.assigned.len() == 1).await;
    let cluster_id = member.roles.cluster_id.clone();
    let newest = cluster.revision().await.0;
    member.seen = Some(Seen { cluster_id: cluster_id.clone(), revision: newest });
    assert_eq!(member.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    member.seen = Some(Seen { cluster_id: "another".to_owned(), revision: newest + 500 });
    assert_eq!(
        member.heartbeat().await.outcome(),
        HeartbeatOutcome::Confirmed,
        "of another store it says nothing"
    );
    member.seen = Some(Seen { cluster_id, revision: newest + 500 });
    let answer = member.heartbeat().await;
    assert_eq!(answer.outcome(), HeartbeatOutcome::Fenced);
    assert_eq!(answer.fenced.unwrap().reason(), FenceReason::StoreRestored);
    cluster.stop().await;
}
