//! Modes, as operators name and set them.

use kafka_assigner_core::record::Consumer;
use kafka_assigner_core::state::{Entry, GroupState};
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_types::mode::Mode;
use tonic::Status;

use crate::refusal;

/// The most consumers that a refusal names.
const MOST_NAMED: usize = 10;

/// The mode of this name.
pub(super) fn named(name: &str) -> Result<Mode, Status> {
    name.parse().map_err(|_| {
        let known = Mode::ALL.map(|mode| mode.to_string()).join(", ");
        refusal::field(format!("mode = {name:?} is refused: it must be one of {known}"))
    })
}

/// Refuses a change after which registered consumers lack what `demanded` of them: their partitions would stay as they
/// are, and nobody would know why.
pub(super) fn refuse_lacking(
    state: &GroupState,
    demanded: impl Fn(&Consumer) -> Option<Mode>,
) -> Result<(), Status> {
    let lacking: Vec<String> = state
        .consumers()
        .iter()
        .filter_map(|(name, entry)| Some((name, Entry::last_good(entry)?)))
        .filter_map(|(name, consumer)| Some((name, consumer.lacks(demanded(consumer)?)?)))
        .take(MOST_NAMED + 1)
        .map(|(name, lacks)| format!("{name} lacks {lacks}"))
        .collect();
    if lacking.is_empty() {
        return Ok(());
    }
    let more = if lacking.len() > MOST_NAMED { "; and more" } else { "" };
    let named = lacking[..lacking.len().min(MOST_NAMED)].join("; ");
    let message =
        format!("consumers can't keep what that mode promises: {named}{more}. Upgrade or stop them");
    Err(status(Reason::CapabilityMissing, message))
}
