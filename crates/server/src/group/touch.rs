//! The certainty that a group's view is complete: how long ago its watch was last known to have delivered all there was.
//!
//! A watch that breaks is seen at once, one that falls silent is not. So the view is held against what the store says
//! itself; until that has come, nobody knows whether the view is complete.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use kafka_assigner_types::kv::Revision;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The touch of one group's view with the store, as far as streams of the group are served here.
#[derive(Debug)]
pub(crate) struct StoreTouch {
    certainty: Mutex<Certainty>,
    /// The time from which on the view may be incomplete, once that is longer ago than streams bear.
    lost: watch::Sender<Option<Instant>>,
}

#[derive(Debug)]
struct Certainty {
    /// At this time the view was complete.
    complete_at: Instant,
    /// The revision that the store said, and when it was asked: once the view is there, it was complete then.
    asked: Option<(Revision, Instant)>,
}

impl Default for StoreTouch {
    fn default() -> Self {
        let certainty = Certainty { complete_at: Instant::now(), asked: None };
        Self { certainty: Mutex::new(certainty), lost: watch::Sender::new(None) }
    }
}

impl StoreTouch {
    /// Takes in where the view stands, and the time of its watch's last word; returns how long it may be incomplete.
    /// Longer than `patience` counts as lost.
    pub(crate) fn look(&self, view: Revision, progress: Option<Instant>, patience: Duration) -> Duration {
        let mut certainty = self.certainty();
        let confirmed = certainty.asked.take_if(|(revision, _)| *revision <= view).map(|(_, at)| at);
        let newest = confirmed.max(progress);
        certainty.complete_at = certainty.complete_at.max(newest.unwrap_or(certainty.complete_at));
        let complete_at = certainty.complete_at;
        drop(certainty);
        let age = complete_at.elapsed();
        self.lost.send_if_modified(|lost| {
            let now = (age > patience).then_some(complete_at);
            std::mem::replace(lost, now).is_some() != now.is_some()
        });
        age
    }

    /// The store said `revision`, when it was asked `at`.
    pub(crate) fn said(&self, revision: Revision, at: Instant) {
        self.certainty().asked.get_or_insert((revision, at));
    }

    /// Nobody is served, and nothing is asked: begins anew.
    pub(crate) fn rest(&self) {
        *self.certainty() = Certainty { complete_at: Instant::now(), asked: None };
        self.lost.send_if_modified(|lost| lost.take().is_some());
    }

    /// True if streams can't be told the truth now.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.borrow().is_some()
    }

    /// A stream's ear, which waits for `spread` after each loss, so that not all are told at once.
    pub(crate) fn listen(&self, spread: Duration) -> TouchListener {
        TouchListener { lost: self.lost.subscribe(), spread, due: None, is_told: false }
    }

    fn certainty(&self) -> MutexGuard<'_, Certainty> {
        self.certainty.lock().expect("nothing panics while it holds it")
    }
}

/// One stream's ear for the loss of touch.
#[derive(Debug)]
pub(crate) struct TouchListener {
    lost: watch::Receiver<Option<Instant>>,
    spread: Duration,
    due: Option<Instant>,
    is_told: bool,
}

impl TouchListener {
    /// Waits until a loss has to be told, once for each; returns for how long the view may have been incomplete.
    /// Cancel safe.
    pub(crate) async fn lost(&mut self) -> Duration {
        loop {
            if self.is_told {
                self.until(Option::is_none).await;
                self.is_told = false;
            }
            self.until(Option::is_some).await;
            let due = *self.due.get_or_insert(Instant::now() + self.spread);
            sleep_until(due).await;
            self.due = None;
            // It may be over by now.
            let since = *self.lost.borrow();
            if let Some(since) = since {
                self.is_told = true;
                return since.elapsed();
            }
        }
    }

    async fn until(&mut self, holds: impl Fn(&Option<Instant>) -> bool) {
        if self.lost.wait_for(|lost| holds(lost)).await.is_err() {
            // The group is served no more: its streams end by themselves.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn a_view_is_certain_once_it_came_to_what_the_store_said() {
        let touch = StoreTouch::default();
        tokio::time::advance(Duration::from_secs(4)).await;
        touch.said(Revision(7), Instant::now());
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(touch.look(Revision(6), None, PATIENCE), Duration::from_secs(6));
        assert!(touch.is_lost());
        assert_eq!(touch.look(Revision(7), None, PATIENCE), Duration::from_secs(2), "as of the question");
        assert!(!touch.is_lost());
    }

    #[tokio::test(start_paused = true)]
    async fn the_watchs_own_word_is_certainty() {
        let touch = StoreTouch::default();
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(touch.look(Revision(1), Some(Instant::now()), PATIENCE), Duration::ZERO);
        assert!(!touch.is_lost());
    }

    #[tokio::test(start_paused = true)]
    async fn a_loss_is_told_once_and_the_next_one_again() {
        let touch = StoreTouch::default();
        let mut ear = touch.listen(Duration::from_secs(3));
        for _ in 0..2 {
            tokio::time::advance(Duration::from_secs(6)).await;
            touch.look(Revision(1), None, PATIENCE);
            let begin = Instant::now();
            assert!(ear.lost().await >= Duration::from_secs(9));
            assert_eq!(begin.elapsed(), Duration::from_secs(3), "spread");
            let again = tokio::time::timeout(Duration::from_secs(60), ear.lost()).await;
            assert!(again.is_err(), "once");
            touch.rest();
            let none = tokio::time::timeout(Duration::from_secs(1), ear.lost()).await;
            assert!(none.is_err(), "not in touch");
        }
    }
}
