//! A store that was put back to an earlier state under running instances, or before they start.

use std::time::Duration;

use kafka_assigner_core::key::{ClusterLayout, DEFAULT_PREFIX};
use kafka_assigner_proto::v1::{FenceReason, HeartbeatOutcome, RegisterRequest, Seen};
use kafka_assigner_server::Options;
use kafka_assigner_server::identity;
use kafka_assigner_store::Store as _;
use kafka_assigner_store::faulty::Outage;
use kafka_assigner_types::kv::Op;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::WallMillis;
use tokio::time::{Instant, sleep};

use crate::cluster::{Cluster, Node, PATIENCE, owners};
use crate::member::{Member, full};

/// The longest session of the groups of these tests.
const LONGEST: Duration = Duration::from_secs(60);

/// The epochs of another history are above all of the first one.
const SECOND_HISTORY: u64 = 1 << 32;

fn in_mode(mode: Mode) -> impl Fn(&mut Options) {
    move |options| {
        options.group_defaults.mode = mode;
        options.group_defaults.max_session_timeout_ms = 60_000;
    }
}

/// Writes elsewhere, so that the revision rises.
async fn work_on(cluster: &Cluster) {
    for n in 0..50 {
        cluster.apply(vec![Op::put(format!("/elsewhere/{n}"), "")]).await;
    }
}

/// A consumer that owns four partitions; the store is put back to what it was before another one took two of them.
async fn put_back(mode: Mode) -> (Cluster, Member, Member) {
    let cluster = Cluster::tuned(2, 4, in_mode(mode)).await;
    let mut a = Member::join(&cluster.nodes[0], "a").await;
    a.until("all", |roles| roles.assigned.len() == 4).await;
    let backup = cluster.memory.back_up();
    work_on(&cluster).await;
    cluster.revoke(a.roles.lease).await;
    let mut b = Member::join(&cluster.nodes[1], "b").await;
    b.until("all", |roles| roles.assigned.len() == 4).await;
    cluster.memory.put_back(&backup);
    (cluster, a, b)
}

/// A new session of the consumer, as its client begins one that hears of another cluster id.
async fn begin_anew(node: &Node, member: &Member) -> Member {
    let name = &member.request.consumer_name;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match Member::register(node, full(name, &format!("{name}-2"))).await {
            Ok(anew) => return anew,
            Err(status) => assert!(Instant::now() < deadline, "{status}"),
        }
        sleep(Duration::from_millis(100)).await;
    }
}

fn highest_epoch(member: &Member) -> u64 {
    member.roles.assigned.values().map(|assigned| assigned.epoch).max().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_store_that_went_back_gets_another_cluster_id_and_epochs_never_fall() {
    let (cluster, _, mut b) = put_back(Mode::Overlap).await;
    let (lost, before) = (b.roles.cluster_id.clone(), highest_epoch(&b));
    let since = Instant::now();
    assert_eq!(b.ended().await, None, "its stream ends without a word");
    assert!(since.elapsed() < Duration::from_secs(5), "noticed after {:?}", since.elapsed());
    let mut anew = begin_anew(&cluster.nodes[1], &b).await;
    assert_ne!(anew.roles.cluster_id, lost);
    anew.until("a is over, and nobody else is here", |roles| roles.assigned.len() == 4).await;
    let all_above = anew.roles.assigned.values().all(|assigned| assigned.epoch > SECOND_HISTORY.max(before));
    assert!(all_above, "{:?}", anew.roles);
    let again = begin_anew(&cluster.nodes[0], &b).await;
    assert_eq!(again.roles.cluster_id, anew.roles.cluster_id, "both instances serve the same history");
    for node in &cluster.nodes {
        assert!(node.metrics().contains("histories_begun_total 1\n"), "{}", node.metrics());
    }
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_restore_that_a_raised_revision_hides_is_noticed_by_the_keys_that_went_back() {
    let (cluster, _, mut b) = put_back(Mode::Overlap).await;
    let lost = b.roles.cluster_id.clone();
    // Nobody looks meanwhile: the clock stands still.
    for _ in 0..4 {
        work_on(&cluster).await;
    }
    let (_, raised) = cluster.memory.get(b"/elsewhere/0").await.expect("memory answers");
    cluster.memory.compact(raised).await.expect("memory takes it");
    let since = Instant::now();
    assert_eq!(b.ended().await, None, "its stream ends without a word");
    assert!(since.elapsed() < Duration::from_secs(5), "noticed after {:?}", since.elapsed());
    let anew = begin_anew(&cluster.nodes[1], &b).await;
    assert_ne!(anew.roles.cluster_id, lost);
    cluster.stop().await;
}

// Those who are told that their session is over write at once: more than was lost, where that was little.
#[tokio::test(start_paused = true)]
async fn a_restore_after_which_more_is_written_than_was_lost_is_noticed_by_who_reads_before() {
    let (cluster, _, mut b) = put_back(Mode::Overlap).await;
    let lost = b.roles.cluster_id.clone();
    // Nobody looks meanwhile: the clock stands still.
    assert_eq!(b.heartbeat().await.outcome(), HeartbeatOutcome::StoreUnavailable);
    for _ in 0..4 {
        work_on(&cluster).await;
    }
    let since = Instant::now();
    assert_eq!(b.ended().await, None, "its stream ends without a word");
    assert!(since.elapsed() < Duration::from_secs(5), "noticed after {:?}", since.elapsed());
    let anew = begin_anew(&cluster.nodes[1], &b).await;
    assert_ne!(anew.roles.cluster_id, lost);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn strict_grants_wait_for_the_longest_session_after_the_store_was_put_back() {
    let (cluster, a, mut b) = put_back(Mode::Exclusive).await;
    b.ended().await;
    let since = Instant::now();
    let (mut a, b) = (begin_anew(&cluster.nodes[0], &a).await, begin_anew(&cluster.nodes[1], &b).await);
    // The owner of the time when the history was lost may act: no record names it.
    let renewing = async {
        loop {
            sleep(Duration::from_secs(5)).await;
            for member in [&a.resumption(), &b.resumption()] {
                let lease = kafka_assigner_types::kv::LeaseId(member.resume_lease);
                cluster.memory.keep_alive(lease).await.expect("the session lives");
            }
        }
    };
    tokio::select! {
        () = renewing => {}
        () = cluster.until("somebody owns something", |state| !owners(state).is_empty()) => {}
    }
    assert!(since.elapsed() >= LONGEST, "granted after {:?}", since.elapsed());
    a.until("what it had in the backup", |roles| roles.assigned.len() == 4).await;
    assert!(highest_epoch(&a) > SECOND_HISTORY);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_group_that_the_store_has_lost_waits_as_well() {
    let cluster = Cluster::tuned(1, 4, in_mode(Mode::Exclusive)).await;
    let backup = cluster.memory.back_up();
    let mut a = Member::join(&cluster.nodes[0], "a").await;
    a.until("a new group waits for nobody", |roles| roles.assigned.len() == 4).await;
    work_on(&cluster).await;
    cluster.memory.put_back(&backup);
    a.ended().await;
    let since = Instant::now();
    let mut anew = begin_anew(&cluster.nodes[0], &a).await;
    while anew.roles.assigned.is_empty() {
        assert_eq!(anew.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
        let _told = tokio::time::timeout(Duration::from_secs(5), anew.more()).await;
    }
    assert!(since.elapsed() >= LONGEST, "granted after {:?}", since.elapsed());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_an_operator_calls_restored_is_loaded_anew_at_any_revision() {
    let cluster = Cluster::tuned(2, 4, in_mode(Mode::Overlap)).await;
    let mut a = Member::join(&cluster.nodes[0], "a").await;
    a.until("all", |roles| roles.assigned.len() == 4).await;
    let before = highest_epoch(&a);
    let known =
        identity::read(&cluster.memory, DEFAULT_PREFIX).await.unwrap().0.expect("an instance wrote it");
    let next = known.record().begun_anew("another", WallMillis(0));
    let written = identity::replace(&cluster.memory, DEFAULT_PREFIX, Some(&known), &next).await;
    written.unwrap().expect("it is as it was");
    a.ended().await;
    let mut anew = begin_anew(&cluster.nodes[0], &a).await;
    assert_eq!(anew.roles.cluster_id, "another");
    anew.until("all", |roles| roles.assigned.len() == 4).await;
    assert!(anew.roles.assigned.values().all(|assigned| assigned.epoch > SECOND_HISTORY.max(before)));
    cluster.stop().await;
}

/// A member that has seen more than there is, by its own word.
fn ahead(member: &Member) -> Seen {
    Seen { cluster_id: member.roles.cluster_id.clone(), revision: 1 << 62 }
}

#[tokio::test(start_paused = true)]
async fn who_has_seen_more_than_there_is_is_fenced_and_nobody_else() {
    let cluster = Cluster::tuned(1, 4, in_mode(Mode::Overlap)).await;
    let node = &cluster.nodes[0];
    let mut a = Member::join(node, "a").await;
    a.until("all", |roles| roles.assigned.len() == 4).await;
    let answer = a.heartbeat_having(ahead(&a)).await;
    assert_eq!(answer.outcome(), HeartbeatOutcome::Fenced);
    assert_eq!(answer.fenced.unwrap().reason(), FenceReason::StoreRestored);
    let request = RegisterRequest { seen: Some(ahead(&a)), ..full("b", "b-1") };
    let mut b = Member::register(node, request).await.unwrap();
    assert_eq!(b.ended().await.unwrap().reason(), FenceReason::StoreRestored);
    assert!(node.metrics().contains("members_ahead_of_store_total{group=\"g\"} 2\n"), "{}", node.metrics());
    let of_another = Seen { cluster_id: "another".to_owned(), revision: 1 << 62 };
    let request = RegisterRequest { seen: Some(of_another), ..full("c", "c-1") };
    assert_eq!(Member::register(node, request).await.unwrap().roles.fenced, None);
    assert_eq!(
        cluster.group().await.read(|state| state.consumers().len()),
        2,
        "a and c: nobody lost anything"
    );
    let stored = identity::read(&cluster.memory, DEFAULT_PREFIX).await.unwrap().0.unwrap();
    assert_eq!(stored.id(), a.roles.cluster_id, "nobody begins another history on a client's word");
    cluster.stop().await;
}

// An operator put its key back by hand, say.
#[tokio::test(start_paused = true)]
async fn an_identity_that_is_written_again_stops_nobody() {
    let cluster = Cluster::tuned(1, 4, in_mode(Mode::Overlap)).await;
    let mut a = Member::join(&cluster.nodes[0], "a").await;
    a.until("all", |roles| roles.assigned.len() == 4).await;
    let key = ClusterLayout::new(DEFAULT_PREFIX).cluster();
    let stored = cluster.memory.get(&key).await.unwrap().0.expect("an instance wrote it");
    cluster.apply(vec![Op::put(key, stored.value)]).await;
    a.ended().await;
    let mut back = a.resume(&cluster.nodes[0]).await.expect("it has its session");
    assert_eq!(back.roles.cluster_id, a.roles.cluster_id);
    let lease = back.roles.lease;
    back.until("all", |roles| roles.assigned.len() == 4).await;
    drop(back);
    cluster.revoke(lease).await;
    let mut b = Member::join(&cluster.nodes[0], "b").await;
    b.until("all", |roles| roles.assigned.len() == 4).await;
    cluster.stop().await;
}

// And the backup is from before that.
#[tokio::test(start_paused = true)]
async fn an_identity_from_before_it_was_written_again_is_a_store_that_went_back() {
    let cluster = Cluster::tuned(1, 4, in_mode(Mode::Overlap)).await;
    let mut a = Member::join(&cluster.nodes[0], "a").await;
    a.until("all", |roles| roles.assigned.len() == 4).await;
    let key = ClusterLayout::new(DEFAULT_PREFIX).cluster();
    let stored = cluster.memory.get(&key).await.unwrap().0.expect("an instance wrote it");
    let backup = cluster.memory.back_up();
    cluster.apply(vec![Op::put(key, stored.value)]).await;
    a.ended().await;
    let mut back = a.resume(&cluster.nodes[0]).await.expect("it has its session");
    cluster.memory.put_back(&backup);
    work_on(&cluster).await;
    back.ended().await;
    let anew = begin_anew(&cluster.nodes[0], &back).await;
    assert_ne!(anew.roles.cluster_id, back.roles.cluster_id);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nobody_writes_an_identity_that_is_gone() {
    let cluster = Cluster::tuned(1, 1, in_mode(Mode::Overlap)).await;
    let key = ClusterLayout::new(DEFAULT_PREFIX).cluster();
    cluster.apply(vec![Op::delete(key.clone())]).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(cluster.memory.get(&key).await.unwrap().0, None);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_instance_without_its_store_names_no_cluster_id() {
    let cluster = Cluster::start(1, 1).await;
    let a = Member::join(&cluster.nodes[0], "a").await;
    cluster.nodes[0].link.begin_outage(Outage::Refusing);
    let answer = a.heartbeat().await;
    assert_eq!(answer.outcome(), HeartbeatOutcome::StoreUnavailable);
    assert_eq!(answer.cluster_id, "", "the store may have another one by now");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_outlives_what_the_group_allows_is_refused() {
    let cluster = Cluster::tuned(1, 1, in_mode(Mode::Overlap)).await;
    let request = |session_timeout_ms| RegisterRequest { session_timeout_ms, ..full("a", "a-1") };
    let refused = Member::register(&cluster.nodes[0], request(60_001)).await.err().expect("it is refused");
    assert!(refused.message().contains("allows 60000 at most"), "{refused}");
    Member::register(&cluster.nodes[0], request(60_000)).await.expect("it registers");
    cluster.stop().await;
}
