//! The words about calls that are refused for their caller: each is counted, and one a second is a line of the log.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kafka_assigner_proto::{Reason, status};
use kafka_assigner_types::moment::Moment;
use tonic::Status;

use crate::instance::Instance;

/// The shortest time between two lines: whoever is refused may try as often as it likes.
const LINE_EVERY: Duration = Duration::from_secs(1);

/// The refusals of one instance; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Denials(Arc<Mutex<Told>>);

#[derive(Debug, Default)]
struct Told {
    /// The time from which another line may be written.
    next: Moment,
    /// The refusals since the last line.
    since: u64,
}

impl Denials {
    /// Counts a refusal, says it where a line is due, and returns it.
    pub(super) fn deny(&self, instance: &Instance, reason: Reason, message: String) -> Status {
        instance.metrics().call_denied(reason);
        if let Some(others) = self.line(instance.clock().now()) {
            tracing::info!(%reason, message, others, "call denied");
        }
        status(reason, message)
    }

    /// The number of refusals that no line was written for, where one is due now.
    fn line(&self, now: Moment) -> Option<u64> {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if now < told.next {
            told.since += 1;
            return None;
        }
        told.next = now + LINE_EVERY;
        Some(std::mem::take(&mut told.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_refusal_a_second_is_a_line_and_it_tells_how_many_were_not() {
        let denials = Denials::default();
        let lines =
            [0, 10, 999, 1_000, 1_001, 9_000].map(|at| denials.line(Moment(Duration::from_millis(at))));
        assert_eq!(lines, [Some(0), None, None, Some(2), None, Some(1)]);
    }
}
