//! Failures of one group that are kept from the others.

use kafka_assigner_core::plan::NoPlan;
use kafka_assigner_types::name::GroupName;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Metrics;
use super::labels::{GroupLabel, ReasonLabel, because, of};

/// The troubles of groups; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct ContainmentMetrics {
    unplanned: Family<ReasonLabel, Gauge>,
    restarts: Family<GroupLabel, Counter>,
}

impl ContainmentMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "unplanned",
            "1 while the group can't be planned, so that everything in it stays as it is, by reason",
            self.unplanned.clone(),
        );
        registry.register(
            "group_restarts",
            "Times that a task of the group panicked here, so that the instance began to serve it anew",
            self.restarts.clone(),
        );
    }

    fn forget_unplanned(&self, group: &GroupName) {
        for reason in NoPlan::LABELS {
            self.unplanned.remove(&because(group, reason));
        }
    }
}

impl Metrics {
    /// The group was planned, or this instance does not lead it any more.
    pub(crate) fn planned(&self, group: &GroupName) {
        self.0.containment.forget_unplanned(group);
    }

    /// The group can't be planned.
    pub(crate) fn not_planned(&self, group: &GroupName, why: &NoPlan) {
        self.0.containment.forget_unplanned(group);
        self.0.containment.unplanned.get_or_create(&because(group, why.label())).set(1);
    }

    /// A task of the group panicked, and the instance begins to serve it anew.
    pub(crate) fn group_restarted(&self, group: &GroupName) {
        self.0.containment.restarts.get_or_create(&of(group)).inc();
    }
}
