//! The place of one partition between the driver, which reads and commits, and the application, which handles.
//!
//! Both sides write what is, and wake the other one: nothing is queued but batches, and those within a bound.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kafka_assigner_group_member::KafkaError;
use kafka_assigner_types::id::{Offset, TopicPartition};
use tokio::sync::Notify;

use crate::{CommitFailure, PartitionBatch, PartitionEnd};

/// A partition in one of its times with this member.
#[derive(Debug)]
pub(crate) struct PartitionCell {
    pub(crate) partition: TopicPartition,
    pub(crate) generation: i32,
    /// Wakes the application.
    pub(crate) changed: Notify,
    state: Mutex<CellState>,
}

/// The state of a partition. Offsets of `done` are included, all others excluded.
#[derive(Debug, Default)]
struct CellState {
    batches: VecDeque<PartitionBatch>,
    bytes: usize,
    /// The application has got everything before this.
    handed_out: Option<Offset>,
    /// The application is done with everything up to this, and the ledger does not know it yet.
    done: Option<Offset>,
    /// Somebody waits until everything up to this is committed.
    awaited: Option<Offset>,
    /// Everything before this is committed.
    committed: Option<Offset>,
    /// A commit before this was refused for good.
    refused: Option<(Offset, KafkaError)>,
    /// The number of times that it was read on from elsewhere.
    moves: u64,
    /// The application wants to read on from here.
    seek: Option<Offset>,
    end: Option<PartitionEnd>,
    is_released: bool,
}

impl CellState {
    fn done_through(&mut self, last: Offset) -> bool {
        let is_handed_out = self.handed_out.is_some_and(|next| last < next);
        if is_handed_out {
            self.done = self.done.max(Some(last));
        }
        is_handed_out
    }

    /// It is read on from elsewhere: what was read before is forgotten.
    fn move_on(&mut self) {
        self.moves += 1;
        (self.handed_out, self.done) = (None, None);
        (self.awaited, self.committed, self.refused) = (None, None, None);
        self.batches.clear();
        self.bytes = 0;
    }
}

impl PartitionCell {
    pub(crate) fn new(partition: TopicPartition, generation: i32) -> Self {
        let (changed, state) = (Notify::new(), Mutex::default());
        Self { partition, generation, changed, state }
    }

    fn state(&self) -> MutexGuard<'_, CellState> {
        // Nothing that can panic is done while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // The driver's side.

    /// Adds a batch; false where the partition has ended, or is to be read from elsewhere.
    pub(crate) fn push(&self, batch: PartitionBatch) -> bool {
        let mut state = self.state();
        let is_wanted = state.end.is_none() && state.seek.is_none();
        if is_wanted {
            state.bytes += batch.bytes;
            state.batches.push_back(batch);
        }
        drop(state);
        self.changed.notify_waiters();
        is_wanted
    }

    /// The bytes that wait for the application.
    pub(crate) fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// The partition ends; the first end stays, but for a loss, which counts more than a revocation. Batches that wait
    /// are dropped.
    pub(crate) fn end(&self, end: PartitionEnd) {
        let mut state = self.state();
        if state.end.as_ref().is_none_or(|before| before.may_become(&end)) {
            state.end = Some(end);
        }
        state.batches.clear();
        state.bytes = 0;
        drop(state);
        self.changed.notify_waiters();
    }

    pub(crate) fn is_released(&self) -> bool {
        self.state().is_released
    }

    /// The last offset that the application is done with, where that is news.
    pub(crate) fn take_done(&self) -> Option<Offset> {
        self.state().done.take()
    }

    /// The offset from which the application wants to read on.
    pub(crate) fn take_seek(&self) -> Option<Offset> {
        self.state().seek.take()
    }

    /// The log does not have the position any more, and another one was chosen. Who waits for a commit is told.
    pub(crate) fn reset(&self) {
        self.state().move_on();
        self.changed.notify_waiters();
    }

    /// True where somebody waits for a commit.
    pub(crate) fn is_awaited(&self) -> bool {
        let state = self.state();
        state.awaited.is_some_and(|last| state.committed.is_none_or(|committed| committed <= last))
    }

    /// Everything before `offset` is committed.
    pub(crate) fn committed(&self, offset: Offset) {
        self.state().committed = Some(offset);
        self.changed.notify_waiters();
    }

    /// The commit of what is before `offset` was refused for good.
    pub(crate) fn refuse(&self, offset: Offset, error: KafkaError) {
        let mut state = self.state();
        (state.refused, state.awaited) = (Some((offset, error)), None);
        drop(state);
        self.changed.notify_waiters();
    }

    // The application's side.

    /// The next batch, or the end; `None`: neither is there yet.
    pub(crate) fn pop(&self) -> Option<Result<PartitionBatch, PartitionEnd>> {
        let mut state = self.state();
        if let Some(end) = &state.end {
            return Some(Err(end.clone()));
        }
        let batch = state.batches.pop_front()?;
        state.bytes -= batch.bytes;
        state.handed_out = Some(batch.next);
        Some(Ok(batch))
    }

    /// The end, where there is one.
    pub(crate) fn ended(&self) -> Option<PartitionEnd> {
        self.state().end.clone()
    }

    /// The application is done with everything up to `last`. False where it did not get that.
    pub(crate) fn done(&self, last: Offset) -> bool {
        self.state().done_through(last)
    }

    /// As [`done`](Self::done), and waits for the commit. Returns the number of moves so far, which
    /// [`commit_outcome`](Self::commit_outcome) takes; `None` where the application did not get that.
    pub(crate) fn await_commit(&self, last: Offset) -> Option<u64> {
        let mut state = self.state();
        let moves = state.done_through(last).then_some(state.moves);
        state.awaited = state.awaited.max(moves.and(Some(last)));
        moves
    }

    /// The outcome of the commit of everything up to `last`, or `None`: it is under way. What was handed out before
    /// a move counts no more.
    pub(crate) fn commit_outcome(&self, last: Offset, moves: u64) -> Option<Result<(), CommitFailure>> {
        let state = self.state();
        if state.moves != moves {
            return Some(Err(CommitFailure::NotHandedOut));
        }
        if state.committed.is_some_and(|committed| last < committed) {
            return Some(Ok(()));
        }
        state
            .refused
            .filter(|(offset, _)| last < *offset)
            .map(|(_, error)| Err(CommitFailure::Refused(error)))
    }

    /// Reads on from `offset`; what was read before is forgotten.
    pub(crate) fn seek(&self, offset: Offset) {
        let mut state = self.state();
        state.move_on();
        state.seek = Some(offset);
    }

    /// The application has finished with the partition.
    pub(crate) fn release(&self) {
        self.state().is_released = true;
    }
}

/// The names of the partitions of cells.
pub(crate) fn names<'a>(
    cells: impl IntoIterator<Item = &'a std::sync::Arc<PartitionCell>>,
) -> BTreeSet<TopicPartition> {
    cells.into_iter().map(|cell| cell.partition.clone()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Something that driver or application do.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Push,
        Pop,
        Done(i64),
        Seek(i64),
        Hear,
        Revoke,
        Lose,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            6 => Just(Step::Push),
            6 => Just(Step::Pop),
            4 => (0..20_i64).prop_map(Step::Done),
            1 => (0..20_i64).prop_map(Step::Seek),
            2 => Just(Step::Hear),
            1 => Just(Step::Revoke),
            1 => Just(Step::Lose),
        ];
        proptest::collection::vec(step, 1..60)
    }

    fn offset(number: i64) -> Offset {
        Offset::new(number).unwrap()
    }

    proptest! {
        #[test]
        fn what_is_done_was_handed_out_and_nothing_is_handed_out_after_the_end(steps in steps()) {
            let partition = TopicPartition::try_from(("t", 0)).unwrap();
            let cell = PartitionCell::new(partition.clone(), 1);
            // The next record that the driver reads, the first that the application has not got, and the worst end.
            let (mut next, mut handed_out, mut end) = (0, None, None);
            for step in steps {
                match step {
                    Step::Push => {
                        let batch = PartitionBatch { partition: partition.clone(), records: Vec::new(), next: offset(next + 1), bytes: 1 };
                        if cell.push(batch) {
                            prop_assert!(end.is_none());
                            next += 1;
                        }
                    }
                    Step::Pop => match cell.pop() {
                        Some(Ok(batch)) => {
                            prop_assert!(end.is_none(), "a batch after the end");
                            prop_assert!(handed_out.is_none_or(|before| before < batch.next.get()), "out of order");
                            handed_out = Some(batch.next.get());
                        }
                        Some(Err(told)) => prop_assert_eq!(Some(told), end.clone()),
                        None => prop_assert!(end.is_none()),
                    },
                    Step::Done(last) => {
                        let is_known = handed_out.is_some_and(|next| last < next);
                        prop_assert_eq!(cell.done(offset(last)), is_known);
                    }
                    Step::Seek(to) => {
                        cell.seek(offset(to));
                        (next, handed_out) = (to, None);
                    }
                    Step::Hear => {
                        cell.take_seek();
                        let done = cell.take_done();
                        prop_assert!(done.is_none_or(|last| handed_out.is_some_and(|next| last.get() < next)));
                    }
                    Step::Revoke => {
                        cell.end(PartitionEnd::Revoked);
                        end = end.or(Some(PartitionEnd::Revoked));
                    }
                    Step::Lose => {
                        cell.end(PartitionEnd::Lost);
                        end = Some(PartitionEnd::Lost);
                    }
                }
                prop_assert_eq!(cell.ended(), end.clone());
                prop_assert!(end.is_none() || cell.bytes() == 0, "what has ended keeps nothing");
            }
        }
    }
}
