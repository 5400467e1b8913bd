//! Positions next to a broker that does what a test says.

use crate::consumer_test::{first_partition, options, until, within};
use crate::simulated::SimulatedBroker;
use crate::{CommitFailure, NativeConsumer, NativeOptions, PartitionEnd, StartAt};

#[tokio::test]
async fn a_position_that_the_policy_chose_is_committed_and_so_the_next_owner_begins_there() {
    let broker = SimulatedBroker::start(1, 5).await;
    let latest = NativeOptions { start_at: StartAt::Latest, ..options(&broker) };
    let mut consumer = NativeConsumer::start(latest).unwrap();
    let first = first_partition(&mut consumer).await;
    until("the position is committed", || broker.state().committed == [(0, 5)].into()).await;
    broker.state().beat_error = 25;
    until("it is lost", || first.ended() == Some(PartitionEnd::Lost)).await;
    broker.state().records = 8;
    let mut next = first_partition(&mut consumer).await;
    assert_eq!(within(next.next_batch()).await.unwrap().records[0].offset, 5);
}

#[tokio::test]
async fn a_log_that_lost_what_was_read_ahead_is_read_from_elsewhere_and_nobody_waits_for_ever() {
    let broker = SimulatedBroker::start(1, 9).await;
    let mut consumer = NativeConsumer::start(options(&broker)).unwrap();
    let mut partition = first_partition(&mut consumer).await;
    let before = within(partition.next_batch()).await.unwrap();
    until("it reads ahead", || broker.state().fetched_from == 9).await;
    {
        let mut state = broker.state();
        (state.first, state.records) = (20, 22);
    }
    until("it reads on", || broker.state().committed.get(&0) == Some(&20)).await;
    assert_eq!(
        within(partition.commit_through(before.last_offset())).await,
        Err(CommitFailure::NotHandedOut)
    );
    let after = within(partition.next_batch()).await.unwrap();
    assert_eq!(after.records[0].offset, 20);
    within(partition.commit_through(after.last_offset())).await.unwrap();
    assert_eq!(broker.state().committed, [(0, 22)].into());
}

#[tokio::test]
async fn whoever_waits_for_a_commit_when_the_log_is_cut_is_told() {
    let broker = SimulatedBroker::start(1, 9).await;
    let mut consumer = NativeConsumer::start(options(&broker)).unwrap();
    let mut partition = first_partition(&mut consumer).await;
    let batch = within(partition.next_batch()).await.unwrap();
    until("it reads ahead", || broker.state().fetched_from == 9).await;
    // The commit is refused with an error that passes, until the log has been cut.
    let mut commit = std::pin::pin!(partition.commit_through(batch.last_offset()));
    let refusing = async {
        until("it reads on", || {
            let mut state = broker.state();
            (state.first, state.records) = (20, 22);
            let has_moved = state.fetched_from >= 20;
            state.commit_error = if has_moved { 0 } else { 14 };
            has_moved
        })
        .await;
    };
    broker.state().commit_error = 14;
    let (outcome, ()) = within(futures::future::join(commit.as_mut(), refusing)).await;
    assert_eq!(outcome, Err(CommitFailure::NotHandedOut));
}
