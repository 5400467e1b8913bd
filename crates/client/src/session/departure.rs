//! Departure on purpose.

use std::time::Duration;

use kafka_assigner_proto::v1::DeregisterMode;
use tonic::{Code, Status};

use super::{Dialect, Ending, Life, Session, SessionAction};
use crate::backoff::RetryDelay;
use kafka_assigner_types::moment::Moment;

const FIRST_RETRY: Duration = Duration::from_millis(50);
const LONGEST_RETRY: Duration = Duration::from_secs(1);

/// A Deregister that is under way.
#[derive(Debug)]
pub(super) struct Departure {
    mode: DeregisterMode,
    accepted: bool,
    retry_at: Option<Moment>,
    retry: RetryDelay,
}

impl Departure {
    const fn new(mode: DeregisterMode) -> Self {
        let retry = RetryDelay::new(FIRST_RETRY, LONGEST_RETRY);
        Self { mode, accepted: false, retry_at: None, retry }
    }

    /// True if the service has taken it on.
    pub(super) const fn is_accepted(&self) -> bool {
        self.accepted
    }

    pub(super) const fn next_wake(&self) -> Option<Moment> {
        self.retry_at
    }
}

impl<D: Dialect> Session<D> {
    /// Starts to leave; a second call, for example `NOW` after a drain that took too long, replaces the first.
    pub(super) fn leave(&mut self, mode: DeregisterMode, actions: &mut Vec<SessionAction<D::News>>) {
        if !matches!(self.life, Life::Live(_)) {
            return self.finish(Ending::NoSession, actions);
        }
        self.leaving = Some(Departure::new(mode));
        self.send_deregister(actions);
    }

    pub(super) fn leaving_timer(&mut self, now: Moment, actions: &mut Vec<SessionAction<D::News>>) {
        let due = self.leaving.as_ref().and_then(Departure::next_wake).is_some_and(|at| at <= now);
        if due {
            self.send_deregister(actions);
        }
    }

    fn send_deregister(&mut self, actions: &mut Vec<SessionAction<D::News>>) {
        let (Life::Live(live), Some(leaving)) = (&self.life, &mut self.leaving) else { return };
        leaving.retry_at = None;
        let (incarnation, mode) = (live.incarnation.clone(), leaving.mode);
        let endpoint = self.endpoints.current().to_owned();
        actions.push(SessionAction::SendDeregister { endpoint, incarnation, mode });
    }

    pub(super) fn leave_answered(
        &mut self,
        now: Moment,
        mode: DeregisterMode,
        result: Result<(), Status>,
        actions: &mut Vec<SessionAction<D::News>>,
    ) {
        let Some(leaving) = self.leaving.as_mut().filter(|leaving| leaving.mode == mode) else { return };
        match result {
            Ok(()) if matches!(leaving.mode, DeregisterMode::Now | DeregisterMode::Restart) => {
                self.finish(Ending::Left, actions);
            }
            Ok(()) => leaving.accepted = true,
            Err(status) if status.code() == Code::NotFound => self.finish(Ending::NoSession, actions),
            Err(_) => {
                leaving.retry_at = Some(now + leaving.retry.next(&mut self.dice));
                self.endpoints.rotate();
            }
        }
    }
}
