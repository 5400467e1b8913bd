//! Records that handlers of their own begin: before a move, when they are told to stop, and afterwards.

use std::time::Duration;

use kafka_assigner_client::{Epoch, OwnedContext, Refusal};
use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::{AssignedPartition, Mode};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::consumer::{self, Running, assign, busy_for, options, release, unassign};
use crate::fake::{Asked, Pulse};
use crate::recorder::Manner;
use crate::strict::{drain, owning, strict};

/// The grant of epoch 5 in `routed`, with the handoff before which the owner ends its record; empty = none.
fn resting(handoff_id: &str) -> Command {
    let grant = AssignedPartition { mode: Mode::Routed.into(), ..strict(5, 5, "") };
    assign(AssignedPartition { rest_handoff_id: handoff_id.into(), ..grant })
}

fn has_rested(running: &Running) -> bool {
    running.fake.asked().contains(&Asked::Rested("h".into()))
}

#[tokio::test(start_paused = true)]
async fn an_owner_ends_its_record_before_requests_are_held_back_and_answers_them_meanwhile() {
    let running = owning(Manner::Plain).await;
    let owned = running.recorder.owned();
    let record = owned.begin_record().await.expect("it is owned");
    running.fake.push(resting("h"));
    sleep(Duration::from_secs(39)).await;
    assert!(!has_rested(&running) && owned.admit(Epoch(5)).is_ok());
    assert_eq!(busy_for(&running.fake), ["h"]);
    drop(record);
    running.fake.wait_for(|asked| *asked == Asked::Rested("h".into())).await;
    assert!(owned.admit(Epoch(5)).is_ok());
    let next = timeout(Duration::from_secs(60), owned.begin_record()).await;
    assert!(next.is_err(), "its records take long");
    assert_eq!(busy_for(&running.fake), [""; 0]);
    running.fake.push(resting(""));
    assert!(owned.begin_record().await.is_ok());
}

// A cancelled move and the next one of the same partition may reach it in one change.
#[tokio::test(start_paused = true)]
async fn an_owner_that_rested_for_one_move_rests_anew_for_the_next() {
    let running = owning(Manner::Plain).await;
    let owned = running.recorder.owned();
    running.fake.push(resting("h"));
    running.fake.wait_for(|asked| *asked == Asked::Rested("h".into())).await;
    let record = owned.begin_record().await.expect("its records are short");
    running.fake.push(resting("i"));
    sleep(Duration::from_secs(5)).await;
    let rested = Asked::Rested("i".into());
    assert!(!running.fake.asked().contains(&rested), "a record is in the works");
    drop(record);
    running.fake.wait_for(|asked| *asked == rested).await;
}

#[tokio::test(start_paused = true)]
async fn an_owner_of_short_records_rests_at_once_and_begins_more() {
    let running = owning(Manner::Plain).await;
    let owned = running.recorder.owned();
    assert!(owned.begin_record().await.is_ok());
    running.fake.push(resting("h"));
    running.fake.wait_for(|asked| *asked == Asked::Rested("h".into())).await;
    let begun = Instant::now();
    assert!(owned.begin_record().await.is_ok());
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

/// Has its owner rest for the handoff "h" after a record that took long, so that none is begun until the move is over.
async fn rest_after_a_long_record(running: &Running) {
    let record = running.recorder.owned().begin_record().await.expect("it is owned");
    sleep(Duration::from_secs(5)).await;
    running.fake.push(resting("h"));
    // The word has come when the record ends.
    sleep(Duration::from_secs(1)).await;
    drop(record);
    running.fake.wait_for(|asked| *asked == Asked::Rested("h".into())).await;
}

/// The end of the wait for a record.
type Parked = JoinHandle<Result<(), Refusal>>;

/// Waits for a record beside the test.
async fn park(owned: OwnedContext) -> Parked {
    let parked = tokio::spawn(async move { owned.begin_record().await.map(drop) });
    sleep(Duration::from_secs(1)).await;
    assert!(!parked.is_finished(), "nothing holds records back");
    parked
}

async fn refusal(parked: Parked) -> Refusal {
    let ended = timeout(Duration::from_secs(1), parked).await.expect("parked for ever");
    ended.expect("no panic").expect_err("a record was begun")
}

// A handler joins its loop in its drain. The loop waited for the end of the move, and the move for the drain.
#[tokio::test(start_paused = true)]
async fn a_loop_that_waits_for_a_record_ends_when_the_drain_begins() {
    let running = owning(Manner::Loops).await;
    running.fake.push(resting("h"));
    running.fake.wait_for(|asked| *asked == Asked::Rested("h".into())).await;
    running.fake.push(drain("h", None));
    let drained = running.fake.wait_for(|asked| *asked == Asked::Drained("h".into(), Some(42)));
    timeout(Duration::from_secs(5), drained).await.expect("the drain never ends");
}

#[tokio::test(start_paused = true)]
async fn no_record_is_begun_once_the_drain_has_begun() {
    let running = owning(Manner::DrainTakes(Duration::from_secs(5))).await;
    rest_after_a_long_record(&running).await;
    let parked = park(running.recorder.owned()).await;
    running.fake.push(drain("h", None));
    assert_eq!(refusal(parked).await, Refusal::Draining);
    assert_eq!(running.recorder.owned().begin_record().await.err(), Some(Refusal::Draining));
}

// The end of the rest comes with the end of the move, when the partition is another one's.
#[tokio::test(start_paused = true)]
async fn no_record_is_begun_under_a_claim_that_has_ended() {
    let running = owning(Manner::Plain).await;
    rest_after_a_long_record(&running).await;
    running.fake.push(drain("h", None));
    running.fake.wait_for(|asked| matches!(asked, Asked::Drained(..))).await;
    let owned = running.recorder.owned();
    assert_eq!(owned.begin_record().await.err(), Some(Refusal::NoClaim));
    running.fake.push(release(0, "h"));
    running.fake.wait_for(|asked| *asked == Asked::Released("h".into())).await;
    assert_eq!(owned.begin_record().await.err(), Some(Refusal::NoClaim));
}

#[tokio::test(start_paused = true)]
async fn a_loss_or_a_spoiled_state_ends_the_wait_for_a_record() {
    let running = owning(Manner::Plain).await;
    rest_after_a_long_record(&running).await;
    let parked = park(running.recorder.owned()).await;
    running.fake.push(unassign(0));
    assert_eq!(refusal(parked).await, Refusal::NoClaim);

    let running = owning(Manner::Plain).await;
    rest_after_a_long_record(&running).await;
    let parked = park(running.recorder.owned()).await;
    running.recorder.owned().spoil();
    assert_eq!(refusal(parked).await, Refusal::NoClaim);
}

#[tokio::test(start_paused = true)]
async fn a_new_grant_begins_records_again_and_the_old_one_none() {
    let running = owning(Manner::Plain).await;
    let former = running.recorder.owned();
    running.fake.push(drain("h", None));
    running.fake.wait_for(|asked| matches!(asked, Asked::Drained(..))).await;
    running.fake.push(assign(strict(9, 5, "")));
    running.recorder.wait_for(&["drain t/0", "assigned t/0 epoch 9"]).await;
    assert!(running.recorder.owned().begin_record().await.is_ok());
    assert_eq!(former.begin_record().await.err(), Some(Refusal::NoClaim));
}

// Its handler hears of nothing, so nobody would start an ended loop again.
#[tokio::test(start_paused = true)]
async fn records_go_on_where_a_drain_is_recalled_that_waited_for_a_request() {
    let running = owning(Manner::Plain).await;
    let owned = running.recorder.owned();
    let _never_ends = owned.admit(Epoch(5)).expect("it is owned");
    running.fake.push(drain("h", None));
    sleep(Duration::from_secs(1)).await;
    assert!(owned.begin_record().await.is_ok(), "the handler was not told to stop");
    running.fake.push(assign(strict(9, 5, "")));
    sleep(Duration::from_secs(1)).await;
    assert!(owned.begin_record().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn records_are_begun_again_after_a_drain_that_failed() {
    let running = owning(Manner::DrainFails).await;
    running.fake.push(drain("h", None));
    running.recorder.wait_for(&["drain t/0"]).await;
    sleep(Duration::from_millis(1)).await;
    assert!(running.recorder.owned().begin_record().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_record_waits_for_its_claim_where_no_instance_answers() {
    let running = consumer::owning(options(), Manner::Plain).await;
    let owned = running.recorder.owned();
    running.fake.pulse(Pulse::Silence);
    sleep(Duration::from_secs(30)).await;
    assert!(!owned.claim().is_valid() && !owned.claim().has_ended(), "it has lapsed");
    let parked = park(owned).await;
    running.fake.pulse(Pulse::Confirm);
    assert_eq!(timeout(Duration::from_secs(60), parked).await.expect("confirmed").expect("no panic"), Ok(()));
}

// A process that drops its consumer has no member any more, and nobody who would end its claims one by one.
#[tokio::test(start_paused = true)]
async fn the_wait_for_a_record_ends_with_the_consumer() {
    let running = owning(Manner::Plain).await;
    rest_after_a_long_record(&running).await;
    let parked = park(running.recorder.owned()).await;
    running.end.abort();
    assert_eq!(refusal(parked).await, Refusal::NoClaim);
}
