//! The rhythm of heartbeats.

use std::time::Duration;

use kafka_assigner_types::claim;

use crate::backoff::{Dice, RetryDelay};
use kafka_assigner_types::moment::Moment;

/// The shortest and the longest time to wait for an answer. A heartbeat is due a third of the time to live before the
/// claim lapses; a tenth for each attempt lets three of them fit in with the waits between. It is twice what an
/// instance waits for its store, so that its answer "the store can't be reached" still comes. Below a time to live of
/// 2.5 s the shortest rules, and only two fit.
const BOUNDS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// The first wait after a failed attempt is a hundredth of the time to live, and at most this.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(2);

/// The rhythm of the heartbeats of one session.
#[derive(Debug)]
pub(super) struct Heartbeats {
    ttl: Duration,
    /// Counts over all sessions, so that a late answer is never taken for another's.
    sent: u64,
    waiting: Option<(u64, Moment)>,
    due: Option<Moment>,
    retry: RetryDelay,
}

impl Default for Heartbeats {
    fn default() -> Self {
        let retry = RetryDelay::new(FIRST_RETRY, LONGEST_RETRY);
        Self { ttl: Duration::ZERO, sent: 0, waiting: None, due: None, retry }
    }
}

impl Heartbeats {
    pub(super) fn for_session(&self, opened: Moment, ttl: Duration) -> Self {
        let retry = RetryDelay::new(FIRST_RETRY.min(ttl / 100), LONGEST_RETRY);
        let due = Some(opened + claim::renewal_interval(ttl));
        Self { ttl, sent: self.sent, due, retry, waiting: None }
    }

    pub(super) const fn stop(&mut self) {
        self.waiting = None;
        self.due = None;
    }

    /// Sends the next one as soon as possible.
    pub(super) const fn hurry(&mut self, now: Moment) {
        self.due = Some(now);
    }

    /// Sends the next one at once, and waits no longer for the one that is under way: its answer counts no more.
    pub(super) const fn overtake(&mut self, now: Moment) {
        self.waiting = None;
        self.hurry(now);
    }

    pub(super) const fn next_wake(&self) -> Option<Moment> {
        if self.waiting.is_some() { None } else { self.due }
    }

    /// The number of the heartbeat to send now, if one is due.
    pub(super) fn take_due(&mut self, now: Moment) -> Option<u64> {
        self.next_wake().filter(|due| *due <= now)?;
        self.sent += 1;
        self.waiting = Some((self.sent, now));
        self.due = None;
        Some(self.sent)
    }

    /// The time at which the answered heartbeat was sent; `None` = it is not the one that is waited for.
    pub(super) fn answered(&mut self, number: u64) -> Option<Moment> {
        let (_, sent) = self.waiting.take_if(|(waiting, _)| *waiting == number)?;
        Some(sent)
    }

    /// The session's time to live.
    pub(super) const fn ttl(&self) -> Duration {
        self.ttl
    }

    /// The time to wait for an answer.
    pub(super) fn bound(&self) -> Duration {
        (self.ttl / 10).clamp(BOUNDS.0, BOUNDS.1)
    }

    /// The one that was sent at `sent` was confirmed: the next one follows `interval` later.
    pub(super) fn confirmed(&mut self, sent: Moment, interval: Duration) {
        self.retry.reset();
        self.plan(sent + interval);
    }

    /// The last one was of no use: the next follows after a short wait, `longest` at the most.
    pub(super) fn retry(&mut self, now: Moment, longest: Duration, dice: &mut Dice) {
        let wait = self.retry.next(dice).min(longest);
        self.plan(now + wait);
    }

    /// Plans the next one, unless one was hurried meanwhile.
    fn plan(&mut self, at: Moment) {
        self.due.get_or_insert(at);
    }
}
