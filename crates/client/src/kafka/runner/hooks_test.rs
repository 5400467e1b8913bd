//! Calls of the handler that are about no record, and fail.

use std::sync::atomic::{AtomicBool, Ordering};

use kafka_assigner_handler::{
    Gap, OpenedState, PartitionContext, Preparation, Record, RecordError, StartPosition, StateSnapshot,
};
use kafka_assigner_types::id::Epoch;
use tokio::time::timeout;

use super::test_broker::{Grant, PATIENCE, RECORDS, TestBroker, offset, partition};
use super::*;

/// Everything is committed already, and there is no other owner.
const GRANT: Grant = Grant { committed: None, start: Some(3) };

/// Answers one kind of call with an error until that is mended.
struct Failing {
    hook: Hook,
    error: fn(&'static str) -> RecordError,
    is_mended: Arc<AtomicBool>,
}

impl Failing {
    fn answer(&self, hook: Hook) -> Result<(), RecordError> {
        let is_well = self.hook != hook || self.is_mended.load(Ordering::SeqCst);
        if is_well { Ok(()) } else { Err((self.error)("the disk is gone")) }
    }
}

impl RecordHandler for Failing {
    type State = Vec<i64>;

    async fn open(
        &self,
        _: &Preparation,
        _: Option<StateSnapshot>,
    ) -> Result<OpenedState<Self::State>, RecordError> {
        self.answer(Hook::Open).map(|()| OpenedState::empty(Vec::new()))
    }

    async fn catch_up(&self, _: &TopicPartition, _: &mut Vec<i64>, _: &Record) -> Result<(), RecordError> {
        Ok(())
    }

    async fn process(
        &self,
        _: &PartitionContext,
        processed: &mut Vec<i64>,
        record: &Record,
    ) -> Result<(), RecordError> {
        processed.push(record.offset().get());
        Ok(())
    }

    async fn fence(&self, _: &PartitionContext) -> Result<(), RecordError> {
        self.answer(Hook::Fence)
    }

    async fn gap(&self, _: &TopicPartition, _: &mut Vec<i64>, _: Gap) -> Result<(), RecordError> {
        self.answer(Hook::Gap)
    }

    async fn begin(&self, _: &PartitionContext, _: &mut Vec<i64>) -> Result<(), RecordError> {
        self.answer(Hook::Begin)
    }

    async fn drained(&self, _: &PartitionContext, _: &mut Vec<i64>) -> Result<(), RecordError> {
        self.answer(Hook::Drained)
    }
}

/// A runner whose handler fails at `hook`.
struct Broken {
    _broker: TestBroker,
    runner: KafkaRunner<Failing>,
    grant: Grant,
    owned: OwnedContext,
    is_mended: Arc<AtomicBool>,
}

impl Broken {
    async fn at(hook: Hook, error: fn(&'static str) -> RecordError) -> Self {
        let (broker, is_mended) = (TestBroker::start().await, Arc::<AtomicBool>::default());
        let handler = Failing { hook, error, is_mended: is_mended.clone() };
        let runner =
            KafkaRunner::new(&KafkaOptions::new(broker.servers(), "g"), handler).expect("valid options");
        Self { _broker: broker, runner, grant: GRANT, owned: GRANT.owned(), is_mended }
    }

    /// The same with a grant that starts at `start`.
    fn from(self, start: i64) -> Self {
        let grant = Grant { start: Some(start), ..GRANT };
        Self { grant, owned: grant.owned(), ..self }
    }

    fn mend(&self) {
        self.is_mended.store(true, Ordering::SeqCst);
    }

    /// Does all steps up to the one of which the failing call is a part, and that one.
    async fn step(&self) -> Result<(), HandlerError> {
        match self.runner.parts.handler.hook {
            Hook::Open => self.runner.warm(&self.grant.warm()).await,
            Hook::Fence | Hook::Begin => {
                if self.runner.slots().is_empty() {
                    self.runner.warm(&self.grant.warm()).await?;
                }
                self.runner.assigned(&self.owned).await
            }
            Hook::Gap => {
                let gap = Gap { from: offset(3), to: offset(7) };
                let catching_up = self.runner.catching_up();
                Ok(catching_up.pass_gap(&partition(), &mut Vec::new(), gap).await?)
            }
            Hook::Drained => {
                if self.runner.slots().is_empty() {
                    // Nothing is processed before the drain, so that it stops where it begins.
                    self.runner.handle().pause(&partition(), self.owned.epoch());
                    self.runner.warm(&self.grant.warm()).await?;
                    self.runner.assigned(&self.owned).await?;
                }
                self.runner.drain(&self.owned).await.map(drop)
            }
        }
    }

    async fn failure(&self) -> String {
        self.step().await.expect_err("the handler fails").to_string()
    }

    /// The records that were processed, as soon as the partition's task answers: a drain that failed begins another one.
    async fn processed(&self) -> Vec<i64> {
        let handle = self.runner.handle();
        let answered = async {
            loop {
                if let Ok(processed) = handle.read(&partition(), |processed, _| processed.clone()).await {
                    return processed;
                }
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, answered).await.expect("it is owned")
    }
}

fn stands(epoch: u64) -> Vec<StoppedPartition> {
    let (partition, epoch, reason) = (partition(), Epoch(epoch), "the disk is gone".to_owned());
    vec![StoppedPartition { partition, epoch, offset: offset(3), reason, is_of_drain: epoch != Epoch(0) }]
}

async fn a_stop_is_shown(hook: Hook, epoch: u64) {
    let broken = Broken::at(hook, RecordError::stop).await;
    assert_eq!(broken.failure().await, "the disk is gone");
    assert_eq!((broken.runner.stopped(), broken.runner.fatal()), (stands(epoch), None));
    broken.mend();
    broken.step().await.expect("it is mended");
    if hook == Hook::Open {
        broken.runner.assigned(&broken.owned).await.expect("it begins");
    }
    // A gap is a part of a step that ends the standstill.
    if hook != Hook::Gap {
        assert_eq!(broken.runner.stopped(), []);
    }
}

async fn a_fatal_error_ends_the_consumer(hook: Hook, epoch: u64) {
    let broken = Broken::at(hook, RecordError::fatal).await;
    assert_eq!(broken.failure().await, "the disk is gone");
    let fatal = Some("the disk is gone".to_owned());
    // It is about the process: where nothing has begun, another one may well begin.
    let stopped = if hook == Hook::Drained { stands(epoch) } else { vec![] };
    assert_eq!((broken.runner.stopped(), broken.runner.fatal()), (stopped, fatal));
}

async fn there_is_no_record_to_pass_over(hook: Hook) {
    for error in [|reason| RecordError::skip(reason), |reason| RecordError::dead_letter(reason)] {
        let broken = Broken::at(hook, error).await;
        let failure = broken.failure().await;
        assert_eq!(failure, "the disk is gone (tried again: there is no record to pass over)");
        assert_eq!((broken.runner.stopped(), broken.runner.fatal()), (vec![], None));
        broken.mend();
        broken.step().await.expect("it is mended");
    }
}

async fn each_answer_counts(hook: Hook, epoch: u64) {
    a_stop_is_shown(hook, epoch).await;
    a_fatal_error_ends_the_consumer(hook, epoch).await;
    there_is_no_record_to_pass_over(hook).await;
}

#[tokio::test]
async fn an_answer_to_open_counts() {
    each_answer_counts(Hook::Open, 0).await;
}

#[tokio::test]
async fn an_answer_to_fence_counts() {
    each_answer_counts(Hook::Fence, 0).await;
}

#[tokio::test]
async fn an_answer_to_gap_counts() {
    each_answer_counts(Hook::Gap, 0).await;
}

#[tokio::test]
async fn an_answer_to_begin_counts() {
    each_answer_counts(Hook::Begin, 0).await;
}

#[tokio::test]
async fn an_answer_to_drained_counts() {
    each_answer_counts(Hook::Drained, 5).await;
}

#[tokio::test]
async fn a_partition_that_can_not_end_its_work_begins_no_record_before_it_is_granted_again() {
    let broken = Broken::at(Hook::Drained, RecordError::stop).await;
    broken.failure().await;
    broken.runner.handle().resume(&partition(), broken.owned.epoch());
    assert_eq!([broken.processed().await, broken.processed().await], [[0_i64; 0]; 2]);
    assert_eq!(broken.runner.stopped(), stands(5));
    broken.owned.claim().go_on(Epoch(6), false);
    let all = async { while broken.processed().await.last() != Some(&(RECORDS - 1)) {} };
    timeout(PATIENCE, all).await.expect("it goes on");
    assert_eq!(broken.runner.stopped(), []);
}

// Each try would look as if it stood no more, and then again.
#[tokio::test]
async fn a_partition_stands_while_its_preparation_is_tried_again() {
    let broken = Broken::at(Hook::Open, RecordError::stop).await;
    for _ in 0..2 {
        broken.failure().await;
        broken.runner.release(&partition()).await.expect("nothing is held");
        assert_eq!(broken.runner.stopped(), stands(0));
    }
    broken.runner.forgotten(&partition());
    assert_eq!(broken.runner.stopped(), []);
}

#[tokio::test]
async fn a_partition_stands_while_it_is_prepared_again_for_a_start_that_spoiled_its_state() {
    let broken = Broken::at(Hook::Begin, |reason| RecordError::stop(reason).spoiled()).await;
    broken.failure().await;
    broken.runner.release(&partition()).await.expect("it is dropped");
    broken.runner.warm(&GRANT.warm()).await.expect("it is prepared");
    assert_eq!(broken.runner.stopped(), stands(0));
    broken.mend();
    broken.step().await.expect("it begins");
    assert_eq!(broken.runner.stopped(), []);
}

#[tokio::test]
async fn a_partition_without_another_record_stands_no_more_once_it_is_granted_again() {
    let broken = Broken::at(Hook::Drained, RecordError::stop).await.from(RECORDS);
    broken.failure().await;
    // Its task stands by now.
    broken.processed().await;
    assert_eq!(broken.runner.stopped().len(), 1);
    broken.owned.claim().go_on(Epoch(6), false);
    let ended = async {
        while !broken.runner.stopped().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, ended).await.expect("it stands no more");
}

#[tokio::test]
async fn a_partition_whose_work_could_not_end_stands_with_another_state_too() {
    let broken = Broken::at(Hook::Drained, |reason| RecordError::stop(reason).spoiled()).await;
    broken.failure().await;
    broken.runner.lost(&broken.owned).await;
    // As after a preparation that failed once.
    broken.runner.release(&partition()).await.expect("nothing is left of it");
    // Somebody has committed another offset.
    let broken = broken.from(4);
    broken.runner.warm(&broken.grant.warm()).await.expect("it is prepared");
    broken.runner.assigned(&broken.owned).await.expect("it begins, as far as it can");
    broken.runner.handle().resume(&partition(), broken.owned.epoch());
    assert_eq!([broken.processed().await, broken.processed().await], [[0_i64; 0]; 2]);
    assert_eq!(broken.runner.stopped(), stands(5));
}

#[tokio::test]
async fn a_partition_whose_work_could_not_end_goes_nowhere_else_under_the_same_grant() {
    let broken = Broken::at(Hook::Drained, RecordError::stop).await;
    broken.failure().await;
    broken.processed().await;
    let (handle, epoch) = (broken.runner.handle(), broken.owned.epoch());
    let place = StartPosition::At(offset(7));
    let refused = handle.seek(&partition(), epoch, place).await.expect_err("it stands");
    assert_eq!(refused.to_string(), "t/0 stands, since its handler could not end its work");
    assert_eq!(broken.runner.stopped(), stands(5));
}
