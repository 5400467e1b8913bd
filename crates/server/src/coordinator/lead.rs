//! The leader's loop: hear what changed, step the machine, ask and write what it says, repeat.

use std::pin::pin;
use std::sync::Arc;

use futures::FutureExt as _;
use kafka_assigner_core::action::{Action, Step};
use kafka_assigner_core::claim::Leases;
use kafka_assigner_core::leader::{EndedPhase, Leader, Pass, PassOutcome, StepInputs};
use kafka_assigner_core::lint::Violation;
use kafka_assigner_core::plan::{NoPlan, Plan};
use kafka_assigner_core::state::Touched;
use kafka_assigner_core::write::Write;
use kafka_assigner_store::view::{Listener, Notice};
use kafka_assigner_types::kv::Revision;
use kafka_assigner_types::moment::Moment;

use super::execute::{Executor, WriteOutcome};
use super::parts::Coordinator;
use crate::options::Options;
use crate::refusal::describe;
use crate::repeated_warning::RepeatedWarning;
use crate::{background, leases};

/// One term of a leader.
#[derive(Debug)]
struct Leading<'a> {
    coordinator: &'a Coordinator,
    executor: &'a Executor,
    leader: Leader,
    updates: Listener<Touched>,
    /// True if something was heard since the last step.
    has_news: bool,
    /// True if the view has stopped.
    has_stopped: bool,
    /// The warning while the group can't be planned.
    unplanned: RepeatedWarning,
    /// The warning while the store refuses writes.
    refused: RepeatedWarning,
}

/// Leads until it is dropped, or the view stops.
pub(super) async fn lead(coordinator: &Coordinator, executor: &Executor) {
    let leading = Leading {
        coordinator,
        executor,
        leader: Leader::new(coordinator.clock.now()),
        updates: coordinator.group.view().subscribe(),
        has_news: false,
        has_stopped: false,
        unplanned: RepeatedWarning::default(),
        refused: RepeatedWarning::default(),
    };
    leading.run().await;
}

impl Leading<'_> {
    async fn run(mut self) {
        let Coordinator { group, pulses, .. } = self.coordinator;
        let pulse = pulses.begin(group.name());
        while !self.has_stopped {
            pulse.beat();
            self.take_in_all();
            let Some(pass) = self.pass().await else { return };
            let wake = self.act(&pass).await;
            // Events that were heard meanwhile are looked at now; else the timer is for when nothing happens.
            if !self.has_news && !self.has_stopped {
                self.rest_until(wake).await;
            }
        }
    }

    /// A step, and where it asks the store, the step that follows from the answer. `None` once the process stops.
    async fn pass(&mut self) -> Option<Pass> {
        let pass = self.step(None).await?;
        if pass.ask.is_empty() {
            return Some(pass);
        }
        let Coordinator { store, entropy, .. } = self.coordinator;
        let said = self.while_listening(leases::ask(&**store, &pass.ask, entropy.number())).await;
        self.take_in_all();
        self.step(Some(said)).await
    }

    /// A step on the group as it stands now. Nobody waits for it: it has a copy of the group, and where it may take
    /// long, a thread of its own. `None` once the process stops.
    async fn step(&mut self, said: Option<Leases>) -> Option<Pass> {
        self.has_news = false;
        let Coordinator { group, clock, entropy, options, metrics, .. } = self.coordinator;
        let (state, moment, nonce) = (group.snapshot(), clock.now(), entropy.number());
        let is_long = self.leader.looks_at_everything(moment) && background::is_large(&state);
        let mut leader = std::mem::replace(&mut self.leader, Leader::new(moment));
        let (options, metrics) = (Arc::clone(options), metrics.clone());
        let step = move || {
            let wall = options.wall.now();
            let inputs = StepInputs { moment, wall, nonce, strategies: &options.strategies };
            let pass = metrics.timed_step(|| leader.step(&state, said.as_ref(), inputs));
            if cfg!(debug_assertions) || options.on_violation.is_some() {
                let violations = leader.lint(&state, &pass, &said.unwrap_or_default(), inputs);
                violations.iter().for_each(|violation| tell(&options, violation));
            }
            (leader, pass)
        };
        let (leader, pass) = background::run(is_long, step).await?;
        self.leader = leader;
        self.show(&pass.ended);
        Some(pass)
    }

    /// Writes what was decided, and waits until the view shows it. Returns when to step if nothing changes until then.
    async fn act(&mut self, pass: &Pass) -> Moment {
        let coordinator = self.coordinator;
        if let Some(planned) = &pass.plan {
            self.report(planned);
        }
        let actions: Vec<&Action> = pass.actions().collect();
        if actions.is_empty() {
            return pass.wake;
        }
        let writes: Vec<Write> = actions.iter().map(|action| action.write.clone()).collect();
        let fates = self.while_listening(self.executor.carry_out(&writes)).await;
        let reached: Vec<Option<Revision>> =
            actions.iter().zip(&fates).map(|(action, fate)| self.note_fate(action, fate)).collect();
        for (action, _) in actions.iter().zip(&reached).filter(|(_, reached)| reached.is_some()) {
            self.leader.note_applied(action, coordinator.clock.now());
        }
        let outcome = fates.iter().map(outcome_of).max().unwrap_or(PassOutcome::Applied);
        self.tell_refusal(&fates);
        let wake = self.leader.written(pass, outcome, coordinator.clock.now());
        let reached = reached.into_iter().flatten().max().unwrap_or_default();
        // Its own writes are part of what the next pass looks at.
        let reaching = coordinator.group.reach(reached, coordinator.options.view_patience);
        if let Err(error) = self.while_listening(reaching).await {
            tracing::debug!(group = %coordinator.group.name(), %error, "the view is late");
        }
        wake
    }

    fn report(&mut self, planned: &Result<Plan, NoPlan>) {
        let Coordinator { group, metrics, clock, .. } = self.coordinator;
        match planned {
            Ok(plan) => {
                metrics.deferred(group.name(), &plan.deferred);
                metrics.planned(group.name());
                if self.unplanned.is_over() {
                    tracing::info!(group = %group.name(), "the group is planned again");
                }
            }
            Err(why) => {
                metrics.not_planned(group.name(), why);
                let error = describe(why);
                if self.unplanned.is_due(&error, clock.now()) {
                    tracing::warn!(group = %group.name(), error, "no plan: everything in the group stays as it is");
                }
            }
        }
    }

    /// The revision since which an action is durable; `None` where it is not, as far as anybody knows.
    fn note_fate(&self, action: &Action, fate: &WriteOutcome) -> Option<Revision> {
        match fate {
            WriteOutcome::Applied(revision) => {
                self.note_applied(action);
                Some(*revision)
            }
            WriteOutcome::Outdated => None,
            WriteOutcome::Failed(error) => {
                let step = action.step.label();
                tracing::debug!(group = %self.coordinator.group.name(), step, %error, "write failed");
                None
            }
        }
    }

    /// Tells that the store refuses writes: somebody has to act.
    fn tell_refusal(&mut self, fates: &[WriteOutcome]) {
        let Coordinator { group, clock, .. } = self.coordinator;
        let refused = fates.iter().find(|fate| outcome_of(fate) == PassOutcome::Refused);
        match refused {
            Some(WriteOutcome::Failed(error)) => {
                let error = describe(error);
                if self.refused.is_due(&error, clock.now()) {
                    tracing::warn!(group = %group.name(), error, "the store refuses what the leader writes");
                }
            }
            _ => {
                if self.refused.is_over() {
                    tracing::info!(group = %group.name(), "the store takes what the leader writes again");
                }
            }
        }
    }

    fn note_applied(&self, action: &Action) {
        let Coordinator { group, metrics, .. } = self.coordinator;
        metrics.step(group.name(), action);
        let (group, step, unit) = (group.name(), &action.step, action.unit.first().map(ToString::to_string));
        match step {
            Step::Fence { member } => {
                tracing::warn!(%group, unit, %member, partitions = action.unit.len(),
                    "it never let the unit go: fenced of it, and of nothing else");
            }
            Step::Cancel { .. } | Step::EndSession { .. } | Step::Grant { .. } => {
                tracing::info!(%group, unit, %step, "step");
            }
            _ => tracing::debug!(%group, unit, %step, "step"),
        }
    }

    /// Waits until `wake`, or until something happens.
    async fn rest_until(&mut self, wake: Moment) {
        let wake = self.coordinator.clock.instant(wake);
        tokio::select! {
            biased;
            // Events come first; the timer is for when nothing happens.
            notice = self.updates.next() => self.take_in(notice),
            () = tokio::time::sleep_until(wake) => {}
        }
    }

    /// Takes in what happens while `future` runs: deadlines and the lengths of phases count from when it was heard.
    async fn while_listening<F: Future>(&mut self, future: F) -> F::Output {
        let mut future = pin!(future);
        loop {
            tokio::select! {
                biased;
                // However much happens, what is waited for comes to its end.
                output = &mut future => return output,
                notice = self.updates.next(), if !self.has_stopped => self.take_in(notice),
            }
        }
    }

    /// Takes in what has come meanwhile.
    fn take_in_all(&mut self) {
        while !self.has_stopped
            && let Some(notice) = self.updates.next().now_or_never()
        {
            self.take_in(notice);
        }
    }

    /// Takes a notice in; none comes any more once the view has stopped.
    fn take_in(&mut self, notice: Option<Notice<Touched>>) {
        let Coordinator { group, clock, metrics, .. } = self.coordinator;
        self.has_news = true;
        match notice {
            Some(Notice::Touched(touched)) => {
                metrics.moved(group.name(), &touched);
                let ended = self.leader.observe(&group.snapshot(), &touched, clock.now());
                self.show(&ended);
            }
            Some(Notice::Everything) => self.leader.observe_everything(clock.now()),
            None => self.has_stopped = true,
        }
    }

    /// Shows people the phases, and the sessions taken over, as the leader sees them.
    fn show(&self, ended: &[EndedPhase]) {
        let Coordinator { group, metrics, .. } = self.coordinator;
        group.phases().show(self.leader.memory());
        ended.iter().for_each(|ended| metrics.phase_ended(group.name(), ended));
    }
}

/// The outcome of one write as the leader takes it in.
const fn outcome_of(fate: &WriteOutcome) -> PassOutcome {
    match fate {
        WriteOutcome::Applied(_) => PassOutcome::Applied,
        WriteOutcome::Outdated => PassOutcome::Outdated,
        WriteOutcome::Failed(error) if error.is_transient() => PassOutcome::Unanswered,
        WriteOutcome::Failed(_) => PassOutcome::Refused,
    }
}

/// Tells whoever listens to violations; where nobody does, the log.
fn tell(options: &Options, violation: &Violation) {
    match &options.on_violation {
        Some(listener) => listener.hear(violation),
        None => tracing::error!(%violation, "a pass of the leader breaks an invariant"),
    }
}
