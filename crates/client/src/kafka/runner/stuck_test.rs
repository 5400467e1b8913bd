//! A record whose call does not return.

use tokio::time::timeout;

use super::test_broker::{Grant, PATIENCE, TestBroker};
use super::test_handler::Stateless;
use super::*;

const GRANT: Grant = Grant { committed: None, start: Some(0) };

#[tokio::test]
async fn a_record_whose_call_does_not_return_is_stuck() {
    let broker = TestBroker::start().await;
    let runner = KafkaRunner::new(&KafkaOptions::new(broker.servers(), "g"), Stateless(std::future::pending))
        .expect("valid options");
    runner.warm(&GRANT.warm()).await.expect("it is warm");
    assert!(!runner.is_stuck(Duration::ZERO), "nothing is in the works");
    let (bound, owned) = (Duration::from_millis(20), GRANT.owned());
    let stuck = async {
        while !runner.is_stuck(bound) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        // The usual case.
        stuck = timeout(PATIENCE, stuck) => stuck.expect("it is in the works for long"),
        // Its first record would have been handled.
        _ = runner.assigned(&owned) => panic!("it has begun"),
    }
    assert!(!runner.is_stuck(PATIENCE), "not for so long");
}
