//! Signs of life of the loops that have to move.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use kafka_assigner_types::name::GroupName;
use tokio::time::Instant;

/// After how long without a sign a leader's loop counts as stuck. A pass comes at least every ten seconds, and its
/// store calls are bounded: the slowest of a large plan against a dying store take about a minute.
const STUCK_AFTER: Duration = Duration::from_secs(120);

/// The loops of this instance that lead a group, and when each moved last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pulses(Arc<Mutex<BTreeMap<GroupName, Instant>>>);

/// One loop's pulse; dropping it says that the loop has ended.
#[derive(Debug)]
pub(crate) struct Pulse {
    pulses: Pulses,
    group: GroupName,
}

impl Pulses {
    /// The pulse of a loop that begins to lead `group`.
    pub(crate) fn begin(&self, group: &GroupName) -> Pulse {
        let pulse = Pulse { pulses: self.clone(), group: group.clone() };
        pulse.beat();
        pulse
    }

    /// The groups whose loops are stuck, with the time since their last sign.
    pub(crate) fn stuck(&self) -> Vec<(GroupName, Duration)> {
        let beats = self.beats();
        let since = beats.iter().map(|(group, beat)| (group.clone(), beat.elapsed()));
        since.filter(|(_, since)| *since > STUCK_AFTER).collect()
    }

    fn beats(&self) -> MutexGuard<'_, BTreeMap<GroupName, Instant>> {
        self.0.lock().expect("nothing panics while it holds the pulses")
    }
}

impl Pulse {
    /// The loop has moved.
    pub(crate) fn beat(&self) {
        self.pulses.beats().insert(self.group.clone(), Instant::now());
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.pulses.beats().remove(&self.group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_loop_is_stuck_when_it_has_not_moved_for_too_long_and_not_once_it_ended() {
        let pulses = Pulses::default();
        let pulse = pulses.begin(&"g".parse().unwrap());
        tokio::time::advance(STUCK_AFTER).await;
        assert!(pulses.stuck().is_empty());
        pulse.beat();
        tokio::time::advance(STUCK_AFTER + Duration::from_secs(1)).await;
        assert_eq!(pulses.stuck().len(), 1);
        drop(pulse);
        assert!(pulses.stuck().is_empty());
    }
}
