//! The wait after the store was put back: owners whom its records do not name may still act.

use std::time::Duration;

use super::Memory;
use crate::state::GroupState;
use kafka_assigner_types::moment::Moment;

/// The time for which strict grants wait, since the leader first saw that the group's note names another history.
#[derive(Debug, Clone, Default)]
pub(super) struct HistoryWait(Option<WaitSpan>);

#[derive(Debug, Clone)]
struct WaitSpan {
    since: Moment,
    /// The longest time to live that a session of the earlier history may have had.
    longest: Duration,
}

impl HistoryWait {
    /// Takes in what the group's note says.
    pub(super) fn see(&mut self, state: &GroupState, now: Moment) {
        let since = self.0.as_ref().map_or(now, |span| span.since);
        let longest = Duration::from_millis(state.configured(|config| config.max_session_timeout_ms));
        self.0 = state.is_of_earlier_history().then_some(WaitSpan { since, longest });
    }
}

impl Memory {
    /// The time for which somebody may still act whom the records do not name, since the store was put back; zero where
    /// it was not.
    #[must_use]
    pub fn history_wait(&self, now: Moment) -> Duration {
        self.history.0.as_ref().map_or(Duration::ZERO, |span| (span.since + span.longest).since(now))
    }
}
