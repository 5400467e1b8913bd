//! For how long a group's handoffs are in their phases, and may still be, for people.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use kafka_assigner_core::leader::PhaseSpan;
use kafka_assigner_core::record::Handoff;
use kafka_assigner_core::state::SharedMap;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;

/// The phases as the leader remembers them, by the unit's first partition.
type Spans = SharedMap<TopicPartition, PhaseSpan>;

/// The phases as the leader of this instance sees them; empty on an instance that does not lead the group.
#[derive(Debug, Default)]
pub(crate) struct Phases(Mutex<Spans>);

/// The age of one phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PhaseTime {
    /// For how long the leader has seen it.
    pub(crate) age: Duration,
    /// The time that it may still take.
    pub(crate) left: Duration,
}

impl Phases {
    /// The leader shows what it remembers. It costs the same however much that is.
    pub(crate) fn show(&self, spans: &Spans) {
        *self.spans() = spans.clone();
    }

    /// The term is over: another instance counts from now on.
    pub(crate) fn clear(&self) {
        *self.spans() = Spans::default();
    }

    /// The age of the phase of `handoff` at `now`; `None` where this instance does not know.
    pub(crate) fn time(&self, handoff: &Handoff, now: Moment) -> Option<PhaseTime> {
        let spans = self.spans();
        let span = spans.get(handoff.lead()).filter(|span| span.is_of(handoff))?;
        Some(PhaseTime { age: now.since(span.since), left: span.deadline.since(now) })
    }

    /// The time for which the handoff that has not moved for longest is in its phase at `now`; zero where none moves.
    pub(crate) fn oldest(&self, now: Moment) -> Duration {
        let spans = self.spans().clone();
        spans.values().map(|span| now.since(span.since)).max().unwrap_or_default()
    }

    fn spans(&self) -> MutexGuard<'_, Spans> {
        self.0.lock().expect("nothing panics while it holds the phases")
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_core::record::Phase;
    use kafka_assigner_core::test_group::{TestGroup, tp};

    use super::*;

    fn time(age: u64, left: u64) -> Option<PhaseTime> {
        Some(PhaseTime { age: Duration::from_secs(age), left: Duration::from_secs(left) })
    }

    #[test]
    fn the_time_of_a_phase_is_known_while_this_instance_leads_and_for_that_phase_only() {
        let mut lab = TestGroup::with_topics(&[("t", 2)]);
        lab.join("a");
        lab.settle();
        lab.later(Duration::from_secs(5));
        lab.join("b");
        lab.pass();
        let phases = Phases::default();
        let handoff = lab.state.handoff(&tp("t", 1)).unwrap().clone();
        assert_eq!(phases.time(&handoff, lab.moment), None);
        phases.show(lab.leader.memory().phases());
        lab.later(Duration::from_secs(100));
        assert_eq!(phases.time(&handoff, lab.moment), time(100, 200));
        assert_eq!(phases.oldest(lab.moment), Duration::from_secs(100));
        lab.later(Duration::from_secs(300));
        assert_eq!(phases.time(&handoff, lab.moment), time(400, 0));
        let next = Handoff { phase: Phase::Ready, ..handoff.clone() };
        assert_eq!(phases.time(&next, lab.moment), None, "it is not seen yet");
        phases.clear();
        assert_eq!(phases.time(&handoff, lab.moment), None);
        assert_eq!(phases.oldest(lab.moment), Duration::ZERO);
    }
}
