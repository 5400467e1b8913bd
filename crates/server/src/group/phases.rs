//! For how long a group's handoffs are in their phases, and may still be, and which sessions were taken over: what only
//! the leader knows, for people.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use kafka_assigner_core::leader::{Deaths, Memory, PhaseSpan};
use kafka_assigner_core::record::Handoff;
use kafka_assigner_core::state::SharedMap;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;

/// The phases as the leader remembers them, by the unit's first partition.
type Spans = SharedMap<TopicPartition, PhaseSpan>;

/// The phases as the leader of this instance sees them, and the sessions that it has taken over; empty on an instance that
/// does not lead the group.
#[derive(Debug, Default)]
pub(crate) struct Phases(Mutex<Sights>);

#[derive(Debug, Default)]
struct Sights {
    spans: Spans,
    deaths: Arc<Deaths>,
}

/// The age of one phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PhaseTime {
    /// For how long the leader has seen it.
    pub(crate) age: Duration,
    /// The time that it may still take; `None`: it waits for the end of a session, without a deadline.
    pub(crate) left: Option<Duration>,
}

impl Phases {
    /// The leader shows what it remembers. It costs the same however much that is.
    pub(crate) fn show(&self, memory: &Memory) {
        *self.sights() = Sights { spans: memory.phases().clone(), deaths: Arc::clone(memory.deaths()) };
    }

    /// The term is over: another instance counts from now on.
    pub(crate) fn clear(&self) {
        *self.sights() = Sights::default();
    }

    /// The age of the phase of `handoff` at `now`; `None` where this instance does not know.
    pub(crate) fn time(&self, handoff: &Handoff, now: Moment) -> Option<PhaseTime> {
        let sights = self.sights();
        let span = sights.spans.get(handoff.lead()).filter(|span| span.is_of(handoff))?;
        let left = (!span.waits_for_end()).then(|| span.deadline.since(now));
        Some(PhaseTime { age: now.since(span.since), left })
    }

    /// The time for which the handoff that has not moved for longest is in its phase at `now`; zero where none moves.
    /// Those that wait for the end of a session do so on purpose, and are left out.
    pub(crate) fn oldest(&self, now: Moment) -> Duration {
        let spans = self.sights().spans.clone();
        let moving = spans.values().filter(|span| !span.waits_for_end());
        moving.map(|span| now.since(span.since)).max().unwrap_or_default()
    }

    /// The sessions that the leader of this instance has taken over lately.
    pub(crate) fn deaths(&self) -> Arc<Deaths> {
        Arc::clone(&self.sights().deaths)
    }

    fn sights(&self) -> MutexGuard<'_, Sights> {
        self.0.lock().expect("nothing panics while it holds the phases")
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_core::record::{DeathSign, Phase};
    use kafka_assigner_core::test_group::{TestGroup, tp};

    use super::*;

    fn time(age: u64, left: u64) -> Option<PhaseTime> {
        Some(PhaseTime { age: Duration::from_secs(age), left: Some(Duration::from_secs(left)) })
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
        phases.show(lab.leader.memory());
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

    #[test]
    fn what_waits_for_the_end_of_a_session_has_no_deadline_and_is_not_the_oldest_phase() {
        let mut lab = TestGroup::with_topics(&[("t", 2)]);
        let a = lab.join("a");
        lab.join("b");
        lab.settle();
        lab.suspect(&a, DeathSign::Silent);
        lab.pass();
        lab.everybody_acts();
        lab.later(Duration::from_secs(5));
        let phases = Phases::default();
        phases.show(lab.leader.memory());
        let handoff = lab.state.handoffs().keys().find_map(|at| lab.state.handoff(at)).unwrap().clone();
        let time = phases.time(&handoff, lab.moment);
        assert_eq!(
            (handoff.phase, time),
            (Phase::Ready, Some(PhaseTime { age: Duration::from_secs(5), left: None }))
        );
        assert_eq!(phases.oldest(lab.moment), Duration::ZERO);
    }
}
