//! Stopping: every stage has a bound, and what does not end within it is cut.
//!
//! ```text
//!  Running ──► Draining ──────────────────────────────► Closing ──► done
//!     │            │ took too long                       ▲   ▲
//!     └────────────┴──► Leaving ──► Deregistering ───────┘   │
//!       (restart)      local end,    NOW or RESTART          │
//!                      then fenced                           │
//!                          │ took too long: nobody is told   │
//!                          └─────────────────────────────────┘
//! ```
//!
//! Deregister is proof that nothing here acts any more. While anything may, the session is left to run out instead, and
//! others wait for that.

use std::time::Duration;

use kafka_assigner_proto::v1::DeregisterMode;
use tracing::{info, warn};

use super::Driver;
use super::stopped_notice::StoppedNotice;
use crate::consumer::{ConsumerError, Stopped};
use crate::handler::PartitionHandler;
use crate::options::OnStop;
use crate::roles::RoleEvent;
use crate::session::{Ending, Event};
use crate::transport::Transport;
use kafka_assigner_types::moment::Moment;

/// The service is told that the session is over for this long; then the session runs out by itself.
const DEREGISTER_BOUND: Duration = Duration::from_secs(3);

/// The stages of a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Running,
    /// Everything is being handed over.
    Draining {
        by: Moment,
    },
    /// Handlers finish what they have; nobody else is told yet.
    Leaving {
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

/// The end of the session; `None` = it has not ended, or not in time.
pub(super) type SessionEnd = Option<Ending>;

impl Stage {
    pub(super) const fn is_running(self) -> bool {
        matches!(self, Self::Running)
    }

    pub(super) const fn deadline(self) -> Option<Moment> {
        match self {
            Self::Running => None,
            Self::Draining { by }
            | Self::Leaving { by, .. }
            | Self::Deregistering { by }
            | Self::Closing { by } => Some(by),
        }
    }
}

impl<T: Transport, H: PartitionHandler> Driver<T, H> {
    pub(super) fn begin_to_stop(&mut self) {
        info!(group = &*self.group, consumer = self.consumer.options.name, "stopping");
        match self.consumer.options.on_stop {
            OnStop::Drain => {
                self.stage = Stage::Draining { by: self.now() + self.consumer.options.drain_timeout };
                self.leave(DeregisterMode::Drain);
            }
            OnStop::Restart => self.leave_locally(DeregisterMode::Restart),
        }
    }

    fn leave_locally(&mut self, mode: DeregisterMode) {
        self.stage = Stage::Leaving { by: self.now() + self.consumer.options.close_timeout, mode };
        self.role_event(RoleEvent::LeaveAll);
    }

    pub(super) fn advance_stop(&mut self) {
        let now = self.now();
        match self.stage {
            Stage::Draining { by } if by <= now => {
                warn!(group = &*self.group, "the drain took too long; leaving at once");
                self.leave_locally(DeregisterMode::Now);
            }
            Stage::Leaving { mode, .. } if self.is_quiet() => {
                // The fence comes before the word that others may act.
                self.consumer.claim.set(None);
                self.role_event(RoleEvent::SessionLost);
                self.stage = Stage::Deregistering { by: now + DEREGISTER_BOUND };
                self.leave(mode);
            }
            Stage::Leaving { by, .. } if by <= now => {
                warn!(group = &*self.group, "not given up in time; the session runs out by itself");
                self.session_event(Event::Abandon);
            }
            Stage::Deregistering { by } if by <= now => self.close(),
            _ => {}
        }
    }

    /// The session has come to its end, whoever wanted it.
    pub(super) fn finished(&mut self, ending: Ending) {
        info!(group = &*self.group, consumer = self.consumer.options.name, ?ending, "session ended");
        self.verdict = Some(ending);
        self.role_event(RoleEvent::SessionLost);
        self.close();
    }

    fn close(&mut self) {
        self.consumer.claim.set(None);
        self.stage = Stage::Closing { by: self.now() + self.consumer.options.close_timeout };
    }

    pub(super) fn is_done(&self) -> bool {
        let Stage::Closing { by } = self.stage else { return false };
        by <= self.now() || self.roles.is_idle() && self.farewell == StoppedNotice::Settled
    }

    pub(super) fn result(&self) -> Result<Stopped, ConsumerError> {
        match self.verdict.clone() {
            Some(Ending::Superseded(message)) => Err(ConsumerError::Superseded(message)),
            Some(Ending::Refused { code, message }) => Err(ConsumerError::Refused { code, message }),
            _ if !self.roles.is_idle() => {
                Err(ConsumerError::Unfinished { partitions: self.roles.counts().held })
            }
            Some(Ending::Left) => Ok(Stopped::Left),
            Some(Ending::NoSession) | None => Ok(Stopped::WithoutSession),
        }
    }
}
