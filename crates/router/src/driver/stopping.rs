//! Stopping: every stage has a bound, and is cut off at it.
//!
//! ```text
//!  Running ──────────► Finishing ─────────► Detaching ──► Over
//!     │  asked to stop  requests end         ▲   deregistration
//!     └──────────────────────────────────────┘
//!        can't make progress
//! ```
//!
//! The table is closed before the router deregisters: from then on switches go on without this router.

use std::time::Duration;

use kafka_assigner_session::Ending;
use kafka_assigner_types::moment::Moment;

use crate::stopped::{RouterError, RouterStopped};

/// Deregistering is tried for this long; then the session expires by itself.
const DETACH_BOUND: Duration = Duration::from_secs(3);

/// The stages of a regular stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RouterStage {
    Running,
    /// Held requests are still forwarded; new requests are refused.
    Finishing {
        by: Moment,
    },
    /// The table is closed for good; the router is deregistering.
    Detaching {
        by: Moment,
    },
    Over,
}

/// The machine of a stop.
#[derive(Debug)]
pub(super) struct RouterStopping {
    stage: RouterStage,
    /// A failure of the router itself; it is reported rather than the end of the session.
    failure: Option<RouterError>,
    ending: Option<Ending>,
}

/// The router leaves the group now: close the table for good, then deregister.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Detach;

impl RouterStopping {
    pub(super) const fn new() -> Self {
        Self { stage: RouterStage::Running, failure: None, ending: None }
    }

    pub(super) const fn is_running(&self) -> bool {
        matches!(self.stage, RouterStage::Running)
    }

    /// True if the table is closed for good.
    pub(super) const fn is_closed(&self) -> bool {
        matches!(self.stage, RouterStage::Detaching { .. } | RouterStage::Over)
    }

    pub(super) const fn is_done(&self) -> bool {
        matches!(self.stage, RouterStage::Over)
    }

    pub(super) const fn deadline(&self) -> Option<Moment> {
        match self.stage {
            RouterStage::Running | RouterStage::Over => None,
            RouterStage::Finishing { by } | RouterStage::Detaching { by } => Some(by),
        }
    }

    /// The request to stop: held requests have this long to end.
    pub(super) fn begin(&mut self, now: Moment, close_timeout: Duration) {
        self.stage = RouterStage::Finishing { by: now + close_timeout };
    }

    /// Every held request has its answer.
    pub(super) fn requests_finished(&mut self, now: Moment) -> Option<Detach> {
        matches!(self.stage, RouterStage::Finishing { .. }).then(|| self.detach(now))
    }

    /// Takes the step that is due by now.
    pub(super) fn advance(&mut self, now: Moment) -> Option<Detach> {
        match self.stage {
            RouterStage::Finishing { by } if by <= now => Some(self.detach(now)),
            RouterStage::Detaching { by } if by <= now => {
                self.stage = RouterStage::Over;
                None
            }
            _ => None,
        }
    }

    /// The router can't take part in switches any more: it leaves the group, or every switch would wait for it.
    pub(super) fn fail(&mut self, now: Moment, failure: RouterError) -> Option<Detach> {
        if self.is_closed() {
            return None;
        }
        self.failure = Some(failure);
        Some(self.detach(now))
    }

    fn detach(&mut self, now: Moment) -> Detach {
        self.stage = RouterStage::Detaching { by: now + DETACH_BOUND };
        Detach
    }

    /// The session has ended, for any reason.
    pub(super) fn session_ended(&mut self, ending: Ending) {
        self.ending = Some(ending);
        self.stage = RouterStage::Over;
    }

    /// The result of the run.
    pub(super) fn result(&mut self) -> Result<RouterStopped, RouterError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        match self.ending.take() {
            Some(Ending::Superseded(message)) => Err(RouterError::Superseded(message)),
            Some(Ending::Refused { code, message }) => Err(RouterError::Refused { code, message }),
            Some(Ending::Left) => Ok(RouterStopped::Detached),
            Some(Ending::NoSession) | None => Ok(RouterStopped::WithoutSession),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment(Duration::from_secs(seconds))
    }

    #[test]
    fn requests_that_do_not_end_in_time_are_left_and_so_is_a_service_that_does_not_answer() {
        let mut stopping = RouterStopping::new();
        stopping.begin(at(0), Duration::from_secs(5));
        assert_eq!(stopping.advance(at(4)), None);
        assert_eq!(stopping.advance(at(5)), Some(Detach));
        assert!(stopping.is_closed() && !stopping.is_done());
        assert_eq!(stopping.requests_finished(at(6)), None);
        assert_eq!(stopping.advance(at(8)), None);
        assert!(stopping.is_done());
        assert!(matches!(stopping.result(), Ok(RouterStopped::WithoutSession)));
    }

    #[test]
    fn the_first_failure_is_the_result_whatever_ends_the_session() {
        let mut stopping = RouterStopping::new();
        assert_eq!(stopping.fail(at(0), RouterError::Stuck), Some(Detach));
        assert_eq!(stopping.fail(at(1), RouterError::Superseded(String::new())), None);
        stopping.session_ended(Ending::Left);
        assert!(matches!(stopping.result(), Err(RouterError::Stuck)));
    }
}
