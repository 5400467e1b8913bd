//! The times at which etcd is asked for its watches' progress, and the limit of its silence.

use std::time::Duration;

use tokio::time::Instant;

/// The longest silence of a stream before a progress request is sent.
const SILENCE: Duration = Duration::from_secs(5);

/// The shortest time between two requests while one is unanswered, which etcd may leave so. An answer takes a
/// millisecond; waiting readers ask again and again.
const ASK_EVERY: Duration = Duration::from_millis(25);

/// The times of a stream's last response and last progress request.
#[derive(Debug)]
pub(super) struct StreamActivity {
    heard: Instant,
    /// The first request since then.
    asked_first: Option<Instant>,
    asked_last: Instant,
    /// No progress has been told since the last request.
    is_unanswered: bool,
    /// A reader wished for progress meanwhile: the answer to come may be of before.
    is_wanted: bool,
}

impl StreamActivity {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self { heard: now, asked_first: None, asked_last: now, is_unanswered: false, is_wanted: false }
    }

    pub(super) fn heard(&mut self) {
        self.heard = Instant::now();
        self.asked_first = None;
    }

    pub(super) fn asked(&mut self) {
        self.asked_last = Instant::now();
        self.asked_first.get_or_insert(self.asked_last);
        self.is_unanswered = true;
        self.is_wanted = false;
    }

    /// Notes a reader's request for progress; returns true if it needs a request now. Else one is due with the next answer.
    pub(super) fn wants(&mut self) -> bool {
        self.is_wanted = self.is_unanswered && self.asked_last.elapsed() < ASK_EVERY;
        !self.is_wanted
    }

    /// Notes that progress was told; returns true if a request is due for one that came too late for this answer.
    pub(super) fn told(&mut self) -> bool {
        self.is_unanswered = false;
        std::mem::take(&mut self.is_wanted)
    }

    pub(super) fn is_silent(&self) -> bool {
        self.heard.elapsed() >= SILENCE && self.asked_last.elapsed() >= SILENCE
    }

    /// Returns true if nothing has come for `patience`, and a watch that was created at `asked` was not confirmed in that
    /// time. etcd confirms a watch at once, whatever its revision.
    pub(super) fn is_mute(&self, asked: Option<Instant>, patience: Duration) -> bool {
        asked.is_some_and(|asked| asked.max(self.heard).elapsed() >= patience)
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

    #[tokio::test(start_paused = true)]
    async fn a_creation_without_an_answer_shows_that_the_stream_is_mute() {
        let patience = Duration::from_secs(2);
        let mut pulse = StreamActivity::new();
        let asked = Some(Instant::now());
        tokio::time::advance(patience / 2).await;
        assert!(!pulse.is_mute(asked, patience));
        pulse.heard();
        tokio::time::advance(patience / 2).await;
        assert!(!pulse.is_mute(asked, patience), "it says something else first");
        tokio::time::advance(patience / 2).await;
        assert!(pulse.is_mute(asked, patience));
        assert!(!pulse.is_mute(Some(Instant::now()), patience) && !pulse.is_mute(None, patience));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wish_beside_an_unanswered_request_is_asked_with_its_answer() {
        let mut pulse = StreamActivity::new();
        assert!(pulse.wants());
        pulse.asked();
        assert!(!pulse.wants() && !pulse.wants());
        assert!(pulse.told(), "the answer may be of before the request");
        pulse.asked();
        assert!(!pulse.told(), "once");
        assert!(pulse.wants(), "nothing is unanswered");
        pulse.asked();
        tokio::time::advance(ASK_EVERY).await;
        assert!(pulse.wants(), "etcd has dropped the request");
    }
}
