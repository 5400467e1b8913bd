//! A record whose call does not return.

use kafka_assigner_handler::{
    OpenedState, PartitionContext, Preparation, Record, RecordError, StateSnapshot,
};
use tokio::time::timeout;

use super::test_broker::{Grant, PATIENCE, TestBroker};
use super::*;

const GRANT: Grant = Grant { committed: None, start: Some(0) };

struct Hanging;

impl RecordHandler for Hanging {
    type State = ();

    async fn open(&self, _: &Preparation, _: Option<StateSnapshot>) -> Result<OpenedState<()>, RecordError> {
        Ok(OpenedState::empty(()))
    }

    async fn catch_up(&self, _: &TopicPartition, (): &mut (), _: &Record) -> Result<(), RecordError> {
        Ok(())
    }

    async fn process(&self, _: &PartitionContext, (): &mut (), _: &Record) -> Result<(), RecordError> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_record_whose_call_does_not_return_is_stuck() {
    let broker = TestBroker::start().await;
    let runner = KafkaRunner::new(&KafkaOptions::new(broker.servers(), "g"), Hanging).expect("valid options");
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
