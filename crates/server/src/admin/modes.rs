//! Modes, as operators name and set them.

use kafka_assigner_core::record::Consumer;
use kafka_assigner_core::state::GroupState;
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

/// Refuses a change after which registered consumers lack something for the modes `demanded` of them, the weakest and the
/// strongest: their partitions would stay as they are, and nobody would know why.
pub(super) fn refuse_lacking(
    state: &GroupState,
    demanded: impl Fn(&Consumer) -> Option<[Mode; 2]>,
) -> Result<(), Status> {
    let consumers = || state.consumers().iter().filter_map(|(name, entry)| Some((name, entry.last_good()?)));
    let weak = consumers().filter_map(|(name, consumer)| {
        let [weakest, _] = demanded(consumer)?;
        Some(format!("{name} demands {} at least", consumer.demands_more_than(weakest)?))
    });
    refuse_named(weak, Reason::ModeTooWeak, "Stop them, or start them with a weaker `least_mode`")?;
    let lacking = consumers().filter_map(|(name, consumer)| {
        let [_, strongest] = demanded(consumer)?;
        Some(format!("{name} lacks {}", consumer.lacks(strongest)?))
    });
    refuse_named(lacking, Reason::CapabilityMissing, "Upgrade or stop them")
}

fn refuse_named(faults: impl Iterator<Item = String>, reason: Reason, remedy: &str) -> Result<(), Status> {
    let lacking: Vec<String> = faults.take(MOST_NAMED + 1).collect();
    if lacking.is_empty() {
        return Ok(());
    }
    let more = if lacking.len() > MOST_NAMED { "; and more" } else { "" };
    let named = lacking[..lacking.len().min(MOST_NAMED)].join("; ");
    Err(status(reason, format!("consumers can't work in that mode: {named}{more}. {remedy}")))
}
