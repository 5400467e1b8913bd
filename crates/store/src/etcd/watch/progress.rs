//! When etcd's word about a watch's progress may be believed, and when its silence means trouble.

use std::time::Duration;

use tokio::time::Instant;

/// How long a stream may be silent before it is asked for a sign of life.
const SILENCE: Duration = Duration::from_secs(5);

/// The shortest time between two requests while one is unanswered. Waiting readers ask more often.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Whether a server of this version answers a progress request truthfully.
///
/// Before 3.4.25 and 3.5.8 the answer could overtake changes that it claims to cover (etcd issue 15220).
/// From such a server it is a sign of life, no more.
pub(super) fn is_true(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let mut part = || parts.next().unwrap_or(0);
    match (part(), part(), part()) {
        (3, 4, patch) => patch >= 25,
        (3, 5, patch) => patch >= 8,
        (major, minor, _) => (major, minor) > (3, 5),
    }
}

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

    #[test]
    fn only_fixed_servers_are_believed() {
        for version in ["3.4.25", "3.5.8", "3.5.21", "3.6.0", "3.7.3", "4.0.0"] {
            assert!(is_true(version), "{version}");
        }
        for version in ["3.4.23", "3.5.7", "3.5.0", "3.3.27", "", "unknown"] {
            assert!(!is_true(version), "{version}");
        }
    }

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
