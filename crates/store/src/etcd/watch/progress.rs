//! The times at which etcd is asked for its watches' progress, and the limit of its silence.

use std::time::Duration;

use tokio::time::Instant;

/// The longest silence of a stream before a progress request is sent.
const SILENCE: Duration = Duration::from_secs(5);

/// The shortest time between two requests while one is unanswered. Waiting readers ask more often.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// The times of a stream's last response and last progress request.
#[derive(Debug)]
pub(super) struct StreamActivity {
    heard: Instant,
    /// The first request since then.
    asked_first: Option<Instant>,
    asked_last: Instant,
}

impl StreamActivity {
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

    /// Returns true if a reader's wish for progress needs another request.
    pub(super) fn may_ask(&self, unanswered: bool) -> bool {
        !unanswered || self.asked_last.elapsed() >= ASK_EVERY
    }

    pub(super) fn is_silent(&self) -> bool {
        self.heard.elapsed() >= SILENCE && self.asked_last.elapsed() >= SILENCE
    }

    /// Returns true if a progress request has had no answer for `patience`.
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
        let mut pulse = StreamActivity::new();
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
