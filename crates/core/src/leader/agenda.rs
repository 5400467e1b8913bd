//! The agenda of a leader: the times at which it looks at handoffs, and at which it plans.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Memory;
use crate::claim::ClaimEnd;
use crate::state::{GroupState, Touched};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::name::MemberName;

/// The time after which everything is looked at though nothing happened: bounds what a missed event can cost.
const TICK: Duration = Duration::from_secs(10);

/// The wait of a plan that had to leave something out for more handoffs to end before the next one.
const REFILL: Duration = Duration::from_millis(50);

/// The wait after the store did not say what is left of a lease, before it is asked again: long against its answer,
/// short against every claim.
const ASK_AGAIN: Duration = Duration::from_millis(200);

/// The longest that changes of membership can put a plan off, in debounces.
const MOST_DEBOUNCES: u32 = 5;

/// The work that a leader has still to do, with its times.
#[derive(Debug, Clone)]
pub(super) struct Agenda {
    touched: Touched,
    /// True if everything has to be looked at.
    everything: bool,
    /// True if the last plan left something out that ending handoffs make room for.
    has_more: bool,
    plan: Option<Timer>,
    next_tick: Moment,
    /// The time at which a plan may come out otherwise by the passing of time alone.
    revisit: Option<Moment>,
    /// The time at which the first phase is overdue.
    deadline: Option<Moment>,
    /// The end of the first claim for which somebody waits.
    claim_ends: Option<Moment>,
}

/// The time for the next plan.
#[derive(Debug, Clone, Copy)]
struct Timer {
    at: Moment,
    /// However much happens until then.
    latest: Moment,
}

impl Agenda {
    pub(super) fn new(now: Moment) -> Self {
        Self {
            touched: Touched::default(),
            everything: true,
            has_more: false,
            plan: Some(Timer { at: now, latest: now }),
            next_tick: now + TICK,
            revisit: None,
            deadline: None,
            claim_ends: None,
        }
    }

    /// Notes what was touched. Somebody's departure or end is planned for at once, everything else after a while in which
    /// more of the kind may come.
    pub(super) fn note(&mut self, state: &GroupState, touched: &Touched, now: Moment) {
        let is_ending = |name: &MemberName| state.registration(name).is_some_and(|c| c.is_ending());
        let is_over = |name: &MemberName| !state.consumers().contains_key(name) || is_ending(name);
        if touched.registrations.iter().any(is_over) {
            self.plan_in(Duration::ZERO, now);
        } else if touched.calls_for_plan() {
            self.plan_in(Duration::from_millis(state.configured(|config| config.debounce_ms)), now);
        } else if self.has_more && !touched.units.is_empty() {
            self.plan_in(REFILL, now);
        }
        self.touched.merge(touched.clone());
    }

    /// Has everything looked at in the next pass, and a plan made at `now`.
    pub(super) fn note_everything(&mut self, now: Moment) {
        self.everything = true;
        self.plan_in(Duration::ZERO, now);
    }

    /// Has everything looked at once in a while, when a claim ends for which somebody waits, and when the passing of time
    /// alone may change what is decided.
    pub(super) fn note_tick(&mut self, now: Moment) {
        if now >= self.next_tick {
            self.next_tick = now + TICK;
            self.note_everything(now);
        }
        if self.claim_ends.is_some_and(|end| end <= now) {
            self.claim_ends = None;
            self.note_everything(now);
        }
        if self.revisit.is_some_and(|at| at <= now) {
            self.revisit = None;
            self.note_everything(now);
        }
    }

    /// Notes how a claim ends for which somebody waits. Of several the first counts: then all are looked at anew.
    pub(super) fn note_claim(&mut self, end: ClaimEnd, now: Moment) {
        let ends = match end {
            ClaimEnd::Over => return,
            ClaimEnd::Running(left) => now + left,
            ClaimEnd::Unasked => now + ASK_AGAIN,
        };
        self.claim_ends = Some(self.claim_ends.map_or(ends, |sooner| sooner.min(ends)));
    }

    /// Has a unit that stays where it was planned again: somebody else may take it.
    pub(super) fn note_cancelled(&mut self, now: Moment) {
        self.plan_in(REFILL, now);
    }

    /// Has it planned at once: a suspect may be ended sooner than the last plan knew.
    pub(super) fn note_turned(&mut self, now: Moment) {
        self.plan_in(Duration::ZERO, now);
    }

    /// Notes that a plan was made, and whether it left something out that ending handoffs make room for.
    pub(super) const fn planned(&mut self, has_more: bool) {
        self.plan = None;
        self.has_more = has_more;
    }

    /// Notes what the passing of time alone may change: the outcome of a plan, and what is overdue.
    pub(super) const fn sleep(&mut self, revisit: Option<Moment>, deadline: Option<Moment>) {
        self.revisit = revisit;
        self.deadline = deadline;
    }

    /// Puts the plan off by `wait`, but never beyond what was agreed: each cause has it made within some of its own
    /// waits, however much comes after it.
    fn plan_in(&mut self, wait: Duration, now: Moment) {
        let own = now + wait * MOST_DEBOUNCES;
        let latest = self.plan.map_or(own, |timer| timer.latest.min(own));
        self.plan = Some(Timer { at: (now + wait).min(latest), latest });
    }

    /// True if a pass at `now` looks at everything.
    pub(super) fn looks_at_everything(&self, now: Moment) -> bool {
        let is_due = |moment: Option<Moment>| moment.is_some_and(|moment| moment <= now);
        self.everything || self.wants_plan(now) || self.next_tick <= now || is_due(self.claim_ends)
    }

    /// True if everything was to be looked at; from now on it was.
    pub(super) fn takes_everything(&mut self) -> bool {
        std::mem::take(&mut self.everything)
    }

    /// Forgets what was touched, since it has been looked at.
    pub(super) fn forget_touched(&mut self) {
        self.touched = Touched::default();
    }

    /// The units that may have a next step by what was touched and by the time.
    pub(super) fn units(&self, state: &GroupState, memory: &Memory, now: Moment) -> BTreeSet<TopicPartition> {
        let mut units = state.driven_by(&self.touched);
        units.extend(memory.overdue(now).cloned());
        units
    }

    pub(super) fn wants_plan(&self, now: Moment) -> bool {
        self.plan.is_some_and(|timer| timer.at <= now) || self.revisit.is_some_and(|at| at <= now)
    }

    /// The moment of the next work if nothing happens before.
    pub(super) fn wake(&self) -> Moment {
        let plan = self.plan.map(|timer| timer.at);
        [plan, self.revisit, self.claim_ends, self.deadline]
            .into_iter()
            .flatten()
            .fold(self.next_tick, Moment::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBOUNCE: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Moment {
        Moment(Duration::from_millis(ms))
    }

    fn planned() -> Agenda {
        let mut agenda = Agenda::new(at(0));
        agenda.planned(false);
        agenda
    }

    #[test]
    fn joins_put_a_plan_off_and_not_for_ever() {
        let mut agenda = planned();
        for ms in (1_000..2_000).step_by(90) {
            agenda.plan_in(DEBOUNCE, at(ms));
        }
        assert!(!agenda.wants_plan(at(1_499)));
        assert!(agenda.wants_plan(at(1_500)));
    }

    #[test]
    fn nothing_puts_off_the_plan_for_a_departure() {
        let mut agenda = planned();
        agenda.plan_in(DEBOUNCE, at(1_000));
        agenda.plan_in(Duration::ZERO, at(1_010));
        agenda.plan_in(DEBOUNCE, at(1_010));
        assert!(agenda.wants_plan(at(1_010)));
    }

    #[test]
    fn everything_is_looked_at_when_the_first_claim_ends() {
        let mut agenda = planned();
        agenda.everything = false;
        agenda.note_claim(ClaimEnd::Running(Duration::from_secs(3)), at(1_000));
        agenda.note_claim(ClaimEnd::Running(Duration::from_secs(5)), at(1_000));
        agenda.note_claim(ClaimEnd::Over, at(1_000));
        agenda.note_tick(at(3_999));
        assert!(!agenda.everything);
        agenda.note_tick(at(4_000));
        assert!(agenda.everything && agenda.wants_plan(at(4_000)));
        agenda.note_claim(ClaimEnd::Unasked, at(4_000));
        assert_eq!(agenda.claim_ends, Some(at(4_200)));
    }

    #[test]
    fn everything_is_looked_at_once_in_a_while_however_much_happens() {
        let mut agenda = planned();
        agenda.everything = false;
        agenda.note_tick(at(9_999));
        assert!(!agenda.everything);
        agenda.note_tick(at(10_001));
        assert!(agenda.everything && agenda.wants_plan(at(10_001)));
    }
}
