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

use kafka_assigner_client::session::{Ending, Event};
use kafka_assigner_proto::v1::DeregisterMode;
use kafka_assigner_types::moment::Moment;
use tracing::{error, info};

use super::{Driver, SideTask};
use crate::cutover::Cutover;
use crate::router::{RouterError, RouterStopped};
use crate::transport::RoutingTransport;

/// Deregistering is tried for this long; then the session expires by itself.
const DETACH_BOUND: Duration = Duration::from_secs(3);

/// The stages of a regular stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RouterStage {
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

/// The result of a run: a failure of the router itself, or the end of its session.
#[derive(Debug, Default)]
pub(super) struct RouterEnd {
    /// A failure of the router itself; it is reported rather than the end of the session.
    failure: Option<RouterError>,
    ending: Option<Ending>,
}

impl RouterStage {
    pub(super) const fn is_running(self) -> bool {
        matches!(self, Self::Running)
    }

    pub(super) const fn is_closed(self) -> bool {
        matches!(self, Self::Detaching { .. } | Self::Over)
    }

    pub(super) const fn deadline(self) -> Option<Moment> {
        match self {
            Self::Running | Self::Over => None,
            Self::Finishing { by } | Self::Detaching { by } => Some(by),
        }
    }
}

impl<C: Cutover, T: RoutingTransport> Driver<C, T> {
    pub(super) fn begin_to_stop(&mut self) {
        info!(group = &*self.group, router = self.router.options.name, "stopping");
        self.stage = RouterStage::Finishing { by: self.now() + self.router.options.close_timeout };
        let cutover = self.router.cutover.clone();
        self.side_tasks.spawn(async move {
            cutover.finish().await;
            SideTask::Finish
        });
    }

    pub(super) fn finished_requests(&mut self) {
        if matches!(self.stage, RouterStage::Finishing { .. }) {
            self.detach();
        }
    }

    pub(super) fn advance_stop(&mut self) {
        let now = self.now();
        match self.stage {
            RouterStage::Finishing { by } if by <= now => self.detach(),
            RouterStage::Detaching { by } if by <= now => self.stage = RouterStage::Over,
            _ => {}
        }
    }

    /// The router can't take part in switches any more: it leaves the group, or every switch would wait for it.
    pub(super) fn fail(&mut self, failure: RouterError) {
        if self.stage.is_closed() {
            return;
        }
        error!(
            group = &*self.group,
            router = self.router.options.name,
            error = &failure as &dyn std::error::Error
        );
        self.end.failure = Some(failure);
        self.detach();
    }

    fn detach(&mut self) {
        self.forget();
        self.stage = RouterStage::Detaching { by: self.now() + DETACH_BOUND };
        self.session_event(Event::Leave(DeregisterMode::Now));
    }

    /// The session has ended, for any reason.
    pub(super) fn finished(&mut self, ending: Ending) {
        info!(group = &*self.group, router = self.router.options.name, ?ending, "session ended");
        self.forget();
        self.end.ending = Some(ending);
        self.stage = RouterStage::Over;
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.stage, RouterStage::Over)
    }

    pub(super) fn result(&mut self) -> Result<RouterStopped, RouterError> {
        if let Some(failure) = self.end.failure.take() {
            return Err(failure);
        }
        match self.end.ending.take() {
            Some(Ending::Superseded(message)) => Err(RouterError::Superseded(message)),
            Some(Ending::Refused { code, message }) => Err(RouterError::Refused { code, message }),
            Some(Ending::Left) => Ok(RouterStopped::Detached),
            Some(Ending::NoSession) | None => Ok(RouterStopped::WithoutSession),
        }
    }
}
