//! Leaving on purpose.

use kafka_assigner_proto::v1::{DeregisterMode, DeregisterResponse};
use kafka_assigner_types::moment::Moment;
use tonic::Status;

use super::Session;
use crate::session::api::{Ending, SessionAction};
use crate::session::departure::{Departure, DepartureAnswer};
use crate::session::dialect::Dialect;

impl<D: Dialect> Session<D> {
    /// Starts to leave; a second call, for example `NOW` after a drain that took too long, replaces the first.
    pub(super) fn leave(&mut self, mode: DeregisterMode) {
        if self.life.live().is_none() {
            return self.finish(Ending::NoSession);
        }
        self.leaving = Some(Departure::new(mode));
        self.send_deregister();
    }

    pub(super) fn leaving_timer(&mut self, now: Moment) {
        if self.leaving.as_ref().and_then(Departure::next_wake).is_some_and(|at| at <= now) {
            self.send_deregister();
        }
    }

    fn send_deregister(&mut self) {
        let (Some(live), Some(leaving)) = (self.life.live(), &mut self.leaving) else { return };
        let (incarnation, mode) = (live.incarnation.clone(), leaving.begin());
        let endpoint = self.endpoints.current().to_owned();
        self.actions.push(SessionAction::SendDeregister { endpoint, incarnation, mode });
    }

    pub(super) fn leave_answered(
        &mut self,
        now: Moment,
        mode: DeregisterMode,
        result: Result<DeregisterResponse, Status>,
    ) {
        let Some(leaving) = self.leaving.as_mut().filter(|leaving| leaving.has_mode(mode)) else { return };
        match leaving.answered(now, result, &mut self.dice) {
            DepartureAnswer::Over(ending) => self.finish(ending),
            DepartureAnswer::Accepted { nobody_takes: true } => self.actions.push(SessionAction::NobodyTakes),
            DepartureAnswer::Accepted { nobody_takes: false } => {}
            DepartureAnswer::Unknown => self.endpoints.change(&mut self.dice),
        }
    }
}
