//! Stopping: every stage has a bound, and what does not end within it is cut.
//!
//! ```text
//!  Running ──────────► Finishing ─────────► Detaching ──► Over
//!     │  asked to stop  requests end         ▲   the service is told
//!     └──────────────────────────────────────┘
//!        can't make progress
//! ```
//!
//! The table is closed before the service is told: from then on switches go on without this router.

use std::time::Duration;

use kafka_assigner_client::Moment;
use kafka_assigner_client::session::{Ending, Event};
use kafka_assigner_proto::v1::DeregisterMode;
use tracing::{error, info};

use super::{Beside, Driver};
use crate::cutover::Cutover;
use crate::router::{RouterError, RouterStopped};
use crate::transport::RoutingTransport;

/// The service is told that the session is over for this long; then the session runs out by itself.
const DETACH_BOUND: Duration = Duration::from_secs(3);

/// How far the stop is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Running,
    /// What is held is still forwarded; nothing new is taken in.
    Finishing {
        by: Moment,
    },
    /// The table is closed for good; the service is being told.
    Detaching {
        by: Moment,
    },
    Over,
}

/// How it ended.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// What came from the router itself; comes before what became of the session.
    failure: Option<RouterError>,
    ending: Option<Ending>,
}

impl Stage {
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
        self.stage = Stage::Finishing { by: self.now() + self.router.options.close_timeout };
        let cutover = self.router.cutover.clone();
        self.beside.spawn(async move {
            cutover.finish().await;
            Beside::Finish
        });
    }

    pub(super) fn finished_requests(&mut self) {
        if matches!(self.stage, Stage::Finishing { .. }) {
            self.detach();
        }
    }

    pub(super) fn advance_stop(&mut self) {
        let now = self.now();
        match self.stage {
            Stage::Finishing { by } if by <= now => self.detach(),
            Stage::Detaching { by } if by <= now => self.stage = Stage::Over,
            _ => {}
        }
    }

    /// The router can't do its part any more: it takes itself out, or every switch would wait for it.
    pub(super) fn fail(&mut self, failure: RouterError) {
        if self.stage.is_closed() {
            return;
        }
        error!(
            group = &*self.group,
            router = self.router.options.name,
            error = &failure as &dyn std::error::Error
        );
        self.verdict.failure = Some(failure);
        self.detach();
    }

    fn detach(&mut self) {
        self.forget();
        self.stage = Stage::Detaching { by: self.now() + DETACH_BOUND };
        self.session_event(Event::Leave(DeregisterMode::Now));
    }

    /// The session has come to its end, whoever wanted it.
    pub(super) fn finished(&mut self, ending: Ending) {
        info!(group = &*self.group, router = self.router.options.name, ?ending, "session ended");
        self.forget();
        self.verdict.ending = Some(ending);
        self.stage = Stage::Over;
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    pub(super) fn result(&mut self) -> Result<RouterStopped, RouterError> {
        if let Some(failure) = self.verdict.failure.take() {
            return Err(failure);
        }
        match self.verdict.ending.take() {
            Some(Ending::Superseded(message)) => Err(RouterError::Superseded(message)),
            Some(Ending::Refused { code, message }) => Err(RouterError::Refused { code, message }),
            Some(Ending::Left) => Ok(RouterStopped::Detached),
            Some(Ending::NoSession) | None => Ok(RouterStopped::WithoutSession),
        }
    }
}
