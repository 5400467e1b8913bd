//! Whole consumers in the modes in which there is one owner at a time.

use std::time::Duration;

use kafka_assigner_client::{ConsumerOptions, Epoch, Offset, OnStop, Refusal, Stopped};
use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::{
    AssignedPartition, CatchUp, CatchUpPartition, Drain, DrainPartition, FenceReason, Mode, Snapshot,
};
use tokio::time::{Instant, sleep};

use crate::consumer::{Running, assign, grant, options, release, start, unassign, warm};
use crate::fake::{Asked, Fake, Pulse};
use crate::recorder::Manner;

pub(crate) fn strict(epoch: u64, run: u64, handoff_id: &str) -> AssignedPartition {
    AssignedPartition { run, mode: Mode::Exclusive.into(), ..grant(0, epoch, handoff_id) }
}

pub(crate) fn drain(handoff_id: &str, start_offset: Option<i64>) -> Command {
    Command::Drain(Drain { partitions: vec![draining(handoff_id, start_offset)] })
}

fn draining(handoff_id: &str, start_offset: Option<i64>) -> DrainPartition {
    let (topic, handoff_id) = ("t".into(), handoff_id.into());
    DrainPartition { topic, partition: 0, handoff_id, epoch: 5, run: 5, start_offset }
}

fn catch_up(handoff_id: &str, epoch: u64) -> Command {
    let (topic, handoff_id) = ("t".into(), handoff_id.into());
    let until_offset = Some(42);
    let partition =
        CatchUpPartition { topic, handoff_id, epoch, until_offset, ..CatchUpPartition::default() };
    Command::CatchUp(CatchUp { partitions: vec![partition] })
}

/// A consumer that owns t/0 under epoch 5 of run 5, in the mode `exclusive`.
pub(crate) async fn owning(manner: Manner) -> Running {
    owning_with(options(), manner).await
}

async fn owning_with(options: ConsumerOptions, manner: Manner) -> Running {
    let fake = Fake::new();
    fake.show(Snapshot { assigned: vec![strict(5, 5, "")], ..Snapshot::default() });
    let mut running = start(fake, options, manner);
    running.handle.wait_for(|status| status.partitions.owned == 1).await.expect("it runs");
    running
}

// H18: a new owner does its part, phase by phase.
#[tokio::test(start_paused = true)]
async fn a_new_owner_warms_catches_up_and_is_assigned() {
    let mut running = start(Fake::new(), options(), Manner::Plain);
    running.handle.wait_for(|status| status.session.is_some()).await.expect("it runs");
    running.fake.push(warm(0, "h"));
    running.fake.wait_for(|asked| *asked == Asked::Ready("h".into())).await;
    running.fake.push(catch_up("h", 9));
    running.fake.wait_for(|asked| *asked == Asked::CaughtUp("h".into())).await;
    running.fake.push(assign(AssignedPartition { start_offset: Some(42), ..strict(9, 9, "h") }));
    running.fake.wait_for(|asked| *asked == Asked::Taken("h".into())).await;
    assert_eq!(running.recorder.lines(), ["warm t/0", "reserved t/0 epoch 9", "assigned t/0 epoch 9"]);
    assert_eq!(running.recorder.owned().start_offset(), Offset::new(42).ok());
}

/// Negative numbers stand for "end", "beginning" and "unknown" in clients of Kafka.
#[tokio::test(start_paused = true)]
async fn a_negative_offset_of_the_service_counts_as_none() {
    let mut running = start(Fake::new(), options(), Manner::Plain);
    running.handle.wait_for(|status| status.session.is_some()).await.expect("it runs");
    running.fake.push(drain("d", Some(-1)));
    let drained = running.fake.wait_for(|asked| matches!(asked, Asked::Drained(id, _) if id == "d")).await;
    assert_eq!(drained, Asked::Drained("d".into(), None));
    running.fake.push(assign(AssignedPartition { start_offset: Some(-2), ..strict(9, 9, "") }));
    running.recorder.wait_for(&["assigned t/0 epoch 9"]).await;
    assert_eq!(running.recorder.owned().start_offset(), None);
}

// H19: an old owner stops, says where, and lets go when it is told to.
#[tokio::test(start_paused = true)]
async fn an_old_owner_drains_says_where_it_stopped_and_releases_later() {
    let running = owning(Manner::Plain).await;
    let claim = running.recorder.owned().claim().clone();
    running.fake.lose_acks(2);
    running.fake.push(drain("h", None));
    running.fake.wait_for(|asked| *asked == Asked::Drained("h".into(), Some(42))).await;
    sleep(Duration::from_secs(60)).await;
    let said = running.fake.asked().into_iter().filter(|asked| matches!(asked, Asked::Drained(..))).count();
    assert_eq!(said, 3, "repeated until it is answered");
    assert!(claim.has_ended());
    running.recorder.wait_for(&["drain t/0"]).await;
    running.fake.push(release(0, "h"));
    running.fake.wait_for(|asked| *asked == Asked::Released("h".into())).await;
    running.recorder.wait_for(&["drain t/0", "release t/0"]).await;
}

// H4
#[tokio::test(start_paused = true)]
async fn a_drained_owner_whose_handoff_is_cancelled_resumes_its_own_state() {
    let running = owning(Manner::Plain).await;
    running.fake.push(drain("h", None));
    running.fake.wait_for(|asked| matches!(asked, Asked::Drained(..))).await;
    let grant = AssignedPartition { start_offset: Some(42), ..strict(9, 5, "") };
    running.fake.push(assign(grant));
    running.recorder.wait_for(&["drain t/0", "assigned t/0 epoch 9"]).await;
    let owned = running.recorder.owned();
    assert!(owned.is_resumed() && owned.claim().is_valid());
    assert_eq!(owned.start_offset(), None, "its own position counts");
}

// H7, H8: a process that came back is told what it is, and has nothing to stop.
#[tokio::test(start_paused = true)]
async fn a_consumer_that_starts_while_it_is_drained_answers_at_once_and_serves_after_a_cancel() {
    let fake = Fake::new();
    fake.show(Snapshot { draining: vec![draining("h", Some(7))], ..Snapshot::default() });
    let running = start(fake, options(), Manner::Plain);
    running.fake.wait_for(|asked| *asked == Asked::Drained("h".into(), Some(7))).await;
    assert!(running.recorder.lines().is_empty());
    running.fake.push(assign(AssignedPartition { start_offset: Some(7), ..strict(9, 5, "") }));
    running.recorder.wait_for(&["warm t/0", "assigned t/0 epoch 9"]).await;
    assert_eq!(running.recorder.owned().start_offset(), Offset::new(7).ok());
}

// H1: nothing of the old session is used in the next one, and what is still its own is prepared again.
#[tokio::test(start_paused = true)]
async fn a_fence_loses_what_is_drained_and_the_next_session_starts_over() {
    let running = owning(Manner::Plain).await;
    running.fake.push(drain("h", None));
    running.fake.wait_for(|asked| matches!(asked, Asked::Drained(..))).await;
    running.fake.show(Snapshot { assigned: vec![strict(9, 9, "")], ..Snapshot::default() });
    running.fake.fence(FenceReason::Expired);
    running.recorder.wait_for(&["drain t/0", "release t/0", "warm t/0", "assigned t/0 epoch 9"]).await;
}

// H39: no instance answers.
#[tokio::test(start_paused = true)]
async fn silence_loses_the_partition_at_two_thirds_and_a_confirmation_brings_it_back() {
    lapses_under(Pulse::Silence).await;
}

// H43: the store can't be reached; in `overlap` that would change nothing.
#[tokio::test(start_paused = true)]
async fn a_store_outage_loses_the_partition_at_two_thirds_as_well() {
    lapses_under(Pulse::StoreUnavailable).await;
}

async fn lapses_under(pulse: Pulse) {
    let running = owning(Manner::Plain).await;
    let (claim, begun) = (running.recorder.owned().claim().clone(), Instant::now());
    running.fake.pulse(pulse);
    running.recorder.wait_for(&["lost t/0", "warm t/0"]).await;
    let lasted = begun.elapsed();
    assert!((Duration::from_secs(19)..=Duration::from_millis(20_010)).contains(&lasted), "{lasted:?}");
    assert!(claim.has_ended() && claim.is_strict());
    sleep(Duration::from_secs(60)).await;
    assert_eq!(
        running.recorder.lines().last().map(String::as_str),
        Some("warm t/0"),
        "begun without a claim"
    );
    running.fake.pulse(Pulse::Confirm);
    running.recorder.wait_for(&["lost t/0", "warm t/0", "assigned t/0 epoch 5"]).await;
    assert!(running.recorder.owned().claim().is_valid());
    assert_eq!(running.handle.status().sessions_lost, 0);
}

#[tokio::test(start_paused = true)]
async fn the_gate_admits_requests_for_the_owned_epoch_only() {
    let running = owning(Manner::Plain).await;
    let owned = running.recorder.owned();
    assert_eq!(owned.admit(Epoch(4)).err(), Some(Refusal::OtherEpoch { asked: Epoch(4), owned: Epoch(5) }));
    assert!(owned.admit(Epoch(5)).is_ok());
    running.fake.pulse(Pulse::Silence);
    running.recorder.wait_for(&["lost t/0", "warm t/0"]).await;
    assert_eq!(owned.admit(Epoch(5)).err(), Some(Refusal::NoClaim));
}

#[tokio::test(start_paused = true)]
async fn a_drain_refuses_new_requests_and_waits_for_those_in_flight() {
    let running = owning(Manner::Plain).await;
    let owned = running.recorder.owned();
    let permit = owned.admit(Epoch(5)).expect("it is owned");
    running.fake.push(drain("h", None));
    sleep(Duration::from_secs(5)).await;
    assert_eq!(owned.admit(Epoch(5)).err(), Some(Refusal::Draining));
    assert!(!running.recorder.lines().contains(&"drain t/0".to_owned()), "drained beside a request");
    drop(permit);
    running.fake.wait_for(|asked| *asked == Asked::Drained("h".into(), Some(42))).await;
    running.fake.push(assign(strict(9, 5, "")));
    running.recorder.wait_for(&["drain t/0", "assigned t/0 epoch 9"]).await;
    assert!(running.recorder.owned().admit(Epoch(9)).is_ok());
}

fn says_drained(fake: &Fake) -> bool {
    fake.asked().iter().any(|asked| matches!(asked, Asked::Drained(..)))
}

// H49: a handler's end is bounded by the claim, and reported without an offset; but the word is proof that nothing acts.
#[tokio::test(start_paused = true)]
async fn a_drain_that_the_claim_cuts_short_is_said_only_when_nothing_is_in_flight_any_more() {
    let running = owning(Manner::Plain).await;
    let permit = running.recorder.owned().admit(Epoch(5)).expect("it is owned");
    running.fake.push(drain("h", None));
    running.fake.pulse(Pulse::Silence);
    running.recorder.wait_for(&["lost t/0"]).await;
    running.fake.pulse(Pulse::Confirm);
    sleep(Duration::from_secs(60)).await;
    assert!(!says_drained(&running.fake), "said beside a request that may still act");
    drop(permit);
    running.fake.wait_for(|asked| *asked == Asked::Drained("h".into(), None)).await;
}

// A request outlives the grant under which it was admitted.
#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_requests_from_before_a_lapse() {
    let running = owning(Manner::Plain).await;
    let permit = running.recorder.owned().admit(Epoch(5)).expect("it is owned");
    running.fake.pulse(Pulse::Silence);
    running.recorder.wait_for(&["lost t/0", "warm t/0"]).await;
    running.fake.pulse(Pulse::Confirm);
    running.recorder.wait_for(&["lost t/0", "warm t/0", "assigned t/0 epoch 5"]).await;
    assert!(running.recorder.owned().admit(Epoch(5)).is_ok());
    running.fake.push(drain("h", None));
    sleep(Duration::from_secs(5)).await;
    assert!(!says_drained(&running.fake), "drained beside a request");
    drop(permit);
    running.fake.wait_for(|asked| *asked == Asked::Drained("h".into(), Some(42))).await;
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_requests_from_before_the_partition_was_forgotten() {
    let running = owning(Manner::Plain).await;
    let permit = running.recorder.owned().admit(Epoch(5)).expect("it is owned");
    running.fake.push(unassign(0));
    running.recorder.wait_for(&["lost t/0"]).await;
    running.fake.push(assign(strict(5, 5, "")));
    running.recorder.wait_for(&["warm t/0", "assigned t/0 epoch 5"]).await;
    running.fake.push(drain("h", None));
    sleep(Duration::from_secs(5)).await;
    assert!(!says_drained(&running.fake), "drained beside a request");
    drop(permit);
    running.fake.wait_for(|asked| *asked == Asked::Drained("h".into(), Some(42))).await;
}

// One request that hangs costs a handoff, and not the partition.
#[tokio::test(start_paused = true)]
async fn an_owner_goes_on_when_its_drain_is_cancelled_while_a_request_never_ends() {
    let running = owning(Manner::Plain).await;
    let owned = running.recorder.owned();
    let _never_ends = owned.admit(Epoch(5)).expect("it is owned");
    running.fake.push(drain("h", None));
    sleep(Duration::from_secs(30)).await;
    running.fake.push(assign(strict(9, 5, "")));
    sleep(Duration::from_secs(1)).await;
    assert!(owned.admit(Epoch(9)).is_ok(), "refused: {:?}", owned.admit(Epoch(9)).err());
    assert_eq!(running.recorder.lines(), ["warm t/0", "assigned t/0 epoch 5"], "it went on undrained");
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_is_taken_away_is_lost_while_its_drain_waits_for_a_request() {
    let running = owning(Manner::Plain).await;
    let owned = running.recorder.owned();
    let _never_ends = owned.admit(Epoch(5)).expect("it is owned");
    running.fake.push(drain("h", None));
    sleep(Duration::from_secs(1)).await;
    running.fake.push(unassign(0));
    running.recorder.wait_for(&["lost t/0"]).await;
    assert!(owned.claim().has_ended());
}

// H49: a drain that hangs keeps its partition, and the run ends with an error in time.
#[tokio::test(start_paused = true)]
async fn a_stop_during_a_drain_that_hangs_is_bounded_and_an_error() {
    let options = ConsumerOptions { on_stop: OnStop::Restart, ..options() };
    let running = owning_with(options, Manner::DrainHangs).await;
    running.fake.push(drain("h", None));
    running.recorder.wait_for(&["drain t/0"]).await;
    let (fake, begun) = (running.fake.clone(), Instant::now());
    assert!(running.stop().await.is_err());
    assert!(begun.elapsed() <= Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_no_deregister(&fake);
}

fn assert_no_deregister(fake: &Fake) {
    assert!(
        !fake.asked().iter().any(|asked| matches!(asked, Asked::Deregister(_))),
        "others may act at once"
    );
}

#[tokio::test(start_paused = true)]
async fn a_stop_beside_a_request_that_never_ends_lets_the_session_run_out() {
    let options = ConsumerOptions { on_stop: OnStop::Restart, ..options() };
    let running = owning_with(options, Manner::Plain).await;
    let _never_ends = running.recorder.owned().admit(Epoch(5)).expect("it is owned");
    running.fake.push(unassign(0));
    running.recorder.wait_for(&["lost t/0"]).await;
    let fake = running.fake.clone();
    assert_eq!(running.stop().await, Ok(Stopped::WithoutSession));
    assert_no_deregister(&fake);
}

#[tokio::test(start_paused = true)]
async fn a_drained_partition_is_dropped_before_the_process_says_that_it_left() {
    let options = ConsumerOptions { on_stop: OnStop::Restart, ..options() };
    let running = owning_with(options, Manner::Plain).await;
    running.fake.push(drain("h", None));
    running.fake.wait_for(|asked| matches!(asked, Asked::Drained(..))).await;
    let (fake, recorder) = (running.fake.clone(), running.recorder.clone());
    assert_eq!(running.stop().await, Ok(Stopped::Left));
    assert_eq!(recorder.lines().last().map(String::as_str), Some("release t/0"));
    assert!(matches!(fake.asked().last(), Some(Asked::Deregister(_))));
}
