//! Brokers that refuse to answer what is asked on the way to a start.

use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use tokio::time::timeout;

use super::steering_test::Noting;
use super::test_broker::{Grant, PATIENCE, RECORDS, TestBroker, offset, partition};
use super::*;

/// More refusals than the requests that a question about the log may make: for both ends together, then for each alone.
const REFUSALS_OF_ENDS: usize = 9;

/// A broker with the offset 5 committed, and a runner whose states need no history.
async fn at_work() -> (TestBroker, Noting, KafkaRunner<Noting>) {
    let (broker, handler) = (TestBroker::start().await, Noting::without_history());
    broker.commit("");
    let runner = KafkaRunner::new(&KafkaOptions::new(broker.servers(), "g"), handler.clone());
    (broker, handler, runner.expect("valid options"))
}

fn from(start: Option<i64>) -> Grant {
    Grant { committed: None, start }
}

/// A preparation for a move, which would be declined.
fn warm(start: Option<i64>) -> WarmContext {
    WarmContext { handoff: Some("h".into()), ..from(start).warm() }
}

fn refuse(broker: &TestBroker, request: RDKafkaApiKey) {
    let refusals = if request == RDKafkaApiKey::ListOffsets { REFUSALS_OF_ENDS } else { 2 };
    // One that librdkafka itself does not repeat.
    (0..refusals).for_each(|_| broker.refuse(request, RDKafkaRespErr::RD_KAFKA_RESP_ERR_INVALID_REQUEST));
}

#[tokio::test]
async fn a_preparation_asks_again_for_the_ends_of_the_log() {
    let (broker, _, runner) = at_work().await;
    refuse(&broker, RDKafkaApiKey::ListOffsets);
    timeout(PATIENCE, runner.warm(&warm(Some(5)))).await.expect("in time").expect("it is warm");
}

#[tokio::test]
async fn a_preparation_asks_again_for_the_place_where_it_starts() {
    let (broker, handler) = (TestBroker::start().await, Noting::default());
    let runner = KafkaRunner::new(&KafkaOptions::new(broker.servers(), "g"), handler).expect("valid options");
    refuse(&broker, RDKafkaApiKey::ListOffsets);
    timeout(PATIENCE, runner.warm(&warm(None))).await.expect("in time").expect("it is warm");
}

#[tokio::test]
async fn a_preparation_asks_again_for_what_is_committed() {
    let (broker, _, runner) = at_work().await;
    refuse(&broker, RDKafkaApiKey::OffsetFetch);
    timeout(PATIENCE, runner.warm(&warm(None))).await.expect("in time").expect("it is warm");
}

#[tokio::test]
async fn who_is_to_own_a_partition_asks_again_for_what_is_committed() {
    let (broker, _, runner) = at_work().await;
    runner.warm(&warm(Some(5))).await.expect("it is warm");
    refuse(&broker, RDKafkaApiKey::OffsetFetch);
    let reserved = from(None).reserved();
    timeout(PATIENCE, runner.reserved(&reserved)).await.expect("in time").expect("it has caught up");
}

#[tokio::test]
async fn an_owner_asks_again_for_what_is_committed() {
    let (broker, handler, runner) = at_work().await;
    runner.warm(&warm(Some(5))).await.expect("it is warm");
    refuse(&broker, RDKafkaApiKey::OffsetFetch);
    let owned = from(None).owned();
    timeout(PATIENCE, runner.assigned(&owned)).await.expect("in time").expect("it begins");
    assert_eq!(handler.to_the_end().await, (5..RECORDS).collect::<Vec<_>>());
}

// It is tried again, and its place is of use to others meanwhile.
#[tokio::test]
async fn the_preparation_for_a_direct_grant_does_not_ask_for_long_about_its_log() {
    let (broker, _, runner) = at_work().await;
    broker.lose_leader();
    let prepared = timeout(PATIENCE / 2, runner.warm(&from(Some(5)).warm())).await;
    prepared.expect("it gives up soon").expect_err("nobody answers");
}

// People give it, and hardly within seconds.
#[tokio::test]
async fn who_has_no_right_to_an_answer_does_not_ask_again() {
    let (broker, _, runner) = at_work().await;
    let no_right = RDKafkaRespErr::RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
    broker.refuse(RDKafkaApiKey::OffsetFetch, no_right);
    let refused = runner.warm(&warm(None)).await.expect_err("it has no right");
    assert_eq!(refused.to_string(), format!("the committed offset of {} can't be read", partition()));
    runner.warm(&warm(None)).await.expect("it has one now");
    let committed = runner.parts.client.committed(&partition()).await.expect("an answer");
    assert_eq!(committed.map(|committed| committed.offset), Some(offset(5)));
}
