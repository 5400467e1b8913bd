//! Stopping: every stage has a bound, and what does not end within it is cut.
//!
//! ```text
//!  Running ──► Draining ──────────────────────────────► Closing ──► done
//!     │            │ took too long, or nobody takes it   ▲   ▲
//!     └────────────┴──► Leaving ──► Deregistering ───────┘   │
//!       (restart)      local end,     ▲ NOW or RESTART       │
//!                      then fenced    │                      │
//!                          │ too long │ cut off              │
//!                          └──► Cutting ─────────────────────┘
//!                               fenced     not to be cut: nobody is told
//! ```
//!
//! Deregister is proof that nothing here acts any more. While anything may, the session is left to run out instead, and
//! others wait for that. With the defaults of the options all stages together take less than 30 s, which is what
//! Kubernetes grants.

use std::time::Duration;

use kafka_assigner_proto::v1::DeregisterMode;
use kafka_assigner_session::Ending;

use crate::options::OnStop;
use crate::stopped::{ConsumerError, Stopped};
use kafka_assigner_types::moment::Moment;

/// Handlers get this long to end what is cut off: that takes them no longer than to their next await.
pub(crate) const CUT_BOUND: Duration = Duration::from_secs(1);

/// The service is told that the session is over for this long; then the session runs out by itself.
pub(crate) const DEREGISTER_BOUND: Duration = Duration::from_secs(3);

/// The stages of a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Running,
    /// Everything is being handed over; in vain where nobody takes it.
    Draining {
        by: Moment,
        in_vain: bool,
    },
    /// Handlers finish what they have; nobody else is told yet.
    Leaving {
        by: Moment,
        mode: DeregisterMode,
    },
    /// Fenced; handlers drop what they could not finish, as if they had died.
    Cutting {
        by: Moment,
        mode: DeregisterMode,
    },
    /// Fenced; the service is being told.
    Deregistering {
        by: Moment,
    },
    /// The session is over; handlers drop what is left, and the service hears so where others wait for that.
    Closing {
        by: Moment,
    },
}

/// The machine of a stop.
#[derive(Debug)]
pub(super) struct Stopping {
    stage: Stage,
    /// The end of the session; `None` = it has not ended, or not in time.
    ending: Option<Ending>,
    /// The bound on the stages in which handlers finish.
    close_timeout: Duration,
}

/// A step of the stop, for the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopStep {
    /// Leave, and go on with everything until it was handed over.
    Drain,
    /// Give everything up, without a word to the service. `late` = a drain took too long.
    LeaveLocally { late: bool },
    /// Handlers did not finish in time: fence, and cut them off.
    Cut,
    /// Nothing acts any more: fence, then tell the service.
    Deregister(DeregisterMode),
    /// Something may still act: leave without a word.
    Abandon,
    /// Fence; the service did not answer in time.
    Fence,
}

impl Stopping {
    pub(super) const fn new(close_timeout: Duration) -> Self {
        Self { stage: Stage::Running, ending: None, close_timeout }
    }

    /// True if nobody has asked for a stop yet, and the session has not ended for good.
    pub(super) const fn is_running(&self) -> bool {
        matches!(self.stage, Stage::Running)
    }

    /// True if nothing of this member may begin to act again.
    pub(super) const fn is_fenced(&self) -> bool {
        matches!(self.stage, Stage::Cutting { .. } | Stage::Deregistering { .. } | Stage::Closing { .. })
    }

    pub(super) const fn deadline(&self) -> Option<Moment> {
        match self.stage {
            Stage::Running => None,
            Stage::Draining { by, .. }
            | Stage::Leaving { by, .. }
            | Stage::Cutting { by, .. }
            | Stage::Deregistering { by }
            | Stage::Closing { by } => Some(by),
        }
    }

    /// The process is to stop.
    pub(super) fn begin(&mut self, now: Moment, on_stop: OnStop, drain_timeout: Duration) -> StopStep {
        match on_stop {
            OnStop::Drain => {
                self.stage = Stage::Draining { by: now + drain_timeout, in_vain: false };
                StopStep::Drain
            }
            OnStop::Restart => {
                self.stage = Stage::Leaving { by: now + self.close_timeout, mode: DeregisterMode::Restart };
                StopStep::LeaveLocally { late: false }
            }
        }
    }

    /// Takes the step that is due by now. `is_quiet` = nothing of this member may act any more.
    pub(super) fn advance(&mut self, now: Moment, is_quiet: impl Fn() -> bool) -> Option<StopStep> {
        match self.stage {
            Stage::Draining { by, in_vain } if by <= now => {
                self.stage = Stage::Leaving { by: now + self.close_timeout, mode: DeregisterMode::Now };
                Some(StopStep::LeaveLocally { late: !in_vain })
            }
            Stage::Leaving { mode, .. } | Stage::Cutting { mode, .. } if is_quiet() => {
                self.stage = Stage::Deregistering { by: now + DEREGISTER_BOUND };
                Some(StopStep::Deregister(mode))
            }
            Stage::Leaving { by, mode } if by <= now => {
                self.stage = Stage::Cutting { by: now + CUT_BOUND, mode };
                Some(StopStep::Cut)
            }
            Stage::Cutting { by, .. } if by <= now => Some(StopStep::Abandon),
            Stage::Deregistering { by } if by <= now => {
                self.stage = Stage::Closing { by: now + self.close_timeout };
                Some(StopStep::Fence)
            }
            _ => None,
        }
    }

    /// The service says that nobody may take what is being handed over: there is nothing to wait for.
    pub(super) const fn nobody_takes(&mut self, now: Moment) {
        if matches!(self.stage, Stage::Draining { .. }) {
            self.stage = Stage::Draining { by: now, in_vain: true };
        }
    }

    /// The session has come to its end, whoever wanted it.
    pub(super) fn session_ended(&mut self, now: Moment, ending: Ending) {
        self.ending = Some(ending);
        self.stage = Stage::Closing { by: now + self.close_timeout };
    }

    /// True if the consumer is to end. `is_settled` = nothing is held, and nothing is left to be said.
    pub(super) fn is_done(&self, now: Moment, is_settled: impl FnOnce() -> bool) -> bool {
        let Stage::Closing { by } = self.stage else { return false };
        by <= now || is_settled()
    }

    /// The result of the run, which ends with this number of partitions still held.
    pub(super) fn result(&mut self, held: usize) -> Result<Stopped, ConsumerError> {
        match self.ending.take() {
            Some(Ending::Superseded(message)) => Err(ConsumerError::Superseded(message)),
            Some(Ending::Refused { code, message }) => Err(ConsumerError::Refused { code, message }),
            _ if held > 0 => Err(ConsumerError::Unfinished { partitions: held }),
            Some(Ending::Left) => Ok(Stopped::Left),
            Some(Ending::NoSession) | None => Ok(Stopped::WithoutSession),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::ConsumerOptions;

    const CLOSE: Duration = Duration::from_secs(5);
    const DRAIN: Duration = Duration::from_secs(60);

    fn at(seconds: u64) -> Moment {
        Moment(Duration::from_secs(seconds))
    }

    #[test]
    fn a_drain_that_takes_too_long_ends_in_a_local_leave_and_then_tells() {
        let mut stopping = Stopping::new(CLOSE);
        assert_eq!(stopping.begin(at(0), OnStop::Drain, DRAIN), StopStep::Drain);
        assert_eq!(stopping.advance(at(59), || true), None);
        assert_eq!(stopping.advance(at(60), || true), Some(StopStep::LeaveLocally { late: true }));
        assert_eq!(stopping.advance(at(61), || false), None);
        assert_eq!(stopping.advance(at(62), || true), Some(StopStep::Deregister(DeregisterMode::Now)));
        assert_eq!(stopping.advance(at(65), || true), Some(StopStep::Fence));
        assert!(stopping.is_done(at(65), || true) && !stopping.is_done(at(65), || false));
        assert_eq!(stopping.result(0), Ok(Stopped::WithoutSession));
    }

    #[test]
    fn a_drain_that_nobody_takes_ends_at_once_and_not_late() {
        let mut stopping = Stopping::new(CLOSE);
        stopping.begin(at(0), OnStop::Drain, DRAIN);
        stopping.nobody_takes(at(1));
        assert_eq!(stopping.deadline(), Some(at(1)));
        assert_eq!(stopping.advance(at(1), || true), Some(StopStep::LeaveLocally { late: false }));
        stopping.nobody_takes(at(2));
        assert_eq!(stopping.advance(at(2), || true), Some(StopStep::Deregister(DeregisterMode::Now)));
    }

    #[test]
    fn what_is_cut_off_in_time_is_told() {
        let mut stopping = Stopping::new(CLOSE);
        stopping.begin(at(0), OnStop::Restart, DRAIN);
        assert!(!stopping.is_fenced());
        assert_eq!(stopping.advance(at(5), || false), Some(StopStep::Cut));
        assert!(stopping.is_fenced());
        assert_eq!(stopping.advance(at(5), || true), Some(StopStep::Deregister(DeregisterMode::Restart)));
    }

    #[test]
    fn a_stop_with_the_defaults_takes_less_than_what_kubernetes_grants() {
        let options = ConsumerOptions::new("a", ["http://127.0.0.1:1"]);
        let handlers = options.drain_timeout + 2 * options.close_timeout;
        assert!(handlers + CUT_BOUND + DEREGISTER_BOUND < Duration::from_secs(30));
    }

    #[test]
    fn a_restart_that_is_not_quiet_in_time_leaves_without_a_word() {
        let mut stopping = Stopping::new(CLOSE);
        let first = stopping.begin(at(0), OnStop::Restart, DRAIN);
        assert_eq!(first, StopStep::LeaveLocally { late: false });
        assert_eq!(stopping.advance(at(5), || false), Some(StopStep::Cut));
        assert_eq!(stopping.advance(at(5), || false), None);
        assert_eq!(stopping.advance(at(6), || false), Some(StopStep::Abandon));
        stopping.session_ended(at(6), Ending::NoSession);
        assert!(!stopping.is_done(at(10), || false) && stopping.is_done(at(11), || false));
        assert_eq!(stopping.result(2), Err(ConsumerError::Unfinished { partitions: 2 }));
    }

    #[test]
    fn a_session_that_was_taken_over_is_the_result_whatever_is_held() {
        let mut stopping = Stopping::new(CLOSE);
        stopping.session_ended(at(0), Ending::Superseded("other".to_owned()));
        assert!(!stopping.is_running());
        assert_eq!(stopping.result(1), Err(ConsumerError::Superseded("other".to_owned())));
    }
}
