//! Handlers that say what may be committed.

use std::sync::{Arc, Mutex};

use kafka_assigner_handler::testing::SimulatedPartition;
use kafka_assigner_handler::*;

use crate::offset;

/// Keeps records until the test has them written, all at once.
#[derive(Clone, Default)]
struct Buffered {
    contexts: Arc<Mutex<Vec<PartitionContext>>>,
    processed: Arc<Mutex<Vec<i64>>>,
    confirms_when_drained: bool,
}

impl Buffered {
    /// Confirms, as the owner that came as the one of this number, that what was written is safe up to here.
    fn confirm(&self, owner: usize, next: i64) {
        self.contexts.lock().unwrap()[owner].confirm(offset(next));
    }

    fn processed(&self) -> Vec<i64> {
        std::mem::take(&mut *self.processed.lock().unwrap())
    }
}

impl RecordHandler for Buffered {
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
        self.processed.lock().unwrap().push(record.offset().get());
        if record.value() == Some(b"bad") {
            return Err(RecordError::dead_letter("bad").spoiled());
        }
        state.push(record.offset().get());
        Ok(())
    }

    async fn begin(&self, context: &PartitionContext, _: &mut Self::State) -> Result<(), RecordError> {
        self.contexts.lock().unwrap().push(context.clone());
        Ok(())
    }

    async fn drained(&self, context: &PartitionContext, state: &mut Self::State) -> Result<(), RecordError> {
        if let Some(last) = state.last().filter(|_| self.confirms_when_drained) {
            context.confirm(offset(last + 1));
        }
        Ok(())
    }
}

fn partition(handler: &Buffered, values: &[&str]) -> SimulatedPartition<Buffered> {
    let handler = handler.clone();
    let partition = SimulatedPartition::new("t", 0, move || handler.clone());
    let mut partition = partition.with_commits(CommitRule::Confirmed);
    values.iter().for_each(|value| _ = partition.produce("k", value));
    partition
}

#[tokio::test(start_paused = true)]
async fn nothing_is_committed_that_was_not_confirmed() {
    let handler = Buffered::default();
    let mut partition = partition(&handler, &["a", "b", "c", "d"]);
    partition.run().await;
    partition.commit();
    assert_eq!(partition.committed(), offset(0), "four are processed, and none is confirmed");
    handler.confirm(0, 3);
    partition.commit();
    assert_eq!(partition.committed(), offset(3));
    handler.confirm(0, 100);
    partition.commit();
    assert_eq!(partition.committed(), offset(4), "never more than was processed");
}

#[tokio::test(start_paused = true)]
async fn a_move_hands_over_where_records_are_confirmed_and_the_others_come_again() {
    let handler = Buffered::default();
    let mut partition = partition(&handler, &["a", "b", "c", "d"]);
    partition.run().await;
    handler.confirm(0, 2);
    partition.move_owner().await;
    assert_eq!((partition.committed(), handler.processed().len()), (offset(2), 4));
    partition.run().await;
    assert_eq!(handler.processed(), [2, 3]);
    assert_eq!(partition.state(), Some(&vec![0, 1, 2, 3]));
    handler.confirm(0, 4);
    partition.commit();
    assert_eq!(partition.committed(), offset(2), "the word of an owner that has gone");
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_confirms_when_it_is_drained_leaves_nothing_to_repeat() {
    let handler = Buffered { confirms_when_drained: true, ..Buffered::default() };
    let mut partition = partition(&handler, &["a", "b", "c"]);
    partition.run().await;
    partition.move_owner().await;
    assert_eq!(partition.committed(), offset(3));
}

// Records before it are processed again each time that the state is built, since nobody confirms them meanwhile.
#[tokio::test(start_paused = true)]
async fn a_dead_letter_behind_records_that_are_not_confirmed_is_written_once() {
    let handler = Buffered::default();
    let mut partition = partition(&handler, &["a", "bad", "c"]);
    partition.run().await;
    assert_eq!(partition.dead_letters().len(), 1);
    assert_eq!(handler.processed(), [0, 1, 0, 2]);
    assert_eq!(partition.state(), Some(&vec![0, 1, 2]), "as every rebuild makes it");
    handler.confirm(1, 1);
    partition.commit();
    assert_eq!(partition.committed(), offset(2), "what was passed over needs no word");
}

#[tokio::test(start_paused = true)]
async fn shards_confirm_for_themselves() {
    let handler = Buffered::default();
    let of_owner = handler.clone();
    let partition = SimulatedPartition::new("t", 0, move || Sharded::new(of_owner.clone(), 16));
    let mut partition = partition.with_commits(CommitRule::Confirmed);
    // The keys of shards 12 and 5.
    for key in ["a", "b", "a", "b"] {
        partition.produce(key, "x");
    }
    partition.run().await;
    handler.confirm(12, 3);
    partition.commit();
    assert_eq!(partition.committed(), offset(0), "the other shard has confirmed nothing");
    handler.confirm(5, 2);
    partition.commit();
    assert_eq!(partition.committed(), offset(2));
    handler.confirm(5, 4);
    partition.commit();
    assert_eq!(partition.committed(), offset(4));
}
