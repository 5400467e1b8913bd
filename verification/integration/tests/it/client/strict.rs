//! Moves of a partition from one consumer to another, in the modes with one owner at a time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::{Assignment, Snapshot};
use tokio_util::sync::CancellationToken;

use super::broker::Broker;
use super::summing::Did;
use super::switching::keep_producing;
use super::{Running, caught_up, processed};
use crate::fake::{Asked, Pulse};

on_brokers! {
    an_old_owner_names_the_next_offset_with_everything_committed
    a_new_owner_without_catching_up_replays_to_the_start_and_processes_from_there
    a_failed_catch_up_of_a_strict_start_costs_no_record
    a_new_owner_reads_up_to_where_the_old_one_stopped_before_it_says_so
    a_new_owner_that_is_told_no_end_catches_up_to_what_is_committed_and_no_further
    a_drained_owner_goes_on_where_it_stopped
    a_lapsed_claim_commits_nothing_and_the_partition_begins_again_with_the_next_one
    a_switch_under_load_has_one_owner_at_a_time_and_nothing_is_lost_or_done_twice
}

pub(super) fn assign(broker: &Broker, epoch: u64, start_offset: Option<i64>, handoff_id: &str) -> Command {
    let assigned = vec![broker.strict_grant(epoch, start_offset, handoff_id)];
    Command::Assignment(Assignment { assigned, ..Assignment::default() })
}

/// A consumer that is warm for the handoff `h`, up to offset 10 of 30.
async fn warm_up_to_10(broker: &Broker) -> Running {
    broker.produce(1..31).await;
    broker.commit(10);
    let running = Running::start(broker, Snapshot::default()).await;
    running.fake.push(broker.warm("h"));
    running.asked(Asked::Ready("h".into())).await;
    running
}

async fn an_old_owner_names_the_next_offset_with_everything_committed(broker: &Broker) {
    broker.produce(1..101).await;
    let running = Running::start(broker, broker.strictly_granted()).await;
    running.handler.wait_for_number(100).await;
    running.fake.push(broker.drain("h"));
    assert_eq!(running.drained("h").await, Some(100));
    assert_eq!(broker.committed().await, Some((100, "epoch=5".into())));
    running.stop().await;
}

async fn a_new_owner_without_catching_up_replays_to_the_start_and_processes_from_there(broker: &Broker) {
    let running = warm_up_to_10(broker).await;
    running.fake.push(assign(broker, 9, Some(20), "h"));
    let done = running.handler.wait_for_number(30).await;
    assert_eq!(done, [caught_up(1..21), processed(21..31, 210)].concat());
    running.asked(Asked::Taken("h".into())).await;
    running.stop().await;
}

async fn a_failed_catch_up_of_a_strict_start_costs_no_record(broker: &Broker) {
    let running = warm_up_to_10(broker).await;
    running.handler.catch_up_failures.store(2, Ordering::SeqCst);
    running.fake.push(assign(broker, 9, Some(20), "h"));
    running.asked(Asked::Taken("h".into())).await;
    let done = running.handler.wait_for_number(30).await;
    assert_eq!(done, [caught_up(1..21), processed(21..31, 210)].concat());
    running.stop().await;
}

async fn a_new_owner_reads_up_to_where_the_old_one_stopped_before_it_says_so(broker: &Broker) {
    let running = warm_up_to_10(broker).await;
    // The last of them come after the reader has reached the end.
    broker.produce(31..41).await;
    running.fake.push(broker.catch_up("h", Some(40)));
    running.asked(Asked::CaughtUp("h".into())).await;
    assert_eq!(*running.handler.done.borrow(), caught_up(1..41));
    running.fake.push(assign(broker, 9, Some(40), "h"));
    broker.produce(41..51).await;
    let done = running.handler.wait_for_number(50).await;
    assert_eq!(done, [caught_up(1..41), processed(41..51, 820)].concat());
    running.stop().await;
}

/// What the old owner has not finished needs its effects once more.
async fn a_new_owner_that_is_told_no_end_catches_up_to_what_is_committed_and_no_further(broker: &Broker) {
    let running = warm_up_to_10(broker).await;
    broker.commit(20);
    running.fake.push(broker.catch_up("h", None));
    running.asked(Asked::CaughtUp("h".into())).await;
    assert_eq!(*running.handler.done.borrow(), caught_up(1..21));
    running.fake.push(assign(broker, 9, None, "h"));
    let done = running.handler.wait_for_number(30).await;
    assert_eq!(done, [caught_up(1..21), processed(21..31, 210)].concat());
    running.stop().await;
}

// H4
async fn a_drained_owner_goes_on_where_it_stopped(broker: &Broker) {
    broker.produce(1..11).await;
    let running = Running::start(broker, broker.strictly_granted()).await;
    running.handler.wait_for_number(10).await;
    running.fake.push(broker.drain("h"));
    assert_eq!(running.drained("h").await, Some(10));
    broker.produce(11..21).await;
    let mut again = broker.strict_grant(9, Some(10), "");
    again.run = 5;
    running.fake.push(Command::Assignment(Assignment { assigned: vec![again], ..Assignment::default() }));
    assert_eq!(running.handler.wait_for_number(20).await, processed(1..21, 0));
    running.stop().await;
    assert_eq!(broker.committed().await, Some((20, "epoch=9".into())));
}

// H43
async fn a_lapsed_claim_commits_nothing_and_the_partition_begins_again_with_the_next_one(broker: &Broker) {
    broker.produce(1..11).await;
    let running = Running::start_with_ttl(broker, broker.strictly_granted(), Duration::from_secs(3)).await;
    running.handler.wait_for_number(10).await;
    running.fake.pulse(Pulse::StoreUnavailable);
    running.handler.wait_for_fate(super::summing::Fate::Lost).await;
    broker.produce(11..21).await;
    running.fake.pulse(Pulse::Confirm);
    let done = running.handler.wait_for_number(20).await;
    assert_eq!(done, [processed(1..11, 0), caught_up(1..11), processed(11..21, 55)].concat());
    running.stop().await;
}

/// Nothing is lost, nothing is done twice (I3 of the handoff protocol), and the new owner begins after the old one has
/// ended (I1).
async fn a_switch_under_load_has_one_owner_at_a_time_and_nothing_is_lost_or_done_twice(broker: &Broker) {
    let (old, new) = (
        Running::start(broker, broker.strictly_granted()).await,
        Running::start(broker, Snapshot::default()).await,
    );
    let stop = CancellationToken::new();
    let producing = keep_producing(broker, 1, stop.clone());
    old.handler.wait_for(|done| done.len() > 200).await;
    new.fake.push(broker.warm("h"));
    new.asked(Asked::Ready("h".into())).await;
    old.fake.push(broker.drain("h"));
    let start = old.drained("h").await;
    new.fake.push(assign(broker, 9, start, "h"));
    new.asked(Asked::Taken("h".into())).await;
    stop.cancel();
    let last = producing.await.expect("no panic");
    let by_new = new.handler.wait_for_number(last).await;
    assert_eq!(by_new.last(), Some(&Did::Processed(last, last * (last + 1) / 2)), "the state missed some");
    let all = [old.handler.processed(), new.handler.processed()].concat();
    assert_eq!(all, (1..=last).collect::<Vec<_>>(), "each once, in order");
    let span = |running: &Running| running.handler.span.lock().expect("no panic").expect("it processed");
    let gap = span(&new).0.duration_since(span(&old).1);
    println!("gap of a move under load: {gap:?}");
    assert!(span(&old).1 < span(&new).0, "the new owner began before the old one had ended");
    old.stop().await;
    new.stop().await;
}
