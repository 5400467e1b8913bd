//! For how long a group's handoffs are in their phases, and may still be, for people.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use kafka_assigner_core::id::TopicPartition;
use kafka_assigner_core::memory::{Memory, PhaseSpan};
use kafka_assigner_core::moment::Moment;
use kafka_assigner_core::record::Handoff;

/// What the leader knows of them, by the unit's first partition; empty on an instance that does not lead the group.
#[derive(Debug, Default)]
pub(crate) struct Phases(Mutex<BTreeMap<TopicPartition, PhaseSpan>>);

/// How the time of one phase stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PhaseTime {
    /// For how long the leader has seen it.
    pub(crate) age: Duration,
    /// How long it may still take.
    pub(crate) left: Duration,
}

impl Phases {
    /// The leader shows what it remembers.
    pub(crate) fn show(&self, memory: &Memory) {
        *self.spans() = memory.phases().map(|(unit, span)| (unit.clone(), span)).collect();
    }

    /// The leader shows what it remembers of `units`. A look at some of a thousand handoffs costs no more than these.
    pub(crate) fn show_some<'a>(&self, memory: &Memory, units: impl Iterator<Item = &'a TopicPartition>) {
        let mut spans = self.spans();
        for unit in units {
            match memory.phase(unit) {
                Some(span) => _ = spans.insert(unit.clone(), span),
                None => _ = spans.remove(unit),
            }
        }
    }

    /// The term is over: another instance counts from now on.
    pub(crate) fn clear(&self) {
        self.spans().clear();
    }

    /// How the time of the phase of `handoff` stands at `now`; `None` where this instance does not know.
    pub(crate) fn time(&self, handoff: &Handoff, now: Moment) -> Option<PhaseTime> {
        let spans = self.spans();
        let span = spans.get(handoff.lead())?;
        let time = PhaseTime { age: now.since(span.since), left: span.deadline.since(now) };
        (span.id == handoff.id && span.phase == handoff.phase).then_some(time)
    }

    fn spans(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, PhaseSpan>> {
        self.0.lock().expect("nothing panics while it holds the phases")
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_core::lab::{Lab, tp};
    use kafka_assigner_core::record::Phase;

    use super::*;

    fn time(age: u64, left: u64) -> Option<PhaseTime> {
        Some(PhaseTime { age: Duration::from_secs(age), left: Duration::from_secs(left) })
    }

    #[test]
    fn the_time_of_a_phase_is_known_while_this_instance_leads_and_for_that_phase_only() {
        let mut lab = Lab::with_topics(&[("t", 2)]);
        lab.join("a");
        lab.settle();
        lab.later(Duration::from_secs(5));
        lab.join("b");
        lab.pass();
        let phases = Phases::default();
        let handoff = lab.state.handoff(&tp("t", 1)).unwrap().clone();
        assert_eq!(phases.time(&handoff, lab.moment), None);
        phases.show(&lab.memory);
        lab.later(Duration::from_secs(100));
        assert_eq!(phases.time(&handoff, lab.moment), time(100, 200));
        lab.later(Duration::from_secs(300));
        assert_eq!(phases.time(&handoff, lab.moment), time(400, 0));
        let next = Handoff { phase: Phase::Ready, ..handoff.clone() };
        assert_eq!(phases.time(&next, lab.moment), None, "it is not seen yet");
        phases.clear();
        assert_eq!(phases.time(&handoff, lab.moment), None);
    }

    #[test]
    fn a_look_at_some_units_shows_these_and_forgets_those_whose_handoff_is_gone() {
        let mut lab = Lab::with_topics(&[("t", 4)]);
        lab.join("a");
        lab.settle();
        lab.join("b");
        lab.pass();
        let handoffs: Vec<Handoff> =
            lab.state.handoffs().keys().map(|unit| lab.state.handoff(unit).unwrap().clone()).collect();
        let [first, second] = &*handoffs else { panic!("two of four move: {handoffs:?}") };
        let phases = Phases::default();
        phases.show_some(&lab.memory, [first.lead()].into_iter());
        assert_eq!(phases.time(first, lab.moment), time(0, 300));
        assert_eq!(phases.time(second, lab.moment), None, "it was not looked at");
        phases.show_some(&Memory::default(), [second.lead()].into_iter());
        assert_eq!(phases.time(first, lab.moment), time(0, 300));
        phases.show_some(&Memory::default(), [first.lead()].into_iter());
        assert_eq!(phases.time(first, lab.moment), None);
    }
}
