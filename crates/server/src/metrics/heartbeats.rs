//! The ages of heartbeats.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use kafka_assigner_types::name::GroupName;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::Metrics;
use super::labels::{GroupLabel, of};

/// The ages of the heartbeats that an instance heard; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct HeartbeatAges {
    oldest: Family<GroupLabel, Gauge<f64, AtomicU64>>,
}

impl HeartbeatAges {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register_with_unit(
            "oldest_heartbeat",
            "Time since the last heartbeat of the session that was not heard for longest, of those heard here last",
            Unit::Seconds,
            self.oldest.clone(),
        );
    }
}

impl Metrics {
    /// The oldest last heartbeat of the sessions of `group` that this instance heard last; `None` = it heard none.
    pub(crate) fn oldest_heartbeat(&self, group: &GroupName, age: Option<Duration>) {
        let (family, label) = (&self.0.heartbeat_ages.oldest, of(group));
        match age {
            Some(age) => drop(family.get_or_create(&label).set(age.as_secs_f64())),
            None => drop(family.remove(&label)),
        }
    }
}
