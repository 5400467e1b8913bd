//! The leader's loop: look at what changed, decide, write, repeat.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::FutureExt as _;
use kafka_assigner_core::action::{Action, Step};
use kafka_assigner_core::advance::{Now, advance};
use kafka_assigner_core::claim::Leases;
use kafka_assigner_core::id::{HandoffIds, TopicPartition};
use kafka_assigner_core::kv::Revision;
use kafka_assigner_core::moment::Moment;
use kafka_assigner_core::plan::{NoPlan, Plan, WhatIf, plan};
use kafka_assigner_core::state::{GroupState, Touched};
use kafka_assigner_core::write::Write;
use kafka_assigner_store::view::Notice;

use super::Coordinator;
use super::agenda::Agenda;
use super::execute::{Executor, Fate};

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
            let decided = self.decide(&mut agenda);
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
            while let Some(notice) = updates.next().now_or_never() {
                let Some(notice) = notice else { return };
                self.take_in(&mut agenda, &notice);
            }
        }
    }

    fn take_in(&self, agenda: &mut Agenda, notice: &Notice<Touched>) {
        let now = self.clock.now();
        match notice {
            Notice::Touched(touched) => self.group.read(|state| agenda.note(state, touched, now)),
            Notice::Everything => agenda.note_everything(now),
        }
    }

    /// One look at the group: what is to be done now.
    fn decide(&self, agenda: &mut Agenda) -> Decided {
        let moment = self.clock.now();
        agenda.note_tick(moment);
        let nonce = self.entropy.number();
        self.group.read(|state| {
            let units = self.look(agenda, state, moment);
            let now = Now {
                memory: &agenda.memory,
                leases: &Leases::default(),
                moment,
                wall: self.options.wall.now(),
                strategies: &self.options.strategies,
            };
            let mut actions: Vec<Action> =
                units.iter().filter_map(|unit| advance(state, unit, now)).collect();
            let planned = agenda.wants_plan(moment).then(|| {
                self.metrics.timed_plan(|| plan(state, now, &mut HandoffIds::new(nonce), &WhatIf::default()))
            });
            if planned.is_some() {
                agenda.planned();
            }
            if let Some(Ok(plan)) = &planned {
                actions.extend(plan.actions.iter().cloned());
            }
            Decided { actions, planned }
        })
    }

    /// Takes in what was touched, and returns the units that may have a next step.
    fn look(&self, agenda: &mut Agenda, state: &GroupState, now: Moment) -> BTreeSet<TopicPartition> {
        let touched = std::mem::take(&mut agenda.touched);
        if std::mem::take(&mut agenda.everything) {
            agenda.memory.recall(state, now);
            return state.handoffs().keys().cloned().collect();
        }
        agenda.memory.observe(state, &touched, now);
        let mut units = state.driven_by(&touched);
        units.extend(agenda.memory.overdue(now).cloned());
        units
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

/// Whether `plan` leaves something out that ending handoffs make room for.
fn waits_for_room(plan: &Plan) -> bool {
    plan.deferred.iter().any(|deferral| deferral.why.is_for_room())
}

#[cfg(test)]
mod tests {
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
}
