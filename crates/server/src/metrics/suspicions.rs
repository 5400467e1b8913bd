//! The suspicions that processes are dead.

use kafka_assigner_core::suspicion::MarkWithheld;
use kafka_assigner_types::name::GroupName;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::Metrics;
use super::labels::{ReasonLabel, SignLabel, because};

/// The suspicions of an instance; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct SuspicionMetrics {
    made: Family<SignLabel, Counter>,
    removed: Family<ReasonLabel, Counter>,
    withheld: Family<ReasonLabel, Counter>,
}

impl SuspicionMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "suspicions",
            "Consumers that this instance suspected to be dead, by sign",
            self.made.clone(),
        );
        registry.register(
            "suspicions_removed",
            "Suspicions that this instance removed, by the sign of life",
            self.removed.clone(),
        );
        registry.register(
            "suspicions_withheld",
            "Ends of streams after which nobody was suspected, by reason",
            self.withheld.clone(),
        );
    }
}

impl Metrics {
    /// A consumer is suspected to be dead.
    pub(crate) fn suspected(&self, group: &GroupName, sign: &'static str) {
        let label = SignLabel { group: group.to_string(), sign };
        self.0.suspicions.made.get_or_create(&label).inc();
    }

    /// A suspicion was removed, since its consumer lives.
    pub(crate) fn unmarked(&self, group: &GroupName, by: &'static str) {
        self.0.suspicions.removed.get_or_create(&because(group, by)).inc();
    }

    /// A consumer was not suspected though its stream ended.
    pub(crate) fn suspicion_withheld(&self, group: &GroupName, why: MarkWithheld) {
        self.0.suspicions.withheld.get_or_create(&because(group, why.label())).inc();
    }
}
