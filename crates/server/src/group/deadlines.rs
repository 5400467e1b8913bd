//! How long the phases of a group's handoffs may still take, for people.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use kafka_assigner_core::id::TopicPartition;
use kafka_assigner_core::memory::{Memory, PhaseEnd};
use kafka_assigner_core::moment::Moment;
use kafka_assigner_core::record::Handoff;

/// What the leader knows of them, by the unit's first partition; empty on an instance that does not lead the group.
#[derive(Debug, Default)]
pub(crate) struct Deadlines(Mutex<BTreeMap<TopicPartition, PhaseEnd>>);

impl Deadlines {
    /// The leader shows what it remembers.
    pub(crate) fn show(&self, memory: &Memory) {
        *self.ends() = memory.phases().map(|(unit, end)| (unit.clone(), end)).collect();
    }

    /// The term is over: another instance counts from now on.
    pub(crate) fn clear(&self) {
        self.ends().clear();
    }

    /// How long the phase of `handoff` may still take at `now`; `None` where this instance does not know.
    pub(crate) fn left(&self, handoff: &Handoff, now: Moment) -> Option<Duration> {
        let ends = self.ends();
        let end = ends.get(handoff.lead())?;
        (end.id == handoff.id && end.phase == handoff.phase).then(|| end.deadline.since(now))
    }

    fn ends(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, PhaseEnd>> {
        self.0.lock().expect("nothing panics while it holds the deadlines")
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_core::lab::{Lab, tp};
    use kafka_assigner_core::record::Phase;

    use super::*;

    #[test]
    fn what_is_left_of_a_phase_is_known_while_this_instance_leads_and_for_that_phase_only() {
        let mut lab = Lab::with_topics(&[("t", 2)]);
        lab.join("a");
        lab.settle();
        lab.join("b");
        lab.pass();
        let deadlines = Deadlines::default();
        let handoff = lab.state.handoff(&tp("t", 1)).unwrap().clone();
        assert_eq!(deadlines.left(&handoff, lab.moment), None);
        deadlines.show(&lab.memory);
        lab.later(Duration::from_secs(100));
        assert_eq!(deadlines.left(&handoff, lab.moment), Some(Duration::from_secs(200)));
        lab.later(Duration::from_secs(300));
        assert_eq!(deadlines.left(&handoff, lab.moment), Some(Duration::ZERO));
        let next = Handoff { phase: Phase::Ready, ..handoff.clone() };
        assert_eq!(deadlines.left(&next, lab.moment), None, "it is not seen yet");
        deadlines.clear();
        assert_eq!(deadlines.left(&handoff, lab.moment), None);
    }
}
