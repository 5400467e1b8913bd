//! Handlers in the kit for tests: every rule of a runner, on simulated time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod confirmed;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kafka_assigner_handler::testing::SimulatedPartition;
use kafka_assigner_handler::*;
use tokio::time::Instant;

/// Sums numbers up, and shares what it did with the test.
#[derive(Debug, Clone, Default)]
struct Sum {
    effects: Arc<Mutex<Vec<(u64, u64)>>>,
    closed: Arc<Mutex<Vec<Closing>>>,
}

fn number(record: &Record) -> Result<u64, RecordError> {
    std::str::from_utf8(record.value().unwrap_or_default()).unchanged()?.parse().unchanged()
}

impl RecordHandler for Sum {
    type State = u64;

    async fn open(
        &self,
        _: &Preparation,
        snapshot: Option<StateSnapshot>,
    ) -> Result<OpenedState<u64>, RecordError> {
        let Some(snapshot) = snapshot else { return Ok(OpenedState::empty(0)) };
        let sum = std::str::from_utf8(&snapshot.bytes).unchanged()?.parse().unchanged()?;
        Ok(OpenedState::up_to(sum, snapshot.next_offset, snapshot.topic_id))
    }

    async fn catch_up(&self, _: &TopicPartition, sum: &mut u64, record: &Record) -> Result<(), RecordError> {
        *sum += number(record)?;
        Ok(())
    }

    async fn process(
        &self,
        context: &PartitionContext,
        sum: &mut u64,
        record: &Record,
    ) -> Result<(), RecordError> {
        let number = number(record)?;
        *sum += number;
        self.effects.lock().unwrap().push((context.epoch().0, number));
        Ok(())
    }

    fn snapshot(&self, _: &TopicPartition, sum: &u64) -> Result<Option<bytes::Bytes>, RecordError> {
        Ok(Some(sum.to_string().into()))
    }

    async fn close(&self, _: &TopicPartition, closing: Closing, _: Option<u64>) {
        self.closed.lock().unwrap().push(closing);
    }
}

/// A partition with the numbers 1 to 3.
fn three() -> (SimulatedPartition<Sum>, Sum) {
    let sum = Sum::default();
    let of_owner = sum.clone();
    let mut partition = SimulatedPartition::new("numbers", 0, move || of_owner.clone());
    for number in ["1", "2", "3"] {
        partition.produce("k", number);
    }
    (partition, sum)
}

fn offset(number: i64) -> Offset {
    Offset::new(number).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_move_hands_the_state_on_and_repeats_nothing() {
    let (mut partition, sum) = three();
    partition.run().await;
    partition.move_owner().await;
    partition.produce("k", "4");
    partition.run().await;
    assert_eq!(partition.state(), Some(&10));
    assert_eq!(*sum.effects.lock().unwrap(), [(1, 1), (1, 2), (1, 3), (2, 4)]);
    assert_eq!(*sum.closed.lock().unwrap(), [Closing::Released]);
}

#[tokio::test(start_paused = true)]
async fn a_crash_repeats_what_was_not_committed_and_the_state_is_the_same() {
    let (mut partition, sum) = three();
    partition.run().await;
    partition.commit();
    partition.produce("k", "4");
    partition.run().await;
    partition.crash();
    partition.run().await;
    assert_eq!(partition.state(), Some(&10));
    assert_eq!(sum.effects.lock().unwrap()[3..], [(1, 4), (2, 4)]);
    partition.lose_claim().await;
    assert!(partition.state().is_none());
    assert_eq!(*sum.closed.lock().unwrap(), [Closing::Lost], "a process that crashed closes nothing");
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_has_changed_the_state_leaves_nothing_of_it() {
    let (mut partition, _) = three();
    partition.fail(offset(1), 3);
    let begun = Instant::now();
    partition.run().await;
    assert_eq!(partition.state(), Some(&6));
    let waited = begun.elapsed();
    assert!((Duration::from_millis(350)..=Duration::from_millis(750)).contains(&waited), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_passed_over_is_in_every_state_as_catch_up_makes_it() {
    let policy = ErrorPolicy::after(2, Remedy::DeadLetter);
    let (partition, _) = three();
    let mut partition = partition.with_policy(policy);
    partition.produce("k", "none");
    partition.produce("k", "5");
    partition.fail(offset(4), 9);
    partition.run().await;
    assert_eq!(partition.passed_over(), [offset(3), offset(4)]);
    assert_eq!(partition.dead_letters().len(), 2);
    assert_eq!(partition.state(), Some(&11), "5 is caught up with, and what is no number can't be");
    partition.move_owner().await;
    assert_eq!(partition.state(), Some(&11));
    assert_eq!(partition.dead_letters().len(), 2, "a rebuild writes none");
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_stands_goes_no_further_until_it_moves() {
    let (partition, _) = three();
    let mut partition = partition.with_policy(ErrorPolicy::after(1, Remedy::Stop));
    partition.fail(offset(1), 1);
    partition.run().await;
    assert_eq!(partition.stopped(), Some((offset(1), "the test wants this attempt to fail")));
    partition.run().await;
    assert_eq!(partition.state(), Some(&1), "the state was built anew, without the record");
    partition.move_owner().await;
    partition.run().await;
    assert_eq!((partition.state(), partition.stopped()), (Some(&6), None));
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_is_where_the_next_owner_begins() {
    let (mut partition, _) = three();
    partition.run().await;
    partition.take_snapshot();
    partition.produce("k", "4");
    partition.run().await;
    partition.move_owner().await;
    assert_eq!(partition.state(), Some(&10));
}
