//! The pauses after drains that took too long: [`BackOffs`].

use std::collections::BTreeMap;
use std::time::Duration;

use crate::reason::CancelReason;
use crate::record::{Avoid, Handoff, Phase};
use kafka_assigner_types::id::{HandoffId, Member, TopicPartition};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::Moment;

/// The units that are not moved for a while: their last move was cancelled because their owner did not stop in time.
/// The new owner is not blamed, so anybody may be the next one; without a pause the same move would begin again at once.
///
/// The pauses are those of a failed new owner ([`Avoid::backoff_ms`]), and live in the leader's memory: forgetting them
/// costs one more attempt.
#[derive(Debug, Clone, Default)]
pub(super) struct BackOffs(BTreeMap<TopicPartition, BackOff>);

#[derive(Debug, Clone)]
struct BackOff {
    last: HandoffId,
    /// The owner whose drain ran out of time; `None` = it had stopped, or was not asked yet.
    slow_owner: Option<Member>,
    failures: u32,
    until: Moment,
}

impl BackOffs {
    /// Takes in the handoff at a unit: one that was cancelled for its time begins a pause, one that went through ends it.
    pub(super) fn see(&mut self, handoff: &Handoff, now: Moment) {
        match (&handoff.cancelled, handoff.phase) {
            (Some(why), _) if is_slow_stop(why, handoff.mode) => self.begin(handoff, now),
            (_, Phase::Complete) => self.forget(handoff.lead()),
            _ => {}
        }
    }

    fn begin(&mut self, handoff: &Handoff, now: Moment) {
        let before = self.0.get(handoff.lead());
        if before.is_some_and(|seen| seen.last == handoff.id) {
            return;
        }
        let failures = before.map_or(0, |seen| seen.failures) + 1;
        let until = now + Duration::from_millis(Avoid::backoff_ms(failures));
        let (last, slow_owner) = (handoff.id.clone(), slow_owner(handoff).cloned());
        self.0.insert(handoff.lead().clone(), BackOff { last, slow_owner, failures, until });
    }

    /// Forgets what was seen of a unit.
    pub(super) fn forget(&mut self, lead: &TopicPartition) {
        self.0.remove(lead);
    }

    /// True if the last move of the unit with `at` in the lead was cancelled since `owner` did not stop in time.
    pub(super) fn is_slow_owner(&self, at: &TopicPartition, owner: &Member) -> bool {
        self.0.get(at).is_some_and(|seen| seen.slow_owner.as_ref() == Some(owner))
    }

    /// The time that is left of the pause of a unit with `at` in the lead; `None` where there is none.
    pub(super) fn left(&self, at: &TopicPartition, now: Moment) -> Option<Duration> {
        self.0.get(at).map(|seen| seen.until.since(now)).filter(|left| !left.is_zero())
    }

    /// The ends of the pauses.
    pub(super) fn ends(&self) -> impl Iterator<Item = Moment> {
        self.0.values().map(|seen| seen.until)
    }
}

/// True if the time ran out while the old owner stopped, or because it had. After a freeze no unit is left alone for that: a
/// router that misses two of them is left out of the next ones.
fn is_slow_stop(why: &CancelReason, mode: Mode) -> bool {
    let stops = |phase: Phase| phase == Phase::Ready || phase.stops_the_old_owner();
    let is_stop = matches!(why, CancelReason::Deadline { phase, .. } if stops(*phase));
    is_stop && !why.is_failure(mode)
}

/// The owner that was asked to stop and had not when the handoff was cancelled for its time.
fn slow_owner(handoff: &Handoff) -> Option<&Member> {
    let is_drain = matches!(handoff.cancelled, Some(CancelReason::Deadline { phase: Phase::Draining, .. }));
    is_drain.then_some(&handoff.old)
}

#[cfg(test)]
mod tests {
    use kafka_assigner_types::id::Incarnation;
    use kafka_assigner_types::moment::WallMillis;

    use super::*;
    use crate::reason::Reason;
    use crate::test_group::tp;

    fn member(name: &str) -> Member {
        Member {
            name: name.parse().expect("a valid name"),
            incarnation: Incarnation::new("1").expect("a valid one"),
        }
    }

    /// A move away from `old` that was cancelled for the time that `phase` took.
    fn cancelled(old: &str, phase: Phase) -> Handoff {
        let id = HandoffId::new(&format!("{old}-{phase:?}"));
        let members = (member(old), member("next"));
        let moved = Handoff::new(id, vec![tp("t", 0)], members, Mode::Routed, WallMillis(0), Reason::Unowned);
        let cancelled = Some(CancelReason::Deadline { phase, after_ms: 30_000, missing: Vec::new() });
        Handoff { cancelled, ..moved.in_phase(Phase::Cancelled) }
    }

    fn slow_owners(after: &[(&str, Phase)]) -> Vec<&'static str> {
        let mut back_offs = BackOffs::default();
        after.iter().for_each(|(old, phase)| back_offs.see(&cancelled(old, *phase), Moment::default()));
        assert!(back_offs.left(&tp("t", 0), Moment::default()).is_some());
        let is_slow = |name: &&str| back_offs.is_slow_owner(&tp("t", 0), &member(name));
        ["a", "b"].into_iter().filter(is_slow).collect()
    }

    #[test]
    fn only_the_last_owner_that_was_asked_and_did_not_stop_is_slow() {
        assert_eq!(slow_owners(&[("a", Phase::Draining)]), ["a"]);
        assert_eq!(slow_owners(&[("a", Phase::Draining), ("b", Phase::Draining)]), ["b"]);
        assert!(slow_owners(&[("a", Phase::Ready)]).is_empty());
        assert!(slow_owners(&[("a", Phase::CatchingUp)]).is_empty(), "it had stopped");
    }
}
