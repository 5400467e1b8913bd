//! Modes, as operators name and set them.

use kafka_assigner_core::record::Consumer;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::name::MemberName;
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
    let lacking = consumers(state).filter_map(|(name, consumer)| {
        Some(format!("{name} lacks {}", consumer.lacks(demanded(consumer)?)?))
    });
    refuse_named(lacking, Reason::CapabilityMissing, "Upgrade or stop them")
}

/// Refuses a change to a weaker mode than registered consumers demand. `change` is the weakest mode of what a consumer takes before
/// and after it; `None` = it is not concerned.
pub(super) fn refuse_weaker(
    state: &GroupState,
    change: impl Fn(&Consumer) -> Option<(Mode, Mode)>,
) -> Result<(), Status> {
    let weak = consumers(state).filter_map(|(name, consumer)| {
        let (_, after) = change(consumer).filter(|(before, after)| after < before)?;
        Some(format!("{name} demands {} at least", consumer.demands_more_than(after)?))
    });
    refuse_named(weak, Reason::ModeTooWeak, "Stop them, or start them with a weaker `least_mode`")
}

fn consumers(state: &GroupState) -> impl Iterator<Item = (&MemberName, &Consumer)> {
    state.consumers().iter().filter_map(|(name, entry)| Some((name, entry.last_good()?)))
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
