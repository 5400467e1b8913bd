//! The labels of metrics, and their values.

use kafka_assigner_types::name::GroupName;
use prometheus_client::encoding::EncodeLabelSet;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct GroupLabel {
    pub(super) group: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ReasonLabel {
    pub(super) group: String,
    pub(super) reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct PhaseLabel {
    pub(super) group: String,
    pub(super) phase: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct PhaseModeLabel {
    pub(super) group: String,
    pub(super) phase: String,
    pub(super) mode: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RouterLabel {
    pub(super) group: String,
    pub(super) router: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfLabel {
    pub(super) group: String,
    pub(super) of: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct SignLabel {
    pub(super) group: String,
    pub(super) sign: &'static str,
}

pub(super) fn of(group: &GroupName) -> GroupLabel {
    GroupLabel { group: group.to_string() }
}

pub(super) fn because(group: &GroupName, reason: &str) -> ReasonLabel {
    ReasonLabel { group: group.to_string(), reason: reason.to_owned() }
}

/// A count as gauges hold it.
pub(super) fn whole<N: TryInto<i64>>(count: N) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}
