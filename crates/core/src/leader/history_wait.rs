//! The wait for owners whom no record names: the store was put back, or an earlier group of the same name was deleted.

use std::time::Duration;

use super::Memory;
use crate::state::GroupState;
use kafka_assigner_types::moment::Moment;

/// The time for which strict grants wait, since the leader first saw that the group's note names another history, or claims
/// of an earlier group.
#[derive(Debug, Clone, Default)]
pub(super) struct HistoryWait(Option<WaitSpan>);

#[derive(Debug, Clone)]
struct WaitSpan {
    since: Moment,
    /// The longest time for which an owner may act that began earlier.
    longest: Duration,
}

impl HistoryWait {
    /// Takes in what the group's note says.
    pub(super) fn see(&mut self, state: &GroupState, now: Moment) {
        let since = self.0.as_ref().map_or(now, |span| span.since);
        let lost_ms = match state.is_of_earlier_history() {
            true => state.configured(|config| config.max_session_timeout_ms),
            false => 0,
        };
        let longest = Duration::from_millis(lost_ms.max(state.earlier_claims_ms()));
        self.0 = (!longest.is_zero()).then_some(WaitSpan { since, longest });
    }
}

impl Memory {
    /// The time for which somebody may still act whom the records do not name, since the store was put back or an earlier
    /// group of this name was deleted; zero where neither was.
    #[must_use]
    pub fn history_wait(&self, now: Moment) -> Duration {
        self.history.0.as_ref().map_or(Duration::ZERO, |span| (span.since + span.longest).since(now))
    }
}
