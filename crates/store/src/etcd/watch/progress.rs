//! When etcd is asked for the progress of its watches, and when its silence means trouble.

use std::time::Duration;

use tokio::time::Instant;

/// How long a stream may be silent before it is asked for a sign of life.
const SILENCE: Duration = Duration::from_secs(5);

/// The shortest time between two requests while one is unanswered. Waiting readers ask more often.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// When a stream was last heard, and asked.
#[derive(Debug)]
pub(super) struct Pulse {
    heard: Instant,
    /// The first request since then.
    asked_first: Option<Instant>,
    asked_last: Instant,
}

impl Pulse {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self { heard: now, asked_first: None, asked_last: now }
    }

    pub(super) fn heard(&mut self) {
        self.heard = Instant::now();
        self.asked_first = None;
    }

    pub(super) fn asked(&mut self) {
        self.asked_last = Instant::now();
        self.asked_first.get_or_insert(self.asked_last);
    }

    /// Whether a reader's wish for progress makes a request of its own.
    pub(super) fn may_ask(&self, unanswered: bool) -> bool {
        !unanswered || self.asked_last.elapsed() >= ASK_EVERY
    }

    pub(super) fn is_silent(&self) -> bool {
        self.heard.elapsed() >= SILENCE && self.asked_last.elapsed() >= SILENCE
    }

    /// Whether a question has gone unanswered for so long.
    pub(super) fn is_lost(&self, patience: Duration) -> bool {
        self.asked_first.is_some_and(|asked| asked.elapsed() >= patience)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_question_without_an_answer_is_a_loss_after_a_while() {
        let patience = Duration::from_secs(10);
        let mut pulse = Pulse::new();
        tokio::time::advance(SILENCE).await;
        assert!(pulse.is_silent() && !pulse.is_lost(patience));
        pulse.asked();
        tokio::time::advance(SILENCE).await;
        pulse.asked();
        tokio::time::advance(SILENCE).await;
        assert!(pulse.is_lost(patience), "the first question counts");
        pulse.heard();
        assert!(!pulse.is_silent() && !pulse.is_lost(patience));
    }
}
