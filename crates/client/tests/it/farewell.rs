//! The report of a consumer whose session was taken away: it says that it has stopped, once that is true.

use std::time::Duration;

use kafka_assigner_client::ConsumerError;
use kafka_assigner_client::Epoch;
use kafka_assigner_proto::v1::{DeregisterMode, FenceReason, Snapshot};
use tokio::time::{Instant, sleep};

use crate::consumer::Running;
use crate::fake::Asked;
use crate::recorder::Manner;
use crate::strict::{owning, strict};

/// The incarnation of the first session.
fn first_session(running: &Running) -> String {
    let asked = running.fake.asked();
    let Some(Asked::Register { incarnation, .. }) = asked.first() else { panic!("{asked:?}") };
    incarnation.clone()
}

#[tokio::test(start_paused = true)]
async fn a_superseded_consumer_says_that_it_stopped_once_its_last_request_is_done_and_not_before() {
    let running = owning(Manner::Plain).await;
    let (session, permit) =
        (first_session(&running), running.recorder.owned().admit(Epoch(5)).expect("owned"));
    running.fake.fence(FenceReason::Superseded);
    running.recorder.wait_for(&["lost t/0"]).await;
    sleep(Duration::from_secs(3)).await;
    assert!(running.fake.deregistered().is_empty(), "the request still acts");
    drop(permit);
    assert_eq!(running.end.await.expect("no panic"), Err(ConsumerError::Superseded("told to".into())));
    assert_eq!(running.fake.deregistered(), [session]);
    assert_eq!(running.fake.asked().last(), Some(&Asked::Deregister(DeregisterMode::Now)));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_was_ended_by_force_is_told_of_beside_the_next_one() {
    let mut running = owning(Manner::Plain).await;
    let (session, permit) =
        (first_session(&running), running.recorder.owned().admit(Epoch(5)).expect("owned"));
    running.fake.show(Snapshot { assigned: vec![strict(9, 9, "")], ..Snapshot::default() });
    running.fake.fence(FenceReason::Ended);
    running.recorder.wait_for(&["lost t/0", "warm t/0", "assigned t/0 epoch 9"]).await;
    sleep(Duration::from_secs(5)).await;
    assert!(running.fake.deregistered().is_empty(), "a request of the first session still acts");
    drop(permit);
    running.fake.wait_for(|asked| *asked == Asked::Deregister(DeregisterMode::Now)).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(running.fake.deregistered(), [session], "once, and for that one only");
    running.handle.wait_for(|status| status.partitions.owned == 1).await.expect("it runs");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_said_of_a_session_whose_handler_never_lets_go() {
    let running = owning(Manner::LostHangs).await;
    running.fake.fence(FenceReason::Superseded);
    assert_eq!(running.end.await.expect("no panic"), Err(ConsumerError::Superseded("told to".into())));
    assert!(running.fake.deregistered().is_empty(), "others would act beside the handler");
}

#[tokio::test(start_paused = true)]
async fn a_superseded_consumer_ends_also_where_nobody_hears_it() {
    let running = owning(Manner::Plain).await;
    running.fake.ignore_deregister();
    let begun = Instant::now();
    running.fake.fence(FenceReason::Superseded);
    assert_eq!(running.end.await.expect("no panic"), Err(ConsumerError::Superseded("told to".into())));
    assert!(begun.elapsed() <= Duration::from_secs(4), "{:?}", begun.elapsed());
}
