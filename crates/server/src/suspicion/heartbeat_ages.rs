//! Shows how long ago the sessions were heard that this instance heard last.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_types::name::GroupName;
use tokio::time::{MissedTickBehavior, interval};

use crate::instance::Instance;

/// The time between two looks: as often as other gauges are set.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Looks until the instance leaves: it sends its clients elsewhere then.
pub(crate) async fn show_heartbeat_ages(instance: Instance) {
    let mut shown: BTreeMap<GroupName, Duration> = BTreeMap::new();
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = instance.leaving().cancelled() => break,
            _ = looks.tick() => shown = show(&instance, &shown),
        }
    }
    shown.keys().for_each(|group| instance.metrics().oldest_heartbeat(group, None));
}

/// Shows the ages as they are, and those no more that were `shown` of groups of which nobody is heard here. Returns what is
/// shown now.
fn show(instance: &Instance, shown: &BTreeMap<GroupName, Duration>) -> BTreeMap<GroupName, Duration> {
    let mut ages = BTreeMap::new();
    for group in instance.groups() {
        let age = group.read(|state| group.sessions().oldest_heard(state));
        ages.extend(age.map(|age| (group.name().clone(), age)));
    }
    for group in shown.keys().chain(ages.keys()) {
        instance.metrics().oldest_heartbeat(group, ages.get(group).copied());
    }
    ages
}
