use std::time::Duration;

use kafka_assigner_client::{
    Consumer, ConsumerError, ConsumerHandle, ConsumerOptions, Epoch, FailingPartition, LeaseId, Offset,
    OnStop, Stopped, StoppedPartition, TopicPartition,
};
use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::{
    self, AssignedPartition, Assignment, DeregisterMode, FailingPartitions, FenceReason, GoAway, Release,
    ReleasePartition, Snapshot, UnassignedPartition, Warm, WarmPartition,
};
use kafka_assigner_session::Clock;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::fake::{Asked, Fake, Pulse};
use crate::recorder::{Manner, Recorder};

/// A consumer that runs beside the test.
pub(crate) struct Running {
    pub(crate) fake: Fake,
    pub(crate) recorder: Recorder,
    pub(crate) handle: ConsumerHandle,
    shutdown: CancellationToken,
    pub(crate) end: JoinHandle<Result<Stopped, ConsumerError>>,
}

pub(crate) fn options() -> ConsumerOptions {
    ConsumerOptions { seed: Some(4), ..ConsumerOptions::new("a", ["http://one", "http://two"]) }
}

pub(crate) fn start(fake: Fake, options: ConsumerOptions, manner: Manner) -> Running {
    start_on(Clock::start(), fake, options, manner)
}

pub(crate) fn start_on(clock: Clock, fake: Fake, options: ConsumerOptions, manner: Manner) -> Running {
    let recorder = Recorder::with(manner);
    let consumer = Consumer::on_clock(options, fake.clone(), clock).expect("valid options");
    let (handle, shutdown) = (consumer.handle(), CancellationToken::new());
    let end = tokio::spawn(consumer.run_in_place(recorder.clone(), shutdown.clone()));
    Running { fake, recorder, handle, shutdown, end }
}

/// A consumer that owns t/0 under epoch 5.
pub(crate) async fn owning(options: ConsumerOptions, manner: Manner) -> Running {
    let fake = Fake::new();
    fake.show(Snapshot { assigned: vec![grant(0, 5, "")], ..Snapshot::default() });
    let mut running = start(fake, options, manner);
    running.handle.wait_for(|status| status.partitions.owned == 1).await.expect("it runs");
    running
}

pub(crate) fn grant(partition: i32, epoch: u64, handoff_id: &str) -> AssignedPartition {
    let (topic, handoff_id) = ("t".into(), handoff_id.into());
    AssignedPartition { topic, partition, epoch, run: epoch, handoff_id, ..AssignedPartition::default() }
}

pub(crate) fn assign(granted: AssignedPartition) -> Command {
    Command::Assignment(Assignment { assigned: vec![granted], ..Assignment::default() })
}

pub(crate) fn unassign(partition: i32) -> Command {
    let gone = UnassignedPartition { topic: "t".into(), partition, ..UnassignedPartition::default() };
    Command::Assignment(Assignment { unassigned: vec![gone], ..Assignment::default() })
}

pub(crate) fn warm(partition: i32, handoff_id: &str) -> Command {
    let (topic, handoff_id) = ("t".into(), handoff_id.into());
    let current_owner = "b".into();
    let partition = WarmPartition { topic, partition, handoff_id, current_owner, ..WarmPartition::default() };
    Command::Warm(Warm { partitions: vec![partition] })
}

pub(crate) fn release(partition: i32, handoff_id: &str) -> Command {
    let (topic, handoff_id) = ("t".into(), handoff_id.into());
    let partition = ReleasePartition { topic, partition, handoff_id, epoch: 5, new_owner: "b".into() };
    Command::Release(Release { partitions: vec![partition] })
}

impl Running {
    pub(crate) async fn stop(self) -> Result<Stopped, ConsumerError> {
        self.shutdown.cancel();
        self.end.await.expect("no panic")
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_owner_warms_says_ready_is_assigned_and_says_taken() {
    let mut running = start(Fake::new(), options(), Manner::Plain);
    running.handle.wait_for(|status| status.session.is_some()).await.expect("it runs");
    running.fake.push(warm(0, "h"));
    running.fake.wait_for(|asked| *asked == Asked::Ready("h".into())).await;
    running.fake.push(assign(grant(0, 7, "h")));
    running.fake.wait_for(|asked| *asked == Asked::Taken("h".into())).await;
    assert_eq!(running.recorder.lines(), ["warm t/0", "assigned t/0 epoch 7"]);
}

#[tokio::test(start_paused = true)]
async fn an_old_owner_drains_drops_and_says_released() {
    let running = owning(options(), Manner::Plain).await;
    running.fake.push(release(0, "h"));
    running.fake.wait_for(|asked| *asked == Asked::Released("h".into())).await;
    running.recorder.wait_for(&["drain t/0", "release t/0"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_acknowledgement_is_repeated_until_it_is_answered() {
    let running = owning(options(), Manner::Plain).await;
    running.fake.lose_acks(3);
    running.fake.push(release(0, "h"));
    sleep(Duration::from_secs(60)).await;
    let released = running.fake.asked().into_iter().filter(|asked| matches!(asked, Asked::Released(_)));
    assert_eq!(released.count(), 4);
}

#[tokio::test(start_paused = true)]
async fn what_the_service_cannot_decide_is_repeated_alone_and_delays_nothing_else() {
    let running = owning(options(), Manner::Plain).await;
    running.fake.leave_undecided(1, 20);
    running.fake.push(warm(1, "undecided"));
    running.fake.wait_for(|asked| *asked == Asked::Ready("undecided".into())).await;
    sleep(Duration::from_secs(8)).await;
    let since = Instant::now();
    running.fake.push(warm(2, "other"));
    running.fake.wait_for(|asked| *asked == Asked::Ready("other".into())).await;
    assert!(since.elapsed() < Duration::from_millis(10), "{:?}", since.elapsed());
    sleep(Duration::from_secs(60)).await;
    let asked = running.fake.asked();
    let times = |id: &str| asked.iter().filter(|asked| **asked == Asked::Ready(id.into())).count();
    assert_eq!((times("undecided"), times("other")), (21, 1));
    assert!(
        !asked.iter().any(|asked| matches!(asked, Asked::Register { resume_lease: 1.., .. })),
        "{asked:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_failed_preparation_is_declined_with_its_reason() {
    let running = start(Fake::new(), options(), Manner::WarmFails);
    running.handle.clone().wait_for(|status| status.session.is_some()).await.expect("it runs");
    running.fake.push(warm(0, "h"));
    running.fake.wait_for(|asked| *asked == Asked::WarmFailed("h".into(), "no room".into())).await;
    running.recorder.wait_for(&["warm t/0", "release t/0"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_handler_is_a_failure_and_not_the_end() {
    let running = start(Fake::new(), options(), Manner::WarmPanics);
    running.handle.clone().wait_for(|status| status.session.is_some()).await.expect("it runs");
    running.fake.push(warm(0, "h"));
    running.fake.wait_for(|asked| matches!(asked, Asked::WarmFailed(..))).await;
    assert!(!running.end.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_hanging_handler_delays_neither_heartbeats_nor_other_partitions() {
    let running = start(Fake::new(), options(), Manner::WarmHangs);
    running.handle.clone().wait_for(|status| status.session.is_some()).await.expect("it runs");
    running.fake.push(warm(0, "h"));
    running.recorder.wait_for(&["warm t/0"]).await;
    sleep(Duration::from_secs(100)).await;
    assert!(running.fake.heartbeats() >= 9, "{} heartbeats", running.fake.heartbeats());
    running.fake.push(unassign(0));
    running.recorder.wait_for(&["release t/0"]).await;
}

/// The handoffs that the last heartbeat named as waiting for a record.
pub(crate) fn busy_for(fake: &Fake) -> Vec<String> {
    let last = fake.busy().pop().unwrap_or_default();
    last.into_iter().map(|busy| busy.handoff_id).collect()
}

#[tokio::test(start_paused = true)]
async fn who_can_not_let_go_yet_says_so_within_a_second_and_as_long_as_it_is_true() {
    let running = owning(options(), Manner::DrainHangs).await;
    running.fake.push(release(0, "h"));
    running.recorder.wait_for(&["drain t/0"]).await;
    sleep(Duration::from_millis(1_100)).await;
    assert_eq!(busy_for(&running.fake), ["h"]);
    let before = running.fake.heartbeats();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(busy_for(&running.fake), ["h"]);
    assert!(running.fake.heartbeats() - before <= 13, "no news is a reason for a heartbeat each 5 s only");
}

/// The partitions that the last heartbeat named as standing, with the offset, the reason and the epoch of each.
fn stopped_by(fake: &Fake) -> Vec<(i32, i64, String, u64)> {
    let last = fake.stopped().pop().unwrap_or_default();
    last.into_iter().map(|it| (it.partition, it.offset, it.reason, it.epoch)).collect()
}

#[tokio::test(start_paused = true)]
async fn each_heartbeat_names_the_owned_partitions_that_stand() {
    let running = owning(options(), Manner::Plain).await;
    let epoch = running.recorder.owned().epoch();
    let stands = |number: u32| {
        let partition = TopicPartition::try_from(("t", number)).expect("valid");
        let (offset, reason) = (Offset::new(5).expect("valid"), "no amount".to_owned());
        StoppedPartition { partition, epoch, offset, reason, is_of_drain: false }
    };
    running.recorder.stands(vec![stands(0), stands(1)]);
    sleep(Duration::from_secs(11)).await;
    assert_eq!(
        stopped_by(&running.fake),
        [(0, 5, "no amount".to_owned(), epoch.0)],
        "the other one is not owned"
    );
    assert_eq!(running.handle.status().stopped, [stands(0)]);
    let before = running.fake.heartbeats();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(stopped_by(&running.fake).len(), 1);
    assert!(running.fake.heartbeats() - before <= 13, "no news is a reason for a heartbeat each 5 s only");
    running.recorder.stands(Vec::new());
    sleep(Duration::from_millis(1_100)).await;
    assert_eq!(stopped_by(&running.fake), []);
}

#[tokio::test(start_paused = true)]
async fn the_status_shows_the_owned_partitions_whose_next_record_fails() {
    let running = owning(options(), Manner::Plain).await;
    let fails = |number: u32| {
        let partition = TopicPartition::try_from(("t", number)).expect("valid");
        let (epoch, offset) = (Epoch(5), Offset::new(5).expect("valid"));
        FailingPartition { partition, epoch, offset, reason: "no disk".to_owned(), since_unix_ms: 7 }
    };
    running.recorder.fails(vec![fails(0), fails(1)]);
    sleep(Duration::from_secs(11)).await;
    assert_eq!(running.handle.status().failing, [fails(0)], "the other one is not owned");
    assert_eq!(stopped_by(&running.fake), [], "it does not stand");
    running.recorder.fails(Vec::new());
    sleep(Duration::from_secs(11)).await;
    assert_eq!(running.handle.status().failing, []);
}

#[tokio::test(start_paused = true)]
async fn each_heartbeat_names_the_owned_partitions_whose_next_record_fails() {
    let running = owning(options(), Manner::Plain).await;
    let told = || running.fake.failing().pop().flatten().expect("a client of this version tells");
    let fails = |number: u32| {
        let partition = TopicPartition::try_from(("t", number)).expect("valid");
        let (epoch, offset) = (Epoch(5), Offset::new(5).expect("valid"));
        FailingPartition { partition, epoch, offset, reason: "no disk".to_owned(), since_unix_ms: 7 }
    };
    sleep(Duration::from_secs(11)).await;
    assert_eq!(told(), FailingPartitions::default());
    let before = running.fake.heartbeats();
    running.recorder.fails(vec![fails(0), fails(1)]);
    sleep(Duration::from_secs(31)).await;
    let (topic, reason) = ("t".to_owned(), "no disk".to_owned());
    let (partition, epoch, offset, since_unix_ms) = (0, 5, 5, 7);
    let named = v1::FailingPartition { topic, partition, epoch, offset, reason, since_unix_ms };
    assert_eq!(
        told(),
        FailingPartitions { partitions: vec![named], unnamed: 0 },
        "the other one is not owned"
    );
    assert!(running.fake.heartbeats() - before <= 4, "no heartbeat is due for its sake");
    running.recorder.fails(Vec::new());
    sleep(Duration::from_secs(11)).await;
    assert_eq!(told(), FailingPartitions::default());
}

/// The word of a preparation that it can't build the state of the partition.
fn not_built() -> StoppedPartition {
    StoppedPartition {
        partition: TopicPartition::try_from(("t", 0)).expect("valid"),
        epoch: Epoch::default(),
        offset: Offset::new(5).expect("valid"),
        reason: "damaged".to_owned(),
        is_of_drain: false,
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_not_built_before_a_grant_is_not_told_under_it() {
    let running = owning(options(), Manner::Plain).await;
    running.recorder.stands(vec![not_built()]);
    sleep(Duration::from_secs(11)).await;
    assert_eq!(stopped_by(&running.fake), [], "nothing has failed under this grant");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_built_is_told_once_that_failed_under_the_grant() {
    let fake = Fake::new();
    fake.show(Snapshot { assigned: vec![grant(0, 5, "")], ..Snapshot::default() });
    let running = start(fake, options(), Manner::WarmFails);
    running.recorder.stands(vec![not_built()]);
    sleep(Duration::from_secs(11)).await;
    assert_eq!(stopped_by(&running.fake), [(0, 5, "damaged".to_owned(), 0)]);
}

#[tokio::test(start_paused = true)]
async fn an_owner_is_told_what_to_pass_over_with_a_higher_epoch() {
    let running = owning(options(), Manner::Plain).await;
    let owned = running.recorder.owned();
    let (epoch, skip_offset) = (owned.epoch().0, Some(5));
    assert_eq!(owned.skipped_offset(), None);
    running.fake.push(assign(AssignedPartition {
        epoch: epoch + 1,
        run: epoch,
        skip_offset,
        ..grant(0, epoch, "")
    }));
    sleep(Duration::from_millis(100)).await;
    assert_eq!(
        (owned.epoch().0, owned.skipped_offset()),
        (epoch + 1, Offset::new(5).ok()),
        "without another call"
    );
}

#[tokio::test(start_paused = true)]
async fn who_has_let_go_says_of_nothing_any_more_that_it_is_busy() {
    let running = owning(options(), Manner::DrainTakes(Duration::from_secs(40))).await;
    running.fake.push(release(0, "h"));
    sleep(Duration::from_secs(39)).await;
    assert_eq!(busy_for(&running.fake), ["h"]);
    running.fake.wait_for(|asked| *asked == Asked::Released("h".into())).await;
    sleep(Duration::from_millis(1_100)).await;
    assert_eq!(busy_for(&running.fake), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_new_owner_is_busy_until_its_first_record_is_done() {
    let running = start(Fake::new(), options(), Manner::StartTakes(Duration::from_secs(40)));
    running.handle.clone().wait_for(|status| status.session.is_some()).await.expect("it runs");
    running.fake.push(warm(0, "h"));
    running.fake.wait_for(|asked| *asked == Asked::Ready("h".into())).await;
    running.fake.push(assign(grant(0, 7, "h")));
    sleep(Duration::from_secs(39)).await;
    assert_eq!(busy_for(&running.fake), ["h"]);
    running.fake.wait_for(|asked| *asked == Asked::Taken("h".into())).await;
    sleep(Duration::from_millis(1_100)).await;
    assert_eq!(busy_for(&running.fake), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_warm_up_is_reported_each_second_however_rare_heartbeats_are() {
    let running = start(Fake::granting(Duration::from_secs(1_800)), options(), Manner::WarmCounts);
    running.handle.clone().wait_for(|status| status.session.is_some()).await.expect("it runs");
    running.fake.push(warm(0, "h"));
    sleep(Duration::from_secs(20)).await;
    let heartbeats = running.fake.heartbeats();
    assert!((18..=22).contains(&heartbeats), "{heartbeats} heartbeats in 20 s");
}

#[tokio::test(start_paused = true)]
async fn a_spoiled_partition_is_lost_and_prepared_again() {
    let running = owning(options(), Manner::Plain).await;
    running.recorder.owned().spoil();
    running.recorder.wait_for(&["lost t/0", "warm t/0", "assigned t/0 epoch 5"]).await;
    assert!(running.recorder.owned().claim().is_valid());
    assert_eq!(running.handle.status().sessions_lost, 0);
}

#[tokio::test(start_paused = true)]
async fn progress_stands_still_while_a_record_is_in_the_works_and_not_only_after_the_interval() {
    let options = ConsumerOptions { max_poll_interval: Some(Duration::from_secs(300)), ..options() };
    let running = owning(options, Manner::Stuck).await;
    // The first heartbeat that finds the record may have been preceded by progress; no later one.
    sleep(Duration::from_secs(100)).await;
    let progress = running.fake.progress();
    assert!(progress.len() >= 9, "{progress:?}");
    assert!(progress[1..].iter().all(|counter| *counter == progress[1]), "{progress:?}");
}

#[tokio::test(start_paused = true)]
async fn the_restart_of_an_instance_changes_nothing() {
    let running = owning(options(), Manner::Plain).await;
    running.fake.take_down("http://one");
    running.fake.break_stream();
    running.fake.wait_for(|asked| matches!(asked, Asked::Register { resume_lease: 1, .. })).await;
    running.fake.push(Command::GoAway(GoAway::default()));
    sleep(Duration::from_secs(100)).await;
    assert!(running.handle.claim_is_valid());
    assert_eq!(running.handle.status().sessions_lost, 0);
    assert_eq!(running.recorder.lines(), ["warm t/0", "assigned t/0 epoch 5"]);
}

#[tokio::test(start_paused = true)]
async fn a_store_outage_of_five_minutes_changes_nothing() {
    let running = owning(options(), Manner::Plain).await;
    running.fake.pulse(Pulse::StoreUnavailable);
    for _ in 0..300 {
        sleep(Duration::from_secs(1)).await;
        assert!(running.handle.claim_is_valid());
    }
    running.fake.pulse(Pulse::Confirm);
    sleep(Duration::from_secs(60)).await;
    assert!(running.handle.claim_is_valid());
    assert_eq!(running.handle.status().sessions_lost, 0);
}

#[tokio::test(start_paused = true)]
async fn silence_pauses_at_two_thirds_and_an_answer_resumes() {
    let running = owning(options(), Manner::Plain).await;
    let begun = Instant::now();
    running.fake.pulse(Pulse::Silence);
    while running.handle.claim_is_valid() {
        sleep(Duration::from_millis(100)).await;
    }
    let lasted = begun.elapsed();
    assert!((Duration::from_secs(19)..=Duration::from_millis(20_100)).contains(&lasted), "{lasted:?}");
    running.fake.pulse(Pulse::Confirm);
    while !running.handle.claim_is_valid() {
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(running.recorder.lines(), ["warm t/0", "assigned t/0 epoch 5"]);
}

// Without its answer no further heartbeat would be sent, and nobody would know why.
#[tokio::test(start_paused = true)]
async fn a_panic_of_the_transport_ends_the_run_and_is_passed_on() {
    let running = owning(options(), Manner::Plain).await;
    let claim = running.recorder.owned().claim().clone();
    running.fake.pulse(Pulse::Panic);
    assert!(running.end.await.is_err_and(|error| error.is_panic()));
    assert!(!claim.is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_fence_loses_the_partitions_and_a_new_session_starts_over() {
    let mut running = owning(options(), Manner::Plain).await;
    running.fake.show(Snapshot { assigned: vec![grant(0, 9, "")], ..Snapshot::default() });
    running.fake.fence(FenceReason::Expired);
    running.recorder.wait_for(&["lost t/0", "warm t/0", "assigned t/0 epoch 9"]).await;
    let status = running.handle.wait_for(|status| status.session.is_some()).await.expect("it runs");
    assert_eq!((status.sessions_lost, status.session.expect("open").lease), (1, LeaseId(2)));
}

#[tokio::test(start_paused = true)]
async fn another_process_under_the_same_name_ends_this_one() {
    let running = owning(options(), Manner::Plain).await;
    running.fake.fence(FenceReason::Superseded);
    let end = running.end.await.expect("no panic");
    assert_eq!(end, Err(ConsumerError::Superseded("told to".into())));
    assert_eq!(running.recorder.lines().last().map(String::as_str), Some("lost t/0"));
}

// A regular stop hands everything over before it ends.
#[tokio::test(start_paused = true)]
async fn a_stop_drains_by_handoff_and_ends_when_told() {
    let running = owning(options(), Manner::Plain).await;
    running.shutdown.cancel();
    running.fake.wait_for(|asked| *asked == Asked::Deregister(DeregisterMode::Drain)).await;
    assert!(running.handle.claim_is_valid());
    running.fake.push(release(0, "h"));
    running.fake.wait_for(|asked| *asked == Asked::Released("h".into())).await;
    running.fake.push(unassign(0));
    running.fake.fence(FenceReason::Deregistered);
    assert_eq!(running.end.await.expect("no panic"), Ok(Stopped::Left));
    assert!(!running.recorder.lines().iter().any(|line| line.starts_with("lost")));
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_takes_too_long_ends_locally_and_then_now() {
    let running = owning(options(), Manner::Plain).await;
    let (fake, recorder, begun) = (running.fake.clone(), running.recorder.clone(), Instant::now());
    assert_eq!(running.stop().await, Ok(Stopped::Left));
    assert!(begun.elapsed() < Duration::from_secs(18), "{:?}", begun.elapsed());
    assert_eq!(recorder.lines()[2..], ["drain t/0", "release t/0"]);
    assert_eq!(fake.asked().last(), Some(&Asked::Deregister(DeregisterMode::Now)));
}

// A record of 40 s, and a supervisor that kills after 30 s.
#[tokio::test(start_paused = true)]
async fn a_stop_cuts_off_what_takes_too_long_and_then_says_that_it_has_stopped() {
    let running = owning(options(), Manner::DrainTillCut).await;
    let (fake, recorder, begun) = (running.fake.clone(), running.recorder.clone(), Instant::now());
    let claim = recorder.owned().claim().clone();
    assert_eq!(running.stop().await, Ok(Stopped::Left));
    assert!(begun.elapsed() < Duration::from_secs(22), "{:?}", begun.elapsed());
    assert!(claim.has_ended());
    assert_eq!(recorder.lines()[2..], ["drain t/0", "lost t/0"]);
    assert_eq!(fake.asked().last(), Some(&Asked::Deregister(DeregisterMode::Now)));
}

// A newcomer's Ctrl-C, and a group that is scaled to zero: the drain would end with nobody.
#[tokio::test(start_paused = true)]
async fn a_drain_that_nobody_takes_stops_commits_and_leaves_at_once() {
    let running = owning(options(), Manner::Plain).await;
    let (fake, recorder, begun) = (running.fake.clone(), running.recorder.clone(), Instant::now());
    fake.leave_alone();
    assert_eq!(running.stop().await, Ok(Stopped::Left));
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(recorder.lines()[2..], ["drain t/0", "release t/0"]);
    assert_eq!(fake.asked().last(), Some(&Asked::Deregister(DeregisterMode::Now)));
}

// Others begin to drain as well once this one has asked.
#[tokio::test(start_paused = true)]
async fn a_drain_that_nobody_takes_any_more_is_noticed_within_a_second() {
    let running = owning(options(), Manner::Plain).await;
    running.shutdown.cancel();
    running.fake.wait_for(|asked| *asked == Asked::Deregister(DeregisterMode::Drain)).await;
    let begun = Instant::now();
    running.fake.leave_alone();
    assert_eq!(running.end.await.expect("no panic"), Ok(Stopped::Left));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

// The session is over, so nobody waits for the handoffs any more.
#[tokio::test(start_paused = true)]
async fn a_session_that_is_lost_during_the_drain_ends_the_stop_at_once() {
    let running = owning(options(), Manner::Plain).await;
    running.shutdown.cancel();
    running.fake.wait_for(|asked| *asked == Asked::Deregister(DeregisterMode::Drain)).await;
    let begun = Instant::now();
    running.fake.fence(FenceReason::Expired);
    assert_eq!(running.end.await.expect("no panic"), Ok(Stopped::WithoutSession));
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(running.recorder.lines().last().map(String::as_str), Some("lost t/0"));
}

#[tokio::test(start_paused = true)]
async fn a_restart_finishes_locally_and_keeps_the_partitions() {
    let running = owning(ConsumerOptions { on_stop: OnStop::Restart, ..options() }, Manner::Plain).await;
    let (fake, recorder) = (running.fake.clone(), running.recorder.clone());
    assert_eq!(running.stop().await, Ok(Stopped::Left));
    assert_eq!(recorder.lines()[2..], ["drain t/0", "release t/0"]);
    assert_eq!(fake.asked().last(), Some(&Asked::Deregister(DeregisterMode::Restart)));
}

// Whatever hangs, the process ends within its bounds and says so.
#[tokio::test(start_paused = true)]
async fn a_stop_is_bounded_and_says_nothing_when_a_handler_hangs() {
    let running = owning(ConsumerOptions { on_stop: OnStop::Restart, ..options() }, Manner::DrainHangs).await;
    let (fake, begun) = (running.fake.clone(), Instant::now());
    assert_eq!(running.stop().await, Err(ConsumerError::Unfinished { partitions: 1 }));
    assert!(begun.elapsed() <= Duration::from_secs(10), "{:?}", begun.elapsed());
    let told = fake.asked().iter().any(|asked| matches!(asked, Asked::Deregister(_)));
    assert!(!told, "others would act while the handler still does");
}

#[tokio::test(start_paused = true)]
async fn a_stop_is_bounded_when_the_service_hangs() {
    let running = owning(ConsumerOptions { on_stop: OnStop::Restart, ..options() }, Manner::Plain).await;
    running.fake.ignore_deregister();
    let begun = Instant::now();
    assert_eq!(running.stop().await, Ok(Stopped::WithoutSession));
    assert!(begun.elapsed() <= Duration::from_secs(8), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_stop_without_a_session_is_immediate() {
    let fake = Fake::new();
    fake.take_down("http://one");
    fake.take_down("http://two");
    let running = start(fake, options(), Manner::Plain);
    running.fake.wait_for(|asked| matches!(asked, Asked::Register { .. })).await;
    let begun = Instant::now();
    assert_eq!(running.stop().await, Ok(Stopped::WithoutSession));
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_run() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let running = owning(options(), Manner::Plain).await;
        for _ in 0..3 {
            running.fake.break_stream();
            sleep(Duration::from_secs(7)).await;
            running.fake.fence(FenceReason::Expired);
            sleep(Duration::from_secs(11)).await;
        }
        runs.push((running.fake.asked(), running.recorder.lines(), running.fake.heartbeats()));
    }
    assert_eq!(runs[0], runs[1]);
    assert!(runs[0].0.len() > 6);
}
