//! The moment at which another member may act in an owner's place: after its claim is over, and not much later.

use std::time::Duration;

use kafka_assigner_proto::v1::{DeregisterMode, FenceReason, HeartbeatOutcome, RegisterRequest};
use kafka_assigner_proto::{Reason, ReasonExt as _};
use kafka_assigner_server::Options;
use tokio::time::{Instant, sleep};

use crate::cluster::Cluster;
use crate::exclusive::exclusive;
use crate::member::{Member, full};
use crate::worker::Worker;

/// The time to live of all sessions here, and how long a claim lasts from its last confirmed heartbeat.
const TTL: Duration = Duration::from_secs(30);
const CLAIM: Duration = Duration::from_secs(20);

/// The longest time after that until a leader notices: an answer of the store.
const SLACK: Duration = Duration::from_millis(100);

fn careful(options: &mut Options) {
    exclusive(options);
    options.group_defaults.wait_out_revocations = true;
}

/// `a` owns both partitions, and says nothing by itself; it was confirmed just now. `b` can take neither.
async fn owner(tune: impl Fn(&mut Options)) -> (Cluster, Member) {
    let cluster = Cluster::tuned(1, 2, tune).await;
    let mut owner = Member::join(&cluster.nodes[0], "a").await;
    owner.until("both", |roles| roles.assigned.len() == 2).await;
    sleep(Duration::from_secs(7)).await;
    assert_eq!(owner.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    (cluster, owner)
}

/// The time from now until `worker` has both partitions.
async fn time_until_granted(worker: &mut Worker) -> Duration {
    let since = Instant::now();
    worker.until("both", |roles| roles.assigned.len() == 2).await;
    since.elapsed()
}

#[tokio::test(start_paused = true)]
async fn after_a_takeover_the_old_claim_is_waited_out_and_no_longer() {
    let (cluster, old) = owner(exclusive).await;
    let mut new = Worker::with(&cluster.nodes, full("a", "a-2"), Duration::ZERO).await;
    let took = time_until_granted(&mut new).await;
    assert!(took >= CLAIM && took <= CLAIM + SLACK, "{took:?}");
    assert_eq!(old.heartbeat().await.fenced.unwrap().reason(), FenceReason::Superseded);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn after_a_crash_nobody_waits_beyond_the_end_of_the_lease() {
    let (cluster, _silent) = owner(exclusive).await;
    let mut other = Worker::start(&cluster.nodes, "b").await;
    let took = time_until_granted(&mut other).await;
    assert!(took >= CLAIM && took <= TTL + SLACK, "{took:?}");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_clean_restart_starts_at_once() {
    for tune in [exclusive as fn(&mut Options), |options| {
        exclusive(options);
        options.group_defaults.rejoin_grace_ms = 60_000;
    }] {
        let (cluster, old) = owner(tune).await;
        let _other = Worker::start(&cluster.nodes, "b").await;
        old.deregister(DeregisterMode::Restart).await.unwrap();
        sleep(Duration::from_secs(2)).await;
        let mut new = Worker::with(&cluster.nodes, full("a", "a-2"), Duration::ZERO).await;
        let since = Instant::now();
        new.until("its own", |roles| !roles.assigned.is_empty()).await;
        assert!(since.elapsed() <= Duration::from_millis(200), "{:?}", since.elapsed());
        cluster.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn who_leaves_at_once_is_not_waited_for() {
    let (cluster, old) = owner(exclusive).await;
    let mut other = Worker::start(&cluster.nodes, "b").await;
    old.deregister(DeregisterMode::Now).await.unwrap();
    let took = time_until_granted(&mut other).await;
    assert!(took <= Duration::from_millis(200), "{took:?}");
    cluster.stop().await;
}

/// An owner that reports progress in its processing once, and whose session is then ended since it reports none.
async fn forced_end() -> (Cluster, Member, Worker) {
    let cluster = Cluster::tuned(1, 2, exclusive).await;
    let request = RegisterRequest { max_poll_interval_ms: 15_000, ..full("a", "a-1") };
    let mut owner = Member::register(&cluster.nodes[0], request).await.expect("it registers");
    owner.until("both", |roles| roles.assigned.len() == 2).await;
    let other = Worker::with(&cluster.nodes, full("b", "b-1"), Duration::from_secs(3_600)).await;
    for _ in 0..2 {
        assert_eq!(owner.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
        sleep(Duration::from_secs(9)).await;
    }
    assert_eq!(owner.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed, "this one finds it stuck");
    owner.until("it is told at once", |roles| roles.fenced.is_some()).await;
    assert_eq!(owner.heartbeat().await.fenced.expect("it is fenced").reason(), FenceReason::PollInterval);
    (cluster, owner, other)
}

#[tokio::test(start_paused = true)]
async fn a_forced_end_waits_for_the_end_of_the_claim() {
    let (cluster, _owner, mut other) = forced_end().await;
    let took = time_until_granted(&mut other).await;
    assert!(took >= CLAIM && took <= CLAIM + SLACK, "{took:?}");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_forced_end_waits_no_longer_than_for_the_proof() {
    let (cluster, owner, mut other) = forced_end().await;
    sleep(Duration::from_secs(3)).await;
    assert!(other.roles().assigned.is_empty());
    owner.deregister(DeregisterMode::Now).await.unwrap();
    let took = time_until_granted(&mut other).await;
    assert!(took <= Duration::from_millis(200), "{took:?}");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_revocation_is_waited_out_where_that_is_wanted() {
    for (tune, least) in [(exclusive as fn(&mut Options), Duration::ZERO), (careful, CLAIM)] {
        let (cluster, mut old) = owner(tune).await;
        let mut other = Worker::start(&cluster.nodes, "b").await;
        cluster.revoke(old.roles.lease).await;
        let took = time_until_granted(&mut other).await;
        assert!(took >= least && took <= least + Duration::from_millis(200), "{took:?}");
        assert_eq!(old.ended().await.unwrap().reason(), FenceReason::Expired, "it is told at once");
        cluster.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn who_left_by_itself_is_not_waited_for_where_revocations_are() {
    for mode in [DeregisterMode::Now, DeregisterMode::Restart] {
        let (cluster, old) = owner(careful).await;
        old.deregister(mode).await.unwrap();
        let mut new = Worker::with(&cluster.nodes, full("a", "a-2"), Duration::ZERO).await;
        let took = time_until_granted(&mut new).await;
        assert!(took <= Duration::from_millis(200), "{mode:?}: {took:?}");
        cluster.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_was_taken_over_lets_go_and_its_successor_starts_at_once() {
    let (cluster, old) = owner(exclusive).await;
    let mut new = Worker::with(&cluster.nodes, full("a", "a-2"), Duration::ZERO).await;
    sleep(Duration::from_secs(2)).await;
    assert!(new.roles().assigned.is_empty(), "the claim before it runs");
    old.deregister(DeregisterMode::Now).await.unwrap();
    let took = time_until_granted(&mut new).await;
    assert!(took <= Duration::from_millis(200), "{took:?}");
    let again = old.deregister(DeregisterMode::Now).await.unwrap_err();
    assert_eq!(again.code(), tonic::Code::NotFound, "it owns nothing any more");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_its_client_renews_is_named_by_its_incarnation() {
    let (cluster, mut owner) = owner(exclusive).await;
    let incarnation = std::mem::take(&mut owner.request.incarnation);
    let refused = owner.deregister(DeregisterMode::Now).await.unwrap_err();
    assert_eq!(refused.reason(), Some(Reason::InvalidField), "{refused}");
    assert_eq!(owner.say_ready(Vec::new()).await.unwrap_err().code(), refused.code());
    owner.request.incarnation = incarnation;
    assert_eq!(owner.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed, "it lives");
    cluster.stop().await;
}
