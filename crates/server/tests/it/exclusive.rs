//! Handoffs in `exclusive`: the old owner stops before the new one begins.

use std::time::Duration;

use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{Phase, Source, Topic, encode};
use kafka_assigner_core::state::GroupState;
use kafka_assigner_proto::v1::AckOutcome;
use kafka_assigner_server::Options;
use kafka_assigner_store::faulty::Outage;
use kafka_assigner_types::mode::Mode;
use tokio::time::Instant;

use crate::cluster::{Cluster, group};
use crate::member::Member;
use crate::served::until;
use crate::worker::Worker;

pub(crate) fn exclusive(options: &mut Options) {
    options.group_defaults.mode = Mode::Exclusive;
}

fn catching_up(options: &mut Options) {
    exclusive(options);
    options.group_defaults.catch_up = true;
}

/// An owner of `partitions`, and a newcomer that is to take half of them and has warmed up: the owner is told to drain.
pub(crate) async fn draining(partitions: u32, tune: impl Fn(&mut Options)) -> (Cluster, Member, Member) {
    let cluster = Cluster::tuned(1, partitions, tune).await;
    let half = (partitions / 2) as usize;
    let mut old = Member::join(&cluster.nodes[0], "a").await;
    old.until("all", |roles| roles.assigned.len() == 2 * half).await;
    let mut new = Member::join(&cluster.nodes[0], "b").await;
    new.until("half to warm", |roles| roles.warming.len() == half).await;
    assert_eq!(new.ready().await, vec![AckOutcome::Applied; half]);
    old.until("it shall stop", |roles| roles.draining.len() == half).await;
    (cluster, old, new)
}

fn phases(state: &GroupState) -> impl Iterator<Item = Phase> {
    state.handoffs().keys().filter_map(|at| state.handoff(at)).map(|handoff| handoff.phase)
}

/// The leader writes no step of such a move: the instance that hears the last word of the old owner does.
#[tokio::test(start_paused = true)]
async fn a_move_is_counted_whoever_writes_it() {
    let (cluster, old, mut new) = draining(4, exclusive).await;
    assert_eq!(old.drained(42).await, [AckOutcome::Applied; 2]);
    new.until("it owns both", |roles| roles.assigned.len() == 2).await;
    for (reason, moves) in [("unowned", 4), ("handed_over", 2)] {
        let line = format!("moves_total{{group=\"{}\",reason=\"{reason}\"}} {moves}\n", group());
        until(&line, async || cluster.nodes[0].metrics(), |text| text.contains(&line)).await;
    }
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_new_owner_starts_where_the_old_one_stopped() {
    let (cluster, mut old, mut new) = draining(4, exclusive).await;
    assert!(new.roles.assigned.is_empty(), "nobody owns it while the old one stops");
    let since = Instant::now();
    assert_eq!(old.drained(42).await, [AckOutcome::Applied; 2], "several in one call");
    new.until("it owns both", |roles| roles.assigned.len() == 2).await;
    assert!(since.elapsed() < Duration::from_millis(5), "no leader in between: {:?}", since.elapsed());
    assert!(new.roles.assigned.values().all(|a| a.start_offset == Some(42) && a.epoch == a.run));
    old.until("it lets go", |roles| roles.releasing.len() == 2).await;
    assert_eq!(new.taken().await, [AckOutcome::Applied; 2]);
    assert_eq!(old.released().await, [AckOutcome::Applied; 2]);
    assert_eq!(cluster.settled(2).await.values().copied().collect::<Vec<_>>(), [2, 2]);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn with_a_catch_up_nobody_owns_it_before_the_rest_is_read() {
    let (cluster, mut old, mut new) = draining(4, catching_up).await;
    assert_eq!(old.drained(42).await, [AckOutcome::Applied; 2]);
    new.until("it reads the rest", |roles| roles.catching_up.len() == 2).await;
    assert!(new.roles.catching_up.values().all(|c| c.until_offset == Some(42)));
    let reserved: Vec<u64> = new.roles.catching_up.values().map(|c| c.epoch).collect();
    assert_eq!(new.caught_up().await, [AckOutcome::Applied; 2], "several in one call");
    new.until("it owns both", |roles| roles.assigned.len() == 2).await;
    assert_eq!(new.roles.assigned.values().map(|a| a.epoch).collect::<Vec<_>>(), reserved);
    old.until("it lets go", |roles| roles.releasing.len() == 2).await;
    cluster.stop().await;
}

/// As [`draining`], with both members on an instance that does not lead; the leader is cut off.
async fn without_leader() -> (Cluster, Member, Member) {
    let mut cluster = Cluster::tuned(1, 4, exclusive).await;
    let mut old = Member::join(&cluster.nodes[0], "a").await;
    old.until("all", |roles| roles.assigned.len() == 4).await;
    cluster.add(exclusive, None).await;
    let mut new = Member::join(&cluster.nodes[0], "b").await;
    new.until("half to warm", |roles| roles.warming.len() == 2).await;
    new.ready().await;
    old.until("it shall stop", |roles| roles.draining.len() == 2).await;
    let other = &cluster.nodes[1];
    let (old, new) =
        (old.resume(other).await.expect("it resumes"), new.resume(other).await.expect("it resumes"));
    cluster.nodes[0].link.begin_outage(Outage::Silent);
    (cluster, old, new)
}

#[tokio::test(start_paused = true)]
async fn moves_that_drain_finish_without_a_leader() {
    let (cluster, old, mut new) = without_leader().await;
    let since = Instant::now();
    assert_eq!(old.drained(9).await, [AckOutcome::Applied; 2]);
    new.until("it owns both", |roles| roles.assigned.len() == 2).await;
    assert!(since.elapsed() < Duration::from_millis(5), "{:?}", since.elapsed());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn where_the_new_owner_vanished_the_word_is_kept_and_the_old_one_goes_on_from_there() {
    let (cluster, mut old, new) = without_leader().await;
    cluster.revoke(new.roles.lease).await;
    assert_eq!(old.drained(7).await, [AckOutcome::Applied; 2]);
    let group = cluster.nodes[1].instance.group(&group()).await.unwrap();
    let stand: Vec<Phase> = group.read(|state| phases(state).collect());
    assert_eq!(stand, [Phase::Draining; 2], "nothing follows before a leader looks at it");
    cluster.nodes[0].link.end_outage();
    old.until("it goes on", |roles| roles.assigned.len() == 4).await;
    let resumed = old.roles.assigned.values().filter(|a| a.start_offset == Some(7));
    assert!(resumed.clone().all(|a| a.run < a.epoch), "its runs go on");
    assert_eq!(resumed.count(), 2);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_handoff_ends_by_itself_between_two_that_do_what_they_are_told() {
    for tune in [exclusive as fn(&mut Options), catching_up] {
        let cluster = Cluster::tuned(2, 12, tune).await;
        let mut workers = Worker::several(&cluster.nodes, ["a", "b", "c"].map(str::to_owned)).await;
        assert!(cluster.settled(3).await.values().all(|count| *count == 4));
        workers[0].leave();
        let left = cluster.settled(2).await;
        assert_eq!(left.values().copied().collect::<Vec<_>>(), [6, 6]);
        workers[0].until("it left", |roles| roles.fenced.is_some()).await;
        cluster.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_lasts_too_long_is_called_off_and_the_owner_goes_on() {
    let (cluster, mut old, new) = draining(2, |options| {
        exclusive(options);
        options.group_defaults.phase_deadline_ms = 4_000;
        options.group_defaults.session_timeout_ms = 600_000;
        options.group_defaults.max_session_timeout_ms = 600_000;
    })
    .await;
    let since = Instant::now();
    old.until("it goes on", |roles| roles.draining.is_empty() && roles.assigned.len() == 2).await;
    assert!(since.elapsed() >= Duration::from_secs(4), "{:?}", since.elapsed());
    drop(new);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_switch_that_meets_its_guard_keeps_the_word_alone() {
    let (cluster, mut old, new) = without_leader().await;
    let node = &cluster.nodes[1];
    node.link.hold_watches();
    cluster.revoke(new.roles.lease).await;
    // The instance does not know: what it writes meets the guard on the new owner.
    let late = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        node.link.release_watches();
    };
    let (said, ()) = tokio::join!(old.drained(7), late);
    assert_eq!(said, [AckOutcome::Applied; 2]);
    let group = node.instance.group(&group()).await.unwrap();
    assert_eq!(group.read(|state| phases(state).collect::<Vec<_>>()), [Phase::Draining; 2]);
    cluster.nodes[0].link.end_outage();
    old.until("it goes on", |roles| roles.assigned.len() == 4).await;
    assert_eq!(old.roles.assigned.values().filter(|a| a.start_offset == Some(7)).count(), 2);
    cluster.stop().await;
}

/// `t` and `u`, whose partitions of one number move as one.
async fn a_set(cluster: &Cluster) {
    for name in ["t", "u"] {
        let topic = Topic { copartition: Some("s".to_owned()), ..Topic::new(2, Source::Static) };
        cluster.put(&Key::Topic(name.parse().expect("a name")), encode(&topic)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_set_changes_hands_as_one_in_every_strict_mode() {
    for mode in [Mode::Exclusive, Mode::Routed] {
        let cluster = Cluster::tuned(1, 2, |options| options.group_defaults.mode = mode).await;
        a_set(&cluster).await;
        let mut old = Member::join(&cluster.nodes[0], "a").await;
        old.until("all", |roles| roles.assigned.len() == 4).await;
        let mut new = Member::join(&cluster.nodes[0], "b").await;
        new.until("one set to warm", |roles| roles.warming.len() == 2).await;
        new.ready().await;
        old.until("it shall stop", |roles| roles.draining.len() == 2).await;
        old.drained(5).await;
        if mode == Mode::Routed {
            new.until("it shall catch up", |roles| roles.catching_up.len() == 2).await;
            assert!(new.roles.assigned.is_empty(), "nobody owns a part of it before");
            new.caught_up().await;
        }
        new.until("it owns the set", |roles| roles.assigned.len() == 2).await;
        let epochs: Vec<u64> = new.roles.assigned.values().map(|a| a.epoch).collect();
        assert_eq!(epochs[0], epochs[1], "one step of the epoch");
        assert!(new.roles.assigned.values().all(|a| a.start_offset == Some(5)));
        old.until("it lets go", |roles| roles.releasing.len() == 2).await;
        new.taken().await;
        old.released().await;
        assert_eq!(cluster.settled(2).await.values().copied().collect::<Vec<_>>(), [2, 2]);
        cluster.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn sets_move_by_themselves_in_every_strict_mode() {
    for mode in [Mode::Exclusive, Mode::Routed] {
        let cluster = Cluster::tuned(2, 2, |options| options.group_defaults.mode = mode).await;
        a_set(&cluster).await;
        let workers = Worker::several(&cluster.nodes, ["a", "b"].map(str::to_owned)).await;
        assert_eq!(cluster.settled(2).await.values().copied().collect::<Vec<_>>(), [2, 2]);
        workers[0].leave();
        assert_eq!(cluster.settled(1).await.values().copied().collect::<Vec<_>>(), [4]);
        cluster.stop().await;
    }
}
