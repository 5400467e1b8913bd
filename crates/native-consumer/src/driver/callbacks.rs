//! Partitions that come and go, and the application's part in it.
//!
//! ```text
//!  revoked   the application releases ──► what is done is committed ──► the listener ──► done
//!  lost      it ends at once ───────────────────────────────────────► the listener ──► done
//!  assigned  ───────────────────────────────────────────────────────► the listener ──► done; then it is read
//! ```
//!
//! All stages of a callback have one deadline: the group waits for the sum of them.

use std::collections::BTreeSet;
use std::time::Duration;

use kafka_assigner_group_member::RebalanceCallback;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;

use super::Driver;
use super::answer::Answer;
use crate::PartitionEnd;
use crate::group_member::MemberEvent;

/// The time that brokers have to take the last commit of what was released, where they refuse it again and again with an
/// error that passes. Releasing leaves as much of the callback's time, or a quarter of it.
const FLUSH: Duration = Duration::from_secs(5);

/// A callback of the member that is not done yet.
#[derive(Debug)]
pub(super) struct OpenCallback {
    callback: RebalanceCallback,
    number: u64,
    stage: CallbackStage,
    times: CallbackTimes,
    /// True where what was to be given up was lost meanwhile.
    is_lost: bool,
}

/// The times of a callback.
#[derive(Debug, Clone, Copy)]
struct CallbackTimes {
    /// The application has to have released by then.
    release_until: Moment,
    /// The callback is over then, whatever has happened.
    ends: Moment,
    /// The last commit is given up then, unless brokers could not be asked.
    flush_until: Moment,
}

impl CallbackTimes {
    fn new(now: Moment, within: Duration) -> Self {
        let ends = now + within;
        Self { release_until: now + (within - FLUSH.min(within / 4)), ends, flush_until: ends }
    }

    /// The same, within a time that may be shorter.
    fn within(self, other: Self) -> Self {
        Self {
            release_until: self.release_until.min(other.release_until),
            ends: self.ends.min(other.ends),
            flush_until: self.flush_until.min(other.ends),
        }
    }

    /// The last commit begins, or begins again since the coordinator could not be asked.
    fn begin_flush(&mut self, now: Moment) {
        self.flush_until = self.ends.min(now + FLUSH);
    }
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
        match self.stage {
            CallbackStage::Releasing => self.times.release_until,
            CallbackStage::Flushing => self.times.flush_until,
            CallbackStage::Listening | CallbackStage::Over => self.times.ends,
        }
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
        let times = CallbackTimes::new(now, self.time_to_give_up());
        let number = self.callbacks;
        self.callback = Some(OpenCallback { callback, number, stage, times, is_lost: false });
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
        // A commit under way says nothing to whoever has them next, which may be this member.
        partitions.iter().for_each(|partition| self.commits.forget(partition));
    }

    /// A loss is told to whoever handles records at once, though the callback for it may come later.
    pub(super) fn lose_what_is_lost(&mut self) {
        if self.member.is_lost() {
            let all = crate::cell::names(self.cells.values());
            self.give_up(&all);
            if let Some(open) = &mut self.callback {
                open.is_lost = true;
            }
        }
    }

    /// Goes on with the callback as far as it can be.
    pub(super) fn serve_callback(&mut self, now: Moment) {
        let Some(mut open) = self.callback.take() else { return };
        if let Some((since, within)) = self.closes {
            open.times = open.times.within(CallbackTimes::new(since, within));
        }
        if open.stage == CallbackStage::Releasing
            && (self.is_released(&open) || open.times.release_until <= now)
        {
            open.stage = CallbackStage::Flushing;
            open.times.begin_flush(now);
            self.commits.hurry(now);
            self.serve_commits(now);
        }
        if open.stage == CallbackStage::Flushing && self.is_flushed(&mut open, now) {
            self.listen(&mut open);
        }
        let is_late = open.stage == CallbackStage::Listening && open.times.ends <= now;
        if open.stage == CallbackStage::Over || is_late {
            return self.events.push_back(MemberEvent::CallbackDone);
        }
        self.callback = Some(open);
    }

    /// True where no partition is in the application's hands any more. One that is lost has no cell.
    fn is_released(&self, open: &OpenCallback) -> bool {
        let mut cells = open.callback.partitions().iter().filter_map(|partition| self.cells.get(partition));
        cells.all(|cell| cell.is_released())
    }

    /// True where everything is committed, or the time for that is over. A coordinator that can't be asked, or does not
    /// answer, costs none of the time but the callback's own.
    fn is_flushed(&self, open: &mut OpenCallback, now: Moment) -> bool {
        let RebalanceCallback::Revoked(partitions) = &open.callback else { return true };
        if self.coordinator().is_none() {
            open.times.begin_flush(now);
        }
        let is_given_up = open.times.flush_until <= now && !self.commits.is_under_way();
        self.ledger.has_settled(partitions) || is_given_up || open.times.ends <= now
    }

    /// The partitions that are given up are over; the listener hears of it.
    fn listen(&mut self, open: &mut OpenCallback) {
        if let RebalanceCallback::Revoked(partitions) = &open.callback {
            let partitions = partitions.clone();
            self.give_up(&partitions);
            if open.is_lost {
                // Others may have had them before anything was committed.
                open.callback = RebalanceCallback::Lost(partitions);
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment(Duration::from_secs(seconds))
    }

    fn seconds(times: CallbackTimes) -> [u64; 3] {
        [times.release_until, times.flush_until, times.ends].map(|at| at.0.as_secs())
    }

    #[test]
    fn the_stages_of_a_callback_share_its_time_and_closing_may_shorten_it() {
        let mut times = CallbackTimes::new(at(100), Duration::from_secs(240));
        assert_eq!(seconds(times), [335, 340, 340]);
        times.begin_flush(at(120));
        assert_eq!(seconds(times), [335, 125, 340], "brokers that refuse it have five seconds");
        times.begin_flush(at(339));
        assert_eq!(seconds(times), [335, 340, 340], "and no more than there is");
        let closing = CallbackTimes::new(at(130), Duration::from_secs(8));
        assert_eq!(seconds(times.within(closing)), [136, 138, 138]);
        let later = CallbackTimes::new(at(330), Duration::from_secs(30));
        assert_eq!(seconds(times.within(later)), [335, 340, 340]);
    }
}
