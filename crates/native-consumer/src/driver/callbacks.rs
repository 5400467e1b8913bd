//! Partitions that come and go, and the application's part in it.
//!
//! ```text
//!  revoked   the application releases ──► what is done is committed ──► the listener ──► done
//!  lost      it ends at once ───────────────────────────────────────► the listener ──► done
//!  assigned  ───────────────────────────────────────────────────────► the listener ──► done; then it is read
//! ```

use std::collections::BTreeSet;
use std::time::Duration;

use kafka_assigner_group_member::RebalanceCallback;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;

use super::Driver;
use super::answer::Answer;
use crate::PartitionEnd;
use crate::group_member::MemberEvent;

/// The time for the last commit of what was released: one answer of the coordinator, and one more try.
const FLUSH: Duration = Duration::from_secs(5);

/// A callback of the member that is not done yet.
#[derive(Debug)]
pub(super) struct OpenCallback {
    callback: RebalanceCallback,
    number: u64,
    stage: CallbackStage,
    /// The stage is over then, whatever has happened.
    until: Moment,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallbackStage {
    /// The application has the partitions in its hands.
    Releasing,
    /// The last commit is under way.
    Flushing,
    /// The listener is called.
    Listening,
    /// Done.
    Over,
}

impl OpenCallback {
    pub(super) const fn next_step(&self) -> Moment {
        self.until
    }
}

impl Driver {
    /// The time that the application and its listener have; less than the group waits for a member.
    fn time_to_give_up(&self) -> Duration {
        self.options.poll_interval / 5 * 4
    }

    pub(super) fn call(&mut self, callback: RebalanceCallback, now: Moment) {
        self.callbacks += 1;
        let stage = match &callback {
            RebalanceCallback::Revoked(partitions) => {
                self.end_cells(partitions, &PartitionEnd::Revoked);
                CallbackStage::Releasing
            }
            RebalanceCallback::Lost(partitions) => {
                self.give_up(&partitions.clone());
                CallbackStage::Flushing
            }
            RebalanceCallback::Assigned(_) => CallbackStage::Flushing,
        };
        let until = now + self.time_to_give_up();
        self.callback = Some(OpenCallback { callback, number: self.callbacks, stage, until });
    }

    fn end_cells(&self, partitions: &BTreeSet<TopicPartition>, end: &PartitionEnd) {
        for cell in partitions.iter().filter_map(|partition| self.cells.get(partition)) {
            cell.end(end.clone());
        }
        self.core.drop_ended_arrivals();
        self.core.changed.notify_waiters();
    }

    /// The partitions are owned no more: whoever still has one in its hands has lost it.
    fn give_up(&mut self, partitions: &BTreeSet<TopicPartition>) {
        self.end_cells(partitions, &PartitionEnd::Lost);
        self.cells.retain(|partition, _| !partitions.contains(partition));
        self.reading.retain(|partition, _| !partitions.contains(partition));
        self.reader.stop(partitions);
        self.ledger.disown(partitions);
    }

    /// A loss is told to whoever handles records at once, though the callback for it may come later.
    pub(super) fn lose_what_is_lost(&mut self) {
        if self.member.is_lost() {
            let all = crate::cell::names(self.cells.values());
            self.give_up(&all);
        }
    }

    /// Goes on with the callback as far as it can be.
    pub(super) fn serve_callback(&mut self, now: Moment) {
        let Some(mut open) = self.callback.take() else { return };
        if open.stage == CallbackStage::Releasing && (self.is_released(&open) || open.until <= now) {
            (open.stage, open.until) = (CallbackStage::Flushing, now + FLUSH);
            self.commits.hurry(now);
            self.serve_commits(now);
        }
        if open.stage == CallbackStage::Flushing && (self.is_flushed(&open) || open.until <= now) {
            self.listen(&mut open, now);
        }
        if open.stage == CallbackStage::Over || (open.stage == CallbackStage::Listening && open.until <= now)
        {
            return self.events.push_back(MemberEvent::CallbackDone);
        }
        self.callback = Some(open);
    }

    /// True where no partition is in the application's hands any more. One that is lost has no cell.
    fn is_released(&self, open: &OpenCallback) -> bool {
        let mut cells = open.callback.partitions().iter().filter_map(|partition| self.cells.get(partition));
        cells.all(|cell| cell.is_released())
    }

    fn is_flushed(&self, open: &OpenCallback) -> bool {
        match &open.callback {
            RebalanceCallback::Revoked(partitions) => self.ledger.has_settled(partitions),
            RebalanceCallback::Lost(_) | RebalanceCallback::Assigned(_) => true,
        }
    }

    /// What is given up is over; the listener hears of it.
    fn listen(&mut self, open: &mut OpenCallback, now: Moment) {
        if let RebalanceCallback::Revoked(partitions) = &open.callback {
            self.give_up(&partitions.clone());
        }
        let closing = self.closes_at.map(|at| at + FLUSH);
        open.until = closing.map_or(now + self.time_to_give_up(), |at| at.min(now + self.time_to_give_up()));
        let generation = self.member.commits_as().map_or(-1, |membership| membership.generation);
        open.stage = match self.listener.call(&open.callback, generation) {
            None => CallbackStage::Over,
            Some(done) => {
                let number = open.number;
                self.tasks.spawn(async move {
                    // A listener that panicked has nothing more to do either.
                    let _panicked = done.await;
                    Answer::Listened(number)
                });
                CallbackStage::Listening
            }
        };
    }

    pub(super) fn listened(&mut self, number: u64) {
        if let Some(open) = self.callback.as_mut().filter(|open| open.number == number) {
            open.stage = CallbackStage::Over;
        }
    }
}
