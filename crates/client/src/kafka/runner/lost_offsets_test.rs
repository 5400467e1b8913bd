//! Offsets that were committed and are gone.

use kafka_assigner_handler::StartPositions;
use kafka_assigner_types::id::Epoch;

use super::steering_test::Noting;
use super::test_broker::{Grant, RECORDS, TestBroker, offset, partition};
use super::*;

const GRANT: Grant = Grant { committed: None, start: None };

/// A grant before which an offset is known to have been committed.
fn committed_before() -> OwnedContext {
    OwnedContext { was_committed: true, ..GRANT.owned() }
}

async fn prepared(starts: StartPositions) -> (TestBroker, Noting, KafkaRunner<Noting>) {
    let (broker, handler) = (TestBroker::start().await, Noting::default());
    let runner = KafkaRunner::new(&KafkaOptions::new(broker.servers(), "g"), handler.clone());
    let runner = runner.expect("valid options").with_starts(starts);
    runner.warm(&GRANT.warm()).await.expect("a state can be built");
    (broker, handler, runner)
}

#[tokio::test]
async fn an_offset_that_was_committed_and_is_gone_is_an_error_until_there_is_one() {
    let (broker, handler, runner) = prepared(StartPositions::default()).await;
    let owned = committed_before();
    let reason = KafkaRunnerError::OffsetLost(partition()).to_string();
    assert_eq!(runner.assigned(&owned).await.expect_err("nothing is committed").to_string(), reason);
    let stopped = StoppedPartition {
        partition: partition(),
        epoch: Epoch(0),
        offset: offset(0),
        reason,
        is_of_drain: false,
    };
    assert_eq!(runner.stopped(), [stopped]);
    assert_eq!(runner.committed(), Some(BTreeMap::new()), "nothing proves a commit");
    broker.commit("");
    runner.assigned(&owned).await.expect("an offset is there");
    assert_eq!(handler.to_the_end().await, (5..RECORDS).collect::<Vec<_>>());
    assert_eq!(runner.stopped(), []);
}

#[tokio::test]
async fn an_offset_of_an_earlier_topic_does_not_stand_for_one_that_is_gone() {
    let (broker, handler, runner) = prepared(StartPositions::default()).await;
    broker.commit("epoch=3 topic_id=BwcHBwcHBwcHBwcHBwcHBw");
    let lost = runner.assigned(&committed_before()).await.expect_err("nothing is committed in this topic");
    assert_eq!(lost.to_string(), KafkaRunnerError::OffsetLost(partition()).to_string());
    broker.commit("epoch=3 topic_id=CAgICAgICAgICAgICAgICA");
    runner.assigned(&committed_before()).await.expect("an offset is there");
    assert_eq!(handler.to_the_end().await, (5..RECORDS).collect::<Vec<_>>());
}

#[tokio::test]
async fn who_says_so_starts_anew_where_the_offset_is_gone() {
    let (_broker, handler, runner) = prepared(StartPositions::default().starting_anew()).await;
    runner.assigned(&committed_before()).await.expect("it begins");
    assert_eq!(handler.to_the_end().await, (0..RECORDS).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_start_that_was_handed_over_needs_no_committed_offset() {
    let (_broker, handler, runner) = prepared(StartPositions::default()).await;
    let owned = OwnedContext { start_offset: Some(offset(7)), ..committed_before() };
    runner.assigned(&owned).await.expect("it begins");
    assert_eq!(handler.to_the_end().await, (7..RECORDS).collect::<Vec<_>>());
}

// Its topic may have been deleted and created again, and nobody has seen it.
#[tokio::test]
async fn a_topic_without_an_id_starts_as_one_that_was_never_begun() {
    let (_broker, handler, runner) = prepared(StartPositions::default()).await;
    let owned = OwnedContext { topic_id: None, ..committed_before() };
    runner.assigned(&owned).await.expect("it begins");
    assert_eq!(handler.to_the_end().await, (0..RECORDS).collect::<Vec<_>>());
}

/// The grant is the first one, so that the service knows of no commit; the broker took one of this process.
#[tokio::test]
async fn who_has_committed_itself_does_not_begin_anew_where_its_offset_is_gone() {
    let (broker, handler, runner) = prepared(StartPositions::default()).await;
    let owned = GRANT.owned();
    runner.assigned(&owned).await.expect("nothing was ever committed");
    assert_eq!(handler.to_the_end().await, (0..RECORDS).collect::<Vec<_>>());
    runner.drain(&owned).await.expect("it is committed");
    runner.lost(&owned).await;
    broker.commit("epoch=3 topic_id=BwcHBwcHBwcHBwcHBwcHBw");
    runner.warm(&GRANT.warm()).await.expect("the state is built anew");
    let lost = runner.assigned(&GRANT.owned()).await.expect_err("its offset is gone");
    assert_eq!(lost.to_string(), KafkaRunnerError::OffsetLost(partition()).to_string());
    runner.lost(&GRANT.owned()).await;
    // Another one may own it next, so what the service says counts.
    runner.forgotten(&partition());
    runner.warm(&GRANT.warm()).await.expect("the state is built anew");
    runner.assigned(&GRANT.owned()).await.expect("it begins");
}
