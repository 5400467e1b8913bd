//! Every metric of an instance: name, unit, meaning, label values.

use std::sync::Arc;
use std::time::Instant;

use kafka_assigner_core::action::{Action, Step};
use kafka_assigner_core::name::GroupName;
use kafka_assigner_core::plan::Deferral;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GroupLabel {
    group: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabel {
    group: String,
    reason: String,
}

/// The metrics of one instance; clones share them.
#[derive(Debug, Clone)]
pub struct Metrics(Arc<Families>);

#[derive(Debug)]
struct Families {
    leader: Family<GroupLabel, Gauge>,
    steps: Family<ReasonLabel, Counter>,
    cancelled: Family<ReasonLabel, Counter>,
    deferred: Family<ReasonLabel, Gauge>,
    plan: Histogram,
    gap: Family<GroupLabel, Histogram>,
    acks: Family<ReasonLabel, Counter>,
}

impl Metrics {
    /// The metrics, registered in `registry`.
    pub fn new(registry: &mut Registry) -> Self {
        let families = Families {
            leader: Family::default(),
            steps: Family::default(),
            cancelled: Family::default(),
            deferred: Family::default(),
            plan: Histogram::new(exponential_buckets(0.0001, 2.0, 16)),
            gap: Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.001, 2.0, 17))),
            acks: Family::default(),
        };
        families.register(registry);
        Self(Arc::new(families))
    }

    pub(crate) fn leading(&self, group: &GroupName, leads: bool) {
        self.0.leader.get_or_create(&of(group)).set(leads.into());
    }

    pub(crate) fn step(&self, group: &GroupName, action: &Action) {
        self.0.steps.get_or_create(&because(group, action.step.label())).inc();
        if let Step::Cancel { why, .. } = &action.step {
            self.0.cancelled.get_or_create(&because(group, why.label())).inc();
        }
    }

    pub(crate) fn deferred(&self, group: &GroupName, deferred: &[Deferral]) {
        for reason in DEFER_REASONS {
            let count = deferred.iter().filter(|deferral| deferral.why.label() == *reason).count();
            let gauge = self.0.deferred.get_or_create(&because(group, reason));
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }

    pub(crate) fn timed_plan<R>(&self, plan: impl FnOnce() -> R) -> R {
        let begin = Instant::now();
        let result = plan();
        self.0.plan.observe(begin.elapsed().as_secs_f64());
        result
    }

    /// The gap that a move left, from the last record of the old owner to the first of the new one.
    pub(crate) fn gap(&self, group: &GroupName, millis: u64) {
        self.0.gap.get_or_create(&of(group)).observe(std::time::Duration::from_millis(millis).as_secs_f64());
    }

    pub(crate) fn ack(&self, group: &GroupName, outcome: &'static str) {
        self.0.acks.get_or_create(&because(group, outcome)).inc();
    }
}

/// The labels of [`kafka_assigner_core::reason::DeferReason`].
const DEFER_REASONS: &[&str] =
    &["unreadable", "nobody_may", "moves_in_flight", "warming", "handoff_ending", "awaiting_rejoin"];

fn of(group: &GroupName) -> GroupLabel {
    GroupLabel { group: group.to_string() }
}

fn because(group: &GroupName, reason: &str) -> ReasonLabel {
    ReasonLabel { group: group.to_string(), reason: reason.to_owned() }
}

impl Families {
    fn register(&self, registry: &mut Registry) {
        registry.register("leader", "1 while this instance leads the group", self.leader.clone());
        registry.register("steps", "Steps that the leader carried out, by kind", self.steps.clone());
        registry.register(
            "handoffs_cancelled",
            "Handoffs that were cancelled, by reason",
            self.cancelled.clone(),
        );
        registry.register(
            "plan_deferred",
            "Units that the last plan left as they are, by reason",
            self.deferred.clone(),
        );
        registry.register_with_unit("plan", "Time to make a plan", Unit::Seconds, self.plan.clone());
        registry.register_with_unit(
            "partition_gap",
            "Time from the last record of the old owner to the first of the new one, by the clients' clocks",
            Unit::Seconds,
            self.gap.clone(),
        );
        registry.register("acks", "Acknowledgements of members, by what became of them", self.acks.clone());
    }
}
