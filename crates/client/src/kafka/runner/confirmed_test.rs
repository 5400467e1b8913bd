//! A runner that commits what its handler has confirmed.

use kafka_assigner_handler::{
    CommitRule, OpenedState, PartitionContext, Preparation, Record, RecordError, StateSnapshot,
};
use kafka_assigner_types::id::Epoch;
use tokio::time::timeout;

use super::test_broker::{Grant, PATIENCE, RECORDS, TestBroker, offset, partition};
use super::*;
use crate::kafka::commits::ConfirmError;

/// The record that is written to no topic, and passed over.
const SKIPPED: i64 = 4;

/// Keeps what it handles, and confirms nothing by itself.
#[derive(Clone, Default)]
struct Buffering {
    contexts: Arc<Mutex<Vec<PartitionContext>>>,
    processed: Arc<Mutex<Vec<i64>>>,
}

impl Buffering {
    fn context(&self, number: usize) -> PartitionContext {
        self.contexts.lock().expect("no panic inside")[number].clone()
    }

    async fn processed(&self, number: usize) -> Vec<i64> {
        let processed = || self.processed.lock().expect("no panic inside").clone();
        let all = async {
            while processed().len() < number {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, all).await.expect("the records are processed");
        std::mem::take(&mut *self.processed.lock().expect("no panic inside"))
    }
}

impl RecordHandler for Buffering {
    type State = Vec<i64>;

    async fn open(
        &self,
        _: &Preparation,
        _: Option<StateSnapshot>,
    ) -> Result<OpenedState<Self::State>, RecordError> {
        Ok(OpenedState::empty(Vec::new()))
    }

    async fn catch_up(
        &self,
        _: &TopicPartition,
        state: &mut Self::State,
        record: &Record,
    ) -> Result<(), RecordError> {
        state.push(record.offset().get());
        Ok(())
    }

    async fn process(
        &self,
        _: &PartitionContext,
        state: &mut Self::State,
        record: &Record,
    ) -> Result<(), RecordError> {
        let offset = record.offset().get();
        state.push(offset);
        // Each record is in the state once, and in its order.
        assert!(state.is_sorted_by(|a, b| a < b), "{state:?}");
        self.processed.lock().expect("no panic inside").push(offset);
        match offset {
            SKIPPED => Err(RecordError::skip("the test wants it").spoiled()),
            _ => Ok(()),
        }
    }

    async fn begin(&self, context: &PartitionContext, _: &mut Self::State) -> Result<(), RecordError> {
        self.contexts.lock().expect("no panic inside").push(context.clone());
        Ok(())
    }
}

const GRANT: Grant = Grant { committed: None, start: None };

fn runner(broker: &TestBroker) -> (Buffering, KafkaRunner<Buffering>) {
    let handler = Buffering::default();
    let runner = KafkaRunner::new(&KafkaOptions::new(broker.servers(), "g"), handler.clone());
    (handler, runner.expect("valid options").with_commits(CommitRule::Confirmed))
}

/// Prepares and begins, as after a grant.
async fn begin(runner: &KafkaRunner<Buffering>, owned: &OwnedContext) {
    runner.warm(&GRANT.warm()).await.expect("it is warm");
    runner.assigned(owned).await.expect("it begins");
}

/// Begins, and passes the record over that spoils the state, so that all are processed once more.
async fn begin_behind_the_spoilt(runner: &KafkaRunner<Buffering>, handler: &Buffering) -> OwnedContext {
    let spoiled = GRANT.owned();
    begin(runner, &spoiled).await;
    assert_eq!(handler.processed(5).await, (0..=SKIPPED).collect::<Vec<_>>());
    timeout(PATIENCE, spoiled.claim().ended()).await.expect("the state is spoiled");
    runner.lost(&spoiled).await;
    let owned = GRANT.owned();
    begin(runner, &owned).await;
    owned
}

#[tokio::test]
async fn what_is_not_confirmed_is_not_committed_and_a_drain_hands_over_where_it_is() {
    let broker = TestBroker::start().await;
    let (handler, runner) = runner(&broker);
    let owned = begin_behind_the_spoilt(&runner, &handler).await;
    assert_eq!(handler.processed(9).await, [0, 1, 2, 3, 5, 6, 7, 8, 9], "passed over without a call");
    handler.context(0).confirm(offset(10));
    handler.context(1).confirm(offset(3));
    assert_eq!(runner.drain(&owned).await.expect("it stops"), Some(offset(3)));
    assert_eq!(broker.committed().0, 3);
}

// The move was cancelled: it goes on with its state, in which are records that are not confirmed.
#[tokio::test]
async fn an_owner_that_goes_on_after_its_drain_commits_no_more_than_before() {
    let broker = TestBroker::start().await;
    let (handler, runner) = runner(&broker);
    let owned = begin_behind_the_spoilt(&runner, &handler).await;
    handler.processed(9).await;
    handler.context(1).confirm(offset(3));
    runner.drain(&owned).await.expect("it stops");
    let resumed = OwnedContext { resumed: true, ..GRANT.owned() };
    runner.assigned(&resumed).await.expect("it goes on");
    assert_eq!(runner.drain(&resumed).await.expect("it stops"), Some(offset(3)));
    runner.assigned(&resumed).await.expect("it goes on");
    // A record that was passed over needs no word, also by the context that the records came with.
    handler.context(1).confirm(offset(SKIPPED));
    assert_eq!(runner.drain(&resumed).await.expect("it stops"), Some(offset(SKIPPED + 1)));
    assert_eq!(broker.committed().0, SKIPPED + 1);
}

#[tokio::test]
async fn the_handle_takes_the_word_of_the_owner_and_of_nobody_else() {
    let broker = TestBroker::start().await;
    let (handler, runner) = runner(&broker);
    let handle = runner.handle();
    let confirm = |epoch| handle.confirm(&partition(), Epoch(epoch), offset(RECORDS));
    assert!(matches!(confirm(5), Err(ConfirmError::NotOwned { .. })), "nothing is owned yet");
    let owned = begin_behind_the_spoilt(&runner, &handler).await;
    handler.processed(9).await;
    for epoch in [4, 6] {
        assert!(matches!(confirm(epoch), Err(ConfirmError::NotOwned { .. })), "{epoch}");
    }
    assert_eq!(confirm(5), Ok(()));
    assert_eq!(runner.drain(&owned).await.expect("it stops"), Some(offset(RECORDS)));
    let automatic = KafkaRunner::new(&KafkaOptions::new(broker.servers(), "g"), handler).expect("valid");
    begin(&automatic, &GRANT.owned()).await;
    assert_eq!(automatic.handle().confirm(&partition(), Epoch(5), offset(1)), Err(ConfirmError::NotAsked));
}
