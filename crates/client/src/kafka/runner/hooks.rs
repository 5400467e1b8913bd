//! Calls of the handler that are about no record, and what follows where one of them fails.

use kafka_assigner_handler::{RecordError, RecordHandler, Remedy};
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use tracing::warn;

use super::interrupted::Interrupted;
use crate::kafka::error::KafkaRunnerError;
use crate::kafka::runner_parts::{RunnerParts, can_spoil};
use crate::status::StoppedPartition;

/// A kind of call that is about no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hook {
    Open,
    Fence,
    Gap,
    Begin,
    Drained,
}

impl Hook {
    /// True if the handler is given a state that it may change.
    const fn has_state(self) -> bool {
        match self {
            Self::Gap | Self::Begin | Self::Drained => true,
            Self::Open | Self::Fence => false,
        }
    }
}

/// One such call.
pub(super) struct HookCall<'a> {
    pub(super) hook: Hook,
    pub(super) partition: &'a TopicPartition,
    /// The epoch under which the partition is processed; 0 = it does not begin before the call has succeeded.
    pub(super) epoch: Epoch,
    /// The place at which the partition would go on.
    pub(super) offset: Offset,
}

impl<H: RecordHandler> RunnerParts<H> {
    /// Takes in that `call` failed: the partition stands, or the process is of no use, where the handler says so. Returns the
    /// error with which the step ends of which the call was a part; that step is tried again.
    pub(super) fn hook_failed(&self, call: &HookCall<'_>, error: &RecordError) -> Interrupted {
        let (remedy, reason) = (error.remedy(), reason(error));
        warn!(partition = %call.partition, hook = ?call.hook, ?remedy, error = reason, "a call of the handler failed");
        if remedy == Some(Remedy::Fatal) {
            self.watch.set_fatal(error.text());
        }
        if call.stands(error) {
            let &HookCall { partition, epoch, offset, .. } = call;
            let (partition, reason) = (partition.clone(), error.text());
            let is_of_drain = call.hook == Hook::Drained;
            let stopped = StoppedPartition { partition, epoch, offset, reason, is_of_drain };
            match call.hook {
                Hook::Drained => self.watch.stops.note_after_drain(stopped),
                Hook::Open | Hook::Fence | Hook::Gap | Hook::Begin => self.watch.stops.note(stopped),
            }
        }
        match call.hook.has_state() && error.is_spoiled() && can_spoil::<H::State>() {
            true => Interrupted::Spoiled(reason),
            false => Interrupted::Failed(KafkaRunnerError::Handler(reason).into()),
        }
    }
}

impl HookCall<'_> {
    /// True if the partition stands after this call failed so. What is fatal is about the process: before the partition has begun
    /// here, it may well begin elsewhere. Behind a `drained` that failed no record is to be processed, whatever ends the process.
    fn stands(&self, error: &RecordError) -> bool {
        match error.remedy() {
            Some(Remedy::Stop) => true,
            Some(Remedy::Fatal) => self.hook == Hook::Drained,
            Some(Remedy::Retry { .. } | Remedy::Skip | Remedy::DeadLetter) | None => false,
        }
    }
}

/// The text of the error; it says so where the handler asked for something that there is not.
fn reason(error: &RecordError) -> String {
    match error.remedy() {
        Some(Remedy::Skip | Remedy::DeadLetter) => {
            format!("{} (tried again: there is no record to pass over)", error.text())
        }
        Some(Remedy::Retry { .. } | Remedy::Stop | Remedy::Fatal) | None => error.text(),
    }
}
