//! Departure on purpose.

use std::time::Duration;

use kafka_assigner_proto::ReasonExt as _;
use kafka_assigner_proto::v1::{DeregisterMode, DeregisterResponse};
use tonic::{Code, Status};

use super::api::Ending;
use crate::backoff::{Dice, RetryDelay};
use kafka_assigner_types::moment::Moment;

const FIRST_RETRY: Duration = Duration::from_millis(50);
const LONGEST_RETRY: Duration = Duration::from_secs(1);

/// The time from an answer to a drain to the next question, if anybody takes what is left: others may begin to drain
/// meanwhile. It costs one call, which reads the store once.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// A Deregister that is under way.
#[derive(Debug)]
pub(super) struct Departure {
    mode: DeregisterMode,
    accepted: bool,
    retry_at: Option<Moment>,
    retry: RetryDelay,
}

/// The meaning of an answer to Deregister.
#[derive(Debug, PartialEq)]
pub(super) enum DepartureAnswer {
    /// The session is over.
    Over(Ending),
    /// The service hands over what this member has, and ends the session when nothing is left.
    Accepted {
        /// True if nobody is there who may take it.
        nobody_takes: bool,
    },
    /// It is asked again, elsewhere.
    Unknown,
}

impl Departure {
    pub(super) const fn new(mode: DeregisterMode) -> Self {
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

    pub(super) fn has_mode(&self, mode: DeregisterMode) -> bool {
        self.mode == mode
    }

    /// The service is asked now; returns the mode.
    pub(super) const fn begin(&mut self) -> DeregisterMode {
        self.retry_at = None;
        self.mode
    }

    pub(super) fn answered(
        &mut self,
        now: Moment,
        result: Result<DeregisterResponse, Status>,
        dice: &mut Dice,
    ) -> DepartureAnswer {
        match result {
            Ok(_) if matches!(self.mode, DeregisterMode::Now | DeregisterMode::Restart) => {
                DepartureAnswer::Over(Ending::Left)
            }
            Ok(DeregisterResponse { nobody_takes }) => {
                self.accepted = true;
                self.retry_at = Some(now + ASK_AGAIN);
                DepartureAnswer::Accepted { nobody_takes }
            }
            Err(status) if status.code() == Code::NotFound && status.is_of_service() => {
                DepartureAnswer::Over(Ending::NoSession)
            }
            Err(_) => {
                self.retry_at = Some(now + self.retry.next(dice));
                DepartureAnswer::Unknown
            }
        }
    }
}
