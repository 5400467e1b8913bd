//! Consumers whose process seems to be dead: who is marked, when, and who removes the mark.

use std::time::Duration;

use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::FenceReason as EndReason;
use kafka_assigner_core::record::{Consumer, DeathSign, Standing, Suspicion, decode, encode};
use kafka_assigner_proto::v1::{
    Capability, DeregisterMode, FenceReason, HeartbeatOutcome, RegisterRequest, Renewal,
};
use kafka_assigner_store::Store as _;
use kafka_assigner_store::faulty::{Outage, Rates};
use kafka_assigner_types::kv::{Compare, LeaseId, Must, Op, Record, Txn};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::cluster::{Cluster, Node, layout};
use crate::member::{Member, full};
use crate::served::{Served, until};

/// A consumer that says that it lives when its stream ended, in a process of its own.
fn present(name: &str) -> RegisterRequest {
    let mut request = full(name, &format!("{name}-1"));
    request.capabilities.push(Capability::Present.into());
    request.process = format!("process of {name}");
    request
}

async fn join(node: &Node, name: &str) -> Member {
    Member::register(node, present(name)).await.expect("it registers")
}

async fn registration(cluster: &Cluster, name: &str) -> Option<(Record, Consumer)> {
    let record = cluster.get(&Key::Consumer(name.parse().expect("a name"))).await?;
    let consumer = decode(&record.value).expect("readable");
    Some((record, consumer))
}

async fn mark(cluster: &Cluster, name: &str) -> Option<Suspicion> {
    registration(cluster, name).await?.1.suspected
}

/// Waits until the registration of `name` has a mark; returns the time at which it was so.
async fn until_marked(cluster: &Cluster, name: &str) -> Instant {
    let what = format!("{name} is marked");
    let holds = |state: &kafka_assigner_core::state::GroupState| {
        state.registration(&name.parse().expect("a name")).is_some_and(|r| r.suspected.is_some())
    };
    cluster.until(&what, holds).await;
    Instant::now()
}

/// Waits until `node` has marked a session, however soon the mark is gone.
async fn until_marked_in_passing(node: &Node) {
    let begin = Instant::now();
    while counts(node, "suspicions_total") == 0 {
        sleep(SOON / 10).await;
        assert!(begin.elapsed() <= LONG, "it marks nobody");
    }
}

fn counts(node: &Node, metric: &str) -> u64 {
    let text = node.metrics();
    let lines = text.lines().filter(|line| line.starts_with(metric));
    lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum()
}

/// So much time in which nobody is marked, but for how long that takes.
const LONG: Duration = Duration::from_secs(5);

const SOON: Duration = Duration::from_millis(100);

#[tokio::test(start_paused = true)]
async fn a_killed_client_is_marked_within_a_second() {
    let cluster = Cluster::start(2, 1).await;
    let member = join(&cluster.nodes[1], "a").await;
    sleep(Duration::from_secs(9)).await;
    assert_eq!(mark(&cluster, "a").await, None);
    let begin = Instant::now();
    drop(member);
    let marked = until_marked(&cluster, "a").await;
    assert!(marked - begin >= Duration::from_secs(1), "{:?}", marked - begin);
    assert!(marked - begin <= Duration::from_secs(1) + SOON, "{:?}", marked - begin);
    let suspicion = mark(&cluster, "a").await.expect("a mark");
    assert_eq!((&suspicion.sign, suspicion.by.as_str()), (&DeathSign::Detached, "i1"));
    assert_eq!(suspicion.stream, 1);
    assert!(
        (19_500..=20_000).contains(&suspicion.rest_ms),
        "its last sign of life was 10 s ago: {suspicion:?}"
    );
    let metrics = cluster.nodes[1].metrics();
    assert!(metrics.contains("suspicions_total{group=\"g\",sign=\"detached\"} 1"), "{metrics}");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn whoever_would_not_say_that_it_lives_is_never_marked() {
    let cluster = Cluster::start(1, 1).await;
    let smallest = RegisterRequest { renewal: Renewal::Server.into(), ..present("smallest") };
    let smallest = Member::register(&cluster.nodes[0], smallest).await.unwrap();
    let old = Member::join(&cluster.nodes[0], "old").await;
    drop((smallest, old));
    sleep(LONG).await;
    assert!(registration(&cluster, "old").await.is_some());
    for name in ["smallest", "old"] {
        assert_eq!(mark(&cluster, name).await, None);
    }
    assert_eq!(counts(&cluster.nodes[0], "suspicions_"), 0, "nor is that counted");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_is_told_to_suspect_nobody_does_not() {
    let cluster = Cluster::tuned(1, 1, |options| options.suspect_after = Duration::ZERO).await;
    drop(join(&cluster.nodes[0], "a").await);
    sleep(LONG).await;
    assert_eq!(mark(&cluster, "a").await, None);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_consumer_that_drains_may_die_as_well() {
    let cluster = Cluster::start(1, 2).await;
    let _taker = join(&cluster.nodes[0], "b").await;
    let mut member = join(&cluster.nodes[0], "a").await;
    member.until("one of two", |roles| roles.assigned.len() == 1).await;
    member.deregister(DeregisterMode::Drain).await.unwrap();
    drop(member);
    until_marked(&cluster, "a").await;
    cluster.stop().await;
}

// The connection breaks, and the client is elsewhere long before the instance that saw the end marks it.
#[tokio::test(start_paused = true)]
async fn a_client_that_reconnected_elsewhere_is_not_marked() {
    let cluster = Cluster::start(2, 1).await;
    let member = join(&cluster.nodes[0], "a").await;
    sleep(LONG).await;
    let lost = member.resumption();
    drop(member);
    sleep(Duration::from_millis(300)).await;
    let there = Member::register(&cluster.nodes[1], lost).await.unwrap();
    assert_eq!(there.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    sleep(LONG).await;
    assert_eq!(counts(&cluster.nodes[0], "suspicions_total"), 0);
    assert_eq!(counts(&cluster.nodes[0], "suspicions_withheld_total{group=\"g\",reason=\"renewed\"}"), 1);
    cluster.stop().await;
}

// Its container began again at once: the new process registers while the mark of the old one is being written.
#[tokio::test(start_paused = true)]
async fn a_process_that_is_back_under_its_name_meets_no_mark() {
    let cluster = Cluster::start(2, 1).await;
    let old = join(&cluster.nodes[0], "a").await;
    sleep(LONG).await;
    drop(old);
    sleep(Duration::from_millis(500)).await;
    cluster.nodes[1].link.set_rates(Rates { delay: Duration::from_millis(300), ..Rates::default() });
    let mut again = present("a");
    again.incarnation = "a-2".to_owned();
    let back = Member::register(&cluster.nodes[1], again).await.expect("it takes over");
    assert_eq!(
        counts(&cluster.nodes[0], "suspicions_total"),
        1,
        "the mark came between its read and its write"
    );
    assert_eq!(back.roles.fenced, None);
    assert_eq!(mark(&cluster, "a").await, None);
    cluster.stop().await;
}

// A link freezes and heals: the end of the old stream comes when the client has long been elsewhere.
#[tokio::test(start_paused = true)]
async fn an_end_that_comes_late_harms_nobody() {
    let cluster = Cluster::start(2, 1).await;
    let frozen = join(&cluster.nodes[0], "a").await;
    sleep(Duration::from_secs(9)).await;
    let there = frozen.resume(&cluster.nodes[1]).await.unwrap();
    sleep(Duration::from_secs(3)).await;
    drop(frozen);
    until_marked_in_passing(&cluster.nodes[0]).await;
    sleep(SOON).await;
    assert_eq!(mark(&cluster, "a").await, None);
    assert_eq!(counts(&cluster.nodes[1], "suspicions_removed_total{group=\"g\",reason=\"stream\"}"), 1);
    assert_eq!(there.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    cluster.stop().await;
}

// An instance stood still: all its clients left, and it sees the ends of all their streams at once.
#[tokio::test(start_paused = true)]
async fn many_ends_at_once_make_no_mark() {
    let cluster = Cluster::start(2, 1).await;
    let mut streams = Vec::new();
    for n in 0..4 {
        streams.push(join(&cluster.nodes[0], &format!("c{n}")).await);
    }
    drop(streams);
    sleep(LONG).await;
    for n in 0..4 {
        assert_eq!(mark(&cluster, &format!("c{n}")).await, None);
    }
    assert_eq!(counts(&cluster.nodes[0], "suspicions_withheld_total{group=\"g\",reason=\"mass\"}"), 4);
    // Three may be a machine that died, and the consumers of one process are one.
    let mut streams = Vec::new();
    for n in 0..6 {
        let process = format!("process {}", n % 3);
        let request = RegisterRequest { process, ..present(&format!("d{n}")) };
        streams.push(Member::register(&cluster.nodes[0], request).await.unwrap());
    }
    drop(streams);
    for n in 0..6 {
        until_marked(&cluster, &format!("d{n}")).await;
    }
    cluster.stop().await;
}

// It stood still itself. What it has not heard, the lease tells.
#[tokio::test(start_paused = true)]
async fn an_instance_that_stood_still_for_a_while_asks_the_lease() {
    let cluster = Cluster::start(2, 1).await;
    let dead = join(&cluster.nodes[0], "a").await;
    let mut alive = join(&cluster.nodes[0], "b").await;
    sleep(LONG).await;
    drop(dead);
    alive.node = cluster.nodes[1].clone();
    alive.close();
    sleep(SOON).await;
    assert_eq!(alive.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    tokio::time::advance(Duration::from_secs(4)).await;
    until_marked(&cluster, "a").await;
    sleep(LONG).await;
    assert_eq!(mark(&cluster, "b").await, None);
    assert_eq!(counts(&cluster.nodes[0], "suspicions_total"), 1);
    cluster.stop().await;
}

// Nor does it lose count of those that ended at once.
#[tokio::test(start_paused = true)]
async fn an_instance_that_stood_still_knows_how_many_ended_at_once() {
    let cluster = Cluster::start(1, 1).await;
    let mut streams = Vec::new();
    for n in 0..4 {
        streams.push(join(&cluster.nodes[0], &format!("c{n}")).await);
    }
    drop(streams);
    sleep(SOON).await;
    tokio::time::advance(Duration::from_secs(4)).await;
    sleep(LONG).await;
    assert_eq!(counts(&cluster.nodes[0], "suspicions_total"), 0);
    assert_eq!(counts(&cluster.nodes[0], "suspicions_withheld_total{group=\"g\",reason=\"mass\"}"), 4);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_stood_still_for_long_marks_nobody() {
    let cluster = Cluster::start(1, 1).await;
    let member = join(&cluster.nodes[0], "a").await;
    sleep(LONG).await;
    drop(member);
    sleep(SOON).await;
    tokio::time::advance(Duration::from_secs(12)).await;
    sleep(LONG).await;
    assert_eq!(mark(&cluster, "a").await, None);
    let withheld = "suspicions_withheld_total{group=\"g\",reason=\"undecided\"}";
    assert!(counts(&cluster.nodes[0], withheld) > 0, "{}", cluster.nodes[0].metrics());
    cluster.stop().await;
}

// It takes seconds until a client has a stream again, and it is alive all the time.
#[tokio::test(start_paused = true)]
async fn a_heartbeat_is_confirmed_only_after_the_mark_is_gone() {
    let cluster = Cluster::start(2, 1).await;
    let mut member = join(&cluster.nodes[0], "a").await;
    sleep(LONG).await;
    let (lost, begin) = (member.resumption(), Instant::now());
    member.node = cluster.nodes[1].clone();
    member.close();
    let mut marks = 0;
    for half_seconds in 3..=10 {
        sleep_until(begin + Duration::from_millis(500) * half_seconds).await;
        marks += u32::from(mark(&cluster, "a").await.is_some());
        assert_eq!(member.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
        assert_eq!(mark(&cluster, "a").await, None, "after {:?}", begin.elapsed());
    }
    assert_eq!(marks, 1);
    assert_eq!(counts(&cluster.nodes[1], "suspicions_removed_total{group=\"g\",reason=\"heartbeat\"}"), 1);
    let back = Member::register(&cluster.nodes[1], lost).await.unwrap();
    assert_eq!(back.roles.fenced, None, "it has its session");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_resume_is_answered_only_after_the_mark_is_gone() {
    let cluster = Cluster::start(2, 1).await;
    let member = join(&cluster.nodes[0], "a").await;
    let lost = member.resumption();
    drop(member);
    until_marked(&cluster, "a").await;
    let _back = Member::register(&cluster.nodes[1], lost).await.unwrap();
    assert_eq!(mark(&cluster, "a").await, None);
    assert_eq!(counts(&cluster.nodes[1], "suspicions_removed_total{group=\"g\",reason=\"resume\"}"), 1);
    cluster.stop().await;
}

/// Ends a session by its mark, as a leader does: false where the mark is gone.
async fn end_by_mark(cluster: &Cluster, marked: &Record) -> bool {
    let consumer: Consumer = decode(&marked.value).expect("readable");
    let ended = Consumer { standing: Standing::Ending(EndReason::Suspected), ..consumer };
    let guard = Compare::new(marked.key.clone(), Must::HaveModRevision(marked.mod_revision));
    let write = Op::put_leased(marked.key.clone(), encode(&ended), marked.lease);
    cluster.memory.txn(Txn::guarded(vec![guard], vec![write])).await.expect("memory answers").succeeded
}

// Either the removal or the end is first, however the two fall together.
#[tokio::test(start_paused = true)]
async fn a_heartbeat_and_the_end_by_suspicion_are_in_one_order() {
    let mut ends = 0;
    for offset in (0..200).step_by(5) {
        let cluster = Cluster::start(2, 1).await;
        let mut member = join(&cluster.nodes[0], "a").await;
        member.node = cluster.nodes[1].clone();
        member.close();
        until_marked(&cluster, "a").await;
        let (marked, _) = registration(&cluster, "a").await.expect("registered");
        cluster.nodes[1].link.set_rates(Rates { delay: Duration::from_millis(20), ..Rates::default() });
        let ending = async {
            sleep(Duration::from_millis(offset)).await;
            end_by_mark(&cluster, &marked).await
        };
        let (answer, is_ended) = tokio::join!(member.heartbeat(), ending);
        let outcome = if is_ended { HeartbeatOutcome::Fenced } else { HeartbeatOutcome::Confirmed };
        assert_eq!(answer.outcome(), outcome, "ended after {offset} ms");
        if let Some(fenced) = answer.fenced {
            assert_eq!(fenced.reason(), FenceReason::Suspected);
        }
        ends += u32::from(is_ended);
        cluster.stop().await;
    }
    assert!(ends > 0 && ends < 40, "both orders were met: {ends}");
}

#[tokio::test(start_paused = true)]
async fn who_leaves_and_closes_at_once_is_not_marked_wherever_it_said_so() {
    let cluster = Cluster::start(2, 1).await;
    for (name, mode) in [("a", DeregisterMode::Now), ("b", DeregisterMode::Restart)] {
        let mut member = join(&cluster.nodes[0], name).await;
        member.node = cluster.nodes[1].clone();
        member.deregister(mode).await.unwrap();
        drop(member);
    }
    sleep(LONG).await;
    for name in ["a", "b"] {
        assert_eq!(registration(&cluster, name).await, None, "a mark never creates a registration");
    }
    assert_eq!(counts(&cluster.nodes[0], "suspicions_total"), 0);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn who_was_told_to_go_elsewhere_is_not_marked() {
    let cluster = Cluster::start(2, 1).await;
    let mut member = join(&cluster.nodes[0], "a").await;
    let stopping = cluster.nodes[0].instance.clone();
    let stopping = tokio::spawn(async move { stopping.stop(Duration::from_secs(30)).await });
    member.until("it is told to go", |roles| roles.go_away.is_some()).await;
    drop(member);
    stopping.await.unwrap();
    sleep(LONG).await;
    assert_eq!(mark(&cluster, "a").await, None);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn only_the_end_of_the_last_stream_here_counts() {
    let cluster = Cluster::start(1, 1).await;
    let old = join(&cluster.nodes[0], "a").await;
    let new = old.resume(&cluster.nodes[0]).await.unwrap();
    drop(old);
    sleep(LONG).await;
    assert_eq!(mark(&cluster, "a").await, None);
    assert_eq!(counts(&cluster.nodes[0], "suspicions_withheld_total{group=\"g\",reason=\"alive\"}"), 1);
    drop(new);
    until_marked(&cluster, "a").await;
    cluster.stop().await;
}

/// Keeps a session alive past all instances for `span`, as a store does that gives every lease its whole time again; once
/// where that is a second.
async fn prolong(cluster: &Cluster, member: &Member, span: Duration) {
    let end = Instant::now() + span;
    while Instant::now() < end {
        cluster.memory.keep_alive(LeaseId(member.roles.lease)).await.expect("it lives");
        sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stands_still_is_marked_by_who_heard_it_last() {
    let cluster = Cluster::start(2, 1).await;
    let mut member = join(&cluster.nodes[0], "a").await;
    assert_eq!(member.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    sleep(Duration::from_secs(20)).await;
    prolong(&cluster, &member, Duration::from_secs(1)).await;
    sleep(Duration::from_secs(13)).await;
    assert_eq!(mark(&cluster, "a").await, None, "it may be heard elsewhere");
    sleep(Duration::from_secs(12)).await;
    let suspicion = mark(&cluster, "a").await.expect("nobody has heard it since");
    assert_eq!((suspicion.sign, suspicion.by.as_str()), (DeathSign::Silent, "i0"));
    prolong(&cluster, &member, LONG).await;
    assert!(mark(&cluster, "a").await.is_some(), "its stream is no sign of life");
    member.node = cluster.nodes[1].clone();
    assert_eq!(member.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    assert_eq!(mark(&cluster, "a").await, None);
    cluster.stop().await;
}

// Its members restart one after the other, and each change of etcd's leader gives all leases their whole time again.
#[tokio::test(start_paused = true)]
async fn a_rolling_restart_of_the_store_hides_no_death() {
    let cluster = Cluster::start(1, 1).await;
    let member = join(&cluster.nodes[0], "a").await;
    assert_eq!(member.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    for _ in 0..3 {
        sleep(Duration::from_secs(20)).await;
        prolong(&cluster, &member, Duration::from_secs(1)).await;
    }
    sleep(Duration::from_secs(25)).await;
    let suspicion = mark(&cluster, "a").await.expect("nobody has heard it since");
    assert_eq!(suspicion.sign, DeathSign::Silent);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_heard_by_another_instance_is_not_marked() {
    let cluster = Cluster::start(2, 1).await;
    let mut member = join(&cluster.nodes[0], "a").await;
    assert_eq!(member.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    member.node = cluster.nodes[1].clone();
    for _ in 0..15 {
        sleep(Duration::from_secs(10)).await;
        assert_eq!(member.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    }
    assert_eq!(counts(&cluster.nodes[0], "suspicions_total"), 0);
    let withheld = "suspicions_withheld_total{group=\"g\",reason=\"renewed\"}";
    assert_eq!(counts(&cluster.nodes[0], withheld), 5, "so many looks, and then it is another instance's");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_could_not_reach_its_store_has_not_missed_a_heartbeat() {
    let cluster = Cluster::start(2, 1).await;
    let member = join(&cluster.nodes[0], "a").await;
    assert_eq!(member.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    cluster.nodes[0].link.begin_outage(Outage::Refusing);
    prolong(&cluster, &member, Duration::from_secs(40)).await;
    cluster.nodes[0].link.end_outage();
    sleep(Duration::from_secs(14)).await;
    prolong(&cluster, &member, Duration::from_secs(1)).await;
    sleep(Duration::from_secs(10)).await;
    assert_eq!(mark(&cluster, "a").await, None);
    sleep(Duration::from_secs(10)).await;
    assert!(mark(&cluster, "a").await.is_some());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_instance_without_its_store_marks_nobody_afterwards() {
    let cluster = Cluster::start(2, 1).await;
    let member = join(&cluster.nodes[0], "a").await;
    cluster.nodes[0].link.begin_outage(Outage::Refusing);
    drop(member);
    sleep(LONG + Duration::from_secs(1)).await;
    cluster.nodes[0].link.end_outage();
    let marked = timeout(LONG, until_marked(&cluster, "a")).await;
    assert!(marked.is_err(), "its lease decides");
    let withheld = "suspicions_withheld_total{group=\"g\",reason=\"undecided\"}";
    assert_eq!(counts(&cluster.nodes[0], withheld), 5, "one for each look");
    cluster.stop().await;
}

// Over a real connection: what the kernel does for a process that dies.
#[tokio::test]
async fn a_connection_that_its_client_closes_is_a_sign_of_death() {
    let served = Served::start().await;
    served.topic(1).await;
    let mut commands = served.register(present("a")).await;
    commands.message().await.expect("a command").expect("not the end");
    let key = layout().encode(&Key::Consumer("a".parse().expect("a name")));
    let mark = async || {
        let (record, _) = served.link.inner().get(&key).await.expect("memory answers");
        record.and_then(|record| decode::<Consumer>(&record.value).expect("readable").suspected)
    };
    assert_eq!(mark().await, None);
    drop(commands);
    until("it is marked", mark, Option::is_some).await;
}

fn oldest_heartbeat(node: &Node) -> Option<f64> {
    let text = node.metrics();
    let line = text.lines().find(|line| line.contains("oldest_heartbeat_seconds{group=\"g\"}"))?;
    line.rsplit_once(' ')?.1.parse().ok()
}

#[tokio::test(start_paused = true)]
async fn the_age_of_the_oldest_heartbeat_is_shown_where_it_was_heard_last() {
    let cluster = Cluster::start(2, 1).await;
    let (a, b) = (join(&cluster.nodes[0], "a").await, join(&cluster.nodes[0], "b").await);
    a.heartbeat().await;
    sleep(Duration::from_secs(3)).await;
    b.heartbeat().await;
    sleep(Duration::from_secs(3)).await;
    let age = oldest_heartbeat(&cluster.nodes[0]).expect("it heard both");
    assert!((5.0..=6.5).contains(&age), "{age}");
    assert_eq!(oldest_heartbeat(&cluster.nodes[1]), None, "it heard nobody");
    sleep(Duration::from_secs(60)).await;
    assert_eq!(oldest_heartbeat(&cluster.nodes[0]), None, "both are over");
    cluster.stop().await;
}
