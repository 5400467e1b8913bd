//! The end of work on a partition that was not brought forward.

use kafka_assigner_handler::RecordError;

use crate::handler::HandlerError;
use crate::kafka::cursor::ReadFailure;
use crate::kafka::error::KafkaRunnerError;
use crate::kafka::runner_parts::can_spoil;

/// A partition could not be brought forward.
#[derive(Debug)]
pub(super) enum Interrupted {
    /// Its state is of no use any more.
    Spoiled(String),
    /// It can go on where it is.
    Failed(HandlerError),
}

/// Another preparation begins with a fresh look at the log. What is damaged is damaged then too, and nothing was read of it.
impl From<ReadFailure> for Interrupted {
    fn from(failure: ReadFailure) -> Self {
        Self::Spoiled(failure.to_string())
    }
}

impl From<KafkaRunnerError> for Interrupted {
    fn from(error: KafkaRunnerError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Interrupted> for HandlerError {
    fn from(interrupted: Interrupted) -> Self {
        match interrupted {
            Interrupted::Spoiled(reason) => KafkaRunnerError::Spoiled(reason).into(),
            Interrupted::Failed(error) => error,
        }
    }
}

impl Interrupted {
    /// The error of a call for a handler whose state is of type `S`.
    pub(super) fn of<S>(error: &RecordError) -> Self {
        if error.is_spoiled() && can_spoil::<S>() {
            Self::Spoiled(error.text())
        } else {
            Self::Failed(KafkaRunnerError::Handler(error.text()).into())
        }
    }
}

/// Does `work`, which is dropped as soon as its result is not wanted any more.
pub(super) async fn while_wanted<T>(
    cancelled: impl Future<Output = ()>,
    work: impl Future<Output = Result<T, Interrupted>>,
) -> Result<T, Interrupted> {
    tokio::select! {
        biased;
        // The call that follows drops all that there is already.
        () = cancelled => Err(KafkaRunnerError::Cancelled.into()),
        // The usual case.
        done = work => done,
    }
}
