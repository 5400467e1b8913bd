//! The leader's loop: look at what changed, decide, write, repeat.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::FutureExt as _;
use kafka_assigner_core::action::{Action, Step};
use kafka_assigner_core::advance::{Now, advance, soonest_claim_end};
use kafka_assigner_core::claim::{self, ClaimEnd, Leases};
use kafka_assigner_core::id::{HandoffIds, TopicPartition};
use kafka_assigner_core::kv::{LeaseId, Revision};
use kafka_assigner_core::memory::units_in_progress;
use kafka_assigner_core::moment::Moment;
use kafka_assigner_core::plan::{NoPlan, Plan, WhatIf, plan};
use kafka_assigner_core::state::{Entry, GroupState, Touched};
use kafka_assigner_core::write::Write;
use kafka_assigner_store::view::{Listener, Notice};

use super::Coordinator;
use super::agenda::Agenda;
use super::execute::{Executor, Fate};
use crate::group::Phases;
use crate::leases;

/// How long after a failed write everything is looked at again: short against every deadline, long against a
/// store's answer.
const RETRY: Duration = Duration::from_millis(200);

/// What one pass decided.
#[derive(Debug, Default)]
struct Decided {
    actions: Vec<Action>,
    planned: Option<Result<Plan, NoPlan>>,
}

impl Coordinator {
    /// Leads until it is dropped, or the view stops.
    pub(super) async fn lead(&self, executor: &Executor) {
        let mut updates = self.group.view().subscribe();
        let mut agenda = Agenda::new(self.clock.now());
        let pulse = self.pulses.begin(self.group.name());
        loop {
            pulse.beat();
            agenda.note_tick(self.clock.now());
            let leases = self.ask(&agenda).await;
            if !self.take_in_all(&mut agenda, &mut updates) {
                return;
            }
            let decided = self.decide(&mut agenda, &leases);
            self.act(executor, &mut agenda, decided).await;
            let now = self.clock.now();
            let wake = self.clock.instant(self.group.read(|state| agenda.wake(state, now)));
            tokio::select! {
                biased;
                // What happened comes first; the timer is for when nothing does.
                notice = updates.next() => match notice {
                    Some(notice) => self.take_in(&mut agenda, &notice),
                    None => return,
                },
                () = tokio::time::sleep_until(wake) => {}
            }
        }
    }

    /// Takes in what has come meanwhile; false once the view has stopped.
    fn take_in_all(&self, agenda: &mut Agenda, updates: &mut Listener<Touched>) -> bool {
        while let Some(notice) = updates.next().now_or_never() {
            let Some(notice) = notice else { return false };
            self.take_in(agenda, &notice);
        }
        true
    }

    fn take_in(&self, agenda: &mut Agenda, notice: &Notice<Touched>) {
        let now = self.clock.now();
        match notice {
            Notice::Touched(touched) => self.group.read(|state| agenda.note(state, touched, now)),
            Notice::Everything => agenda.note_everything(now),
        }
    }

    /// What the store says of the claims that are in doubt. It is asked after they were found to be, and nothing is
    /// decided on an older state: whoever was gone then is gone for good, so what it says holds for that one too.
    async fn ask(&self, agenda: &Agenda) -> Leases {
        let now = self.clock.now();
        let doubtful = self.group.read(|state| match agenda.looks_at_everything(now) {
            true => claim::doubtful(state, state.assignments().keys()),
            false => claim::doubtful(state, partitions(state, &agenda.units(state, now))),
        });
        leases::ask(&*self.store, &doubtful).await
    }

    /// One look at the group: what is to be done now.
    fn decide(&self, agenda: &mut Agenda, leases: &Leases) -> Decided {
        let moment = self.clock.now();
        let nonce = self.entropy.number();
        agenda.memory.see_leases(leases, moment);
        self.group.read(|state| {
            let units = look(agenda, state, moment, self.group.phases());
            let now = Now {
                memory: &agenda.memory,
                leases,
                moment,
                wall: self.options.wall.now(),
                strategies: &self.options.strategies,
            };
            let mut actions: Vec<Action> =
                units.iter().filter_map(|unit| advance(state, unit, now)).collect();
            let planned = agenda.wants_plan(moment).then(|| {
                self.metrics.timed_plan(|| plan(state, now, &mut HandoffIds::new(nonce), &WhatIf::default()))
            });
            let waits = match planned {
                Some(_) => soonest_claim_end(state, state.assignments().keys(), now),
                None => soonest_claim_end(state, partitions(state, &units), now),
            };
            if planned.is_some() {
                agenda.planned();
            }
            if let Some(end) = waits {
                agenda.note_claim(end, moment);
            }
            if let Some(Ok(plan)) = &planned {
                let outlived = plan.soonest_switch().map(ClaimEnd::Running);
                outlived.into_iter().for_each(|end| agenda.note_claim(end, moment));
                actions.extend(plan.actions.iter().cloned());
            }
            Decided { actions, planned }
        })
    }

    async fn act(&self, executor: &Executor, agenda: &mut Agenda, decided: Decided) {
        if let Some(planned) = decided.planned {
            agenda.has_more = self.report(planned);
        }
        if decided.actions.is_empty() {
            return;
        }
        let writes: Vec<Write> = decided.actions.iter().map(|action| action.write.clone()).collect();
        let fates = executor.carry_out(&writes).await;
        let reached: Vec<Option<Revision>> =
            decided.actions.iter().zip(&fates).map(|(action, fate)| self.note_fate(action, fate)).collect();
        if reached.contains(&None) {
            // Somebody else was first, or nobody knows: look at everything again once the view has moved on.
            agenda.note_everything(self.clock.now() + RETRY);
        }
        if decided.actions.iter().any(|action| matches!(action.step, Step::Cancel { .. })) {
            agenda.note_cancelled(self.clock.now());
        }
        let reached = reached.into_iter().flatten().max().unwrap_or_default();
        // Its own writes are part of what the next pass looks at.
        if let Err(error) = self.group.reach(reached, self.options.view_patience).await {
            tracing::debug!(group = %self.group.name(), %error, "the view is late");
        }
    }

    fn report(&self, planned: Result<Plan, NoPlan>) -> bool {
        match planned {
            Ok(plan) => {
                self.metrics.deferred(self.group.name(), &plan.deferred);
                waits_for_room(&plan)
            }
            Err(error) => {
                tracing::warn!(group = %self.group.name(), %error, "not planning: everything stays as it is");
                false
            }
        }
    }

    /// The revision since which an action is durable; `None` where it is not, as far as anybody knows.
    fn note_fate(&self, action: &Action, fate: &Fate) -> Option<Revision> {
        match fate {
            Fate::Applied(revision) => {
                self.note_applied(action);
                Some(*revision)
            }
            Fate::Outdated => None,
            Fate::Failed(error) => {
                let step = action.step.label();
                tracing::debug!(group = %self.group.name(), step, %error, "write failed");
                None
            }
        }
    }

    fn note_applied(&self, action: &Action) {
        self.metrics.step(self.group.name(), action);
        let (group, step, unit) =
            (self.group.name(), &action.step, action.unit.first().map(ToString::to_string));
        match step {
            Step::Cancel { .. } | Step::EndSession { .. } | Step::EndRouter { .. } | Step::Grant { .. } => {
                tracing::info!(%group, unit, %step, "step");
            }
            _ => tracing::debug!(%group, unit, %step, "step"),
        }
    }
}

/// Takes in what was touched, shows it, and returns the units that may have a next step.
fn look(agenda: &mut Agenda, state: &GroupState, now: Moment, phases: &Phases) -> BTreeSet<TopicPartition> {
    if std::mem::take(&mut agenda.everything) {
        agenda.touched = Touched::default();
        agenda.memory.recall(state, now);
        let named = named_leases(state);
        agenda.memory.forget_leases(|lease| named.contains(&lease));
        phases.show(&agenda.memory);
        return state.handoffs().keys().cloned().collect();
    }
    agenda.memory.observe(state, &agenda.touched, now);
    let units = agenda.units(state, now);
    let extended: Vec<_> =
        agenda.touched.progress.iter().flat_map(|name| units_in_progress(state, name)).collect();
    phases.show_some(&agenda.memory, units.iter().chain(&extended));
    agenda.touched = Touched::default();
    units
}

/// The partitions of `units`.
fn partitions<'a>(
    state: &'a GroupState,
    units: &'a BTreeSet<TopicPartition>,
) -> impl Iterator<Item = &'a TopicPartition> {
    units.iter().flat_map(|lead| match state.handoff(lead) {
        Some(handoff) => handoff.unit.iter(),
        None => std::slice::from_ref(lead).iter(),
    })
}

/// The leases of all owners.
fn named_leases(state: &GroupState) -> BTreeSet<LeaseId> {
    let assignments = state.assignments().values().filter_map(Entry::last_good);
    assignments.filter_map(|assignment| Some(assignment.owner.as_ref()?.lease)).collect()
}

/// Whether `plan` leaves something out that ending handoffs make room for.
fn waits_for_room(plan: &Plan) -> bool {
    plan.deferred.iter().any(|deferral| deferral.why.is_for_room())
}

#[cfg(test)]
mod tests {
    use kafka_assigner_core::lab::{Lab, tp};
    use kafka_assigner_core::plan::Deferral;
    use kafka_assigner_core::reason::DeferReason;

    use super::*;

    fn plan_without(reasons: impl IntoIterator<Item = DeferReason>) -> Plan {
        let deferral = |why| Deferral { unit: Vec::new(), to: None, why };
        let deferred = reasons.into_iter().map(deferral).collect();
        Plan { revision: Revision(1), strategy: String::new(), actions: Vec::new(), deferred }
    }

    #[test]
    fn an_ending_handoff_calls_for_a_plan_only_where_something_waits_for_its_room() {
        let nobody = DeferReason::NobodyMay { because: "nobody reads it".to_owned() };
        let failed = DeferReason::FailedLately { consumer: "c".parse().unwrap() };
        assert!(!waits_for_room(&plan_without([nobody.clone(), failed])));
        let rooms = [
            DeferReason::MovesInFlight { limit: 1 },
            DeferReason::Warming { consumer: "c".parse().unwrap(), limit: 1 },
            DeferReason::HandoffEnding,
        ];
        for room in rooms {
            assert!(waits_for_room(&plan_without([nobody.clone(), room])));
        }
    }

    #[test]
    fn a_deadline_that_progress_moves_on_is_shown_by_the_look_that_takes_it_in() {
        let mut lab = Lab::with_topics(&[("t", 2)]);
        lab.join("a");
        lab.settle();
        let b = lab.join("b");
        lab.pass();
        let handoff = lab.state.handoff(&tp("t", 1)).unwrap().clone();
        let (phases, mut agenda) = (Phases::default(), Agenda::new(lab.moment));
        look(&mut agenda, &lab.state, lab.moment, &phases);
        lab.later(Duration::from_secs(100));
        let left = |lab: &Lab| phases.time(&handoff, lab.moment).unwrap().left.as_secs();
        assert_eq!(left(&lab), 200);
        lab.report(&b, handoff.lead(), 1);
        agenda.touched.progress.insert(b.name);
        assert!(look(&mut agenda, &lab.state, lab.moment, &phases).is_empty());
        assert_eq!(left(&lab), 300);
    }
}
