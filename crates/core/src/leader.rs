//! The leader of one group, as a machine: what it remembers, when it looks and plans, and what it decides.
//!
//! ```text
//!  a change ──────────────► observe ─► memory, agenda
//!  state, leases, time ───► step ────► ask: what is left of these leases? then step again with the answer
//!                                └───► steps, plan: to be written │ wake: when to step if nothing changes
//!  what became of writes ─► written ─► agenda
//! ```
//!
//! The server, the model check, the simulation and the tests run this machine; they differ in who carries its
//! decisions out. It is level-triggered: a step decides on the state as it stands, so a missed change costs the time
//! until the next look at everything.
//!
//! Nobody acts in an owner's place before its claim is over, and only the store knows what is left of a lease. So a
//! step that finds claims in doubt decides nothing and asks. The next one decides on the same state or a newer one:
//! who was gone at the first look is gone for good, so the answer holds for every later state.

mod agenda;
mod back_off;
mod committed_runs;
mod context;
mod deaths;
mod history_wait;
mod memory;
mod phases;
mod suspicions;
mod takeovers;
mod unbegun;
mod warm_up;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_strategies::Registry;

pub use context::LeaderContext;
pub use deaths::Deaths;
pub use memory::Memory;
pub use phases::{
    EndedPhase, PhaseSpan, busy_member, freeze_bound, hold_deadline, phase_bound, router_session,
};
pub(crate) use takeovers::{SuspectFate, Takeovers};

use crate::action::{Action, Step};
use crate::advance::advance;
use crate::claim::{self, ClaimEnd, Leases};
use crate::facts::soonest_claim_end;
use crate::lint::{Violation, lint};
use crate::plan::{NoPlan, Plan, WhatIf, plan};
use crate::reason::FenceReason;
use crate::state::{Entry, GroupState, Touched};
use agenda::Agenda;
use kafka_assigner_types::id::{HandoffIds, TopicPartition};
use kafka_assigner_types::kv::LeaseId;
use kafka_assigner_types::moment::{Moment, WallMillis};

/// The wait after a failed write before everything is looked at again: short against every deadline, long against a
/// store's answer. It doubles while the store carries nothing out.
const RETRY: Duration = Duration::from_millis(200);

/// The longest such wait while the store gives no answer: one that is back is used within 5 s.
const LONGEST_WITHOUT_ANSWER: Duration = Duration::from_secs(2);

/// The longest such wait while the store refuses: out of space, say. Somebody has to act first, and a plan each 200 ms for
/// every group would only add to its troubles.
const LONGEST_REFUSED: Duration = Duration::from_secs(30);

/// The leader of one group.
#[derive(Debug, Clone)]
pub struct Leader {
    memory: Memory,
    agenda: Agenda,
    /// The passes in a row of which the store carried something out not, or not for certain.
    failures: u32,
}

/// The outcome of the writes of a pass: the worst of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PassOutcome {
    /// All were applied, or there were none.
    Applied,
    /// Somebody else changed what one was decided on.
    Outdated,
    /// Nobody knows: the store can't be reached, or its answer was lost.
    Unanswered,
    /// The store refuses one, and would refuse it again.
    Refused,
}

/// The input of a step besides the state and the store's answers.
#[derive(Debug, Clone, Copy)]
pub struct StepInputs<'a> {
    /// The leader's monotonic clock.
    pub moment: Moment,
    /// The wall clock, for what people read.
    pub wall: WallMillis,
    /// A random number from which the ids of new handoffs are made.
    pub nonce: u64,
    /// The strategies that this instance has.
    pub strategies: &'a Registry,
}

/// The decisions of a step.
#[derive(Debug, Clone, Default)]
pub struct Pass {
    /// The leases about which the store has to be asked first, each with its time to live. Where there are any,
    /// nothing else was decided: step again with what the store said.
    pub ask: BTreeMap<LeaseId, Duration>,
    /// The next steps of handoffs, to be written before those of the plan.
    pub steps: Vec<Action>,
    /// The plan, where it was time for one.
    pub plan: Option<Result<Plan, NoPlan>>,
    /// The phases that were over when the step looked.
    pub ended: Vec<EndedPhase>,
    /// The moment of the next step if nothing changes until then.
    pub wake: Moment,
}

impl Pass {
    /// Everything that is to be written, in order.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        let planned = self.plan.iter().flatten().flat_map(|plan| &plan.actions);
        self.steps.iter().chain(planned)
    }
}

impl Leader {
    /// A leader whose term begins at `now`. Its first step looks at everything and plans.
    #[must_use]
    pub fn new(now: Moment) -> Self {
        Self::with(Memory::default(), now)
    }

    /// A leader that has seen `state` as it is since `since`, for plans that are only looked at.
    #[must_use]
    pub fn having_seen(state: &GroupState, since: Moment) -> Self {
        let mut memory = Memory::default();
        memory.recall(state, since);
        Self::with(memory, since)
    }

    /// The same leader, which has seen marks of suspects since the times that stand in them.
    #[must_use]
    pub fn having_seen_marks(mut self, wall: WallMillis) -> Self {
        self.memory.suspicions.backdate(wall);
        self
    }

    /// The same leader, which remembers `deaths` of another one's time, by the same clock.
    #[must_use]
    pub fn remembering(mut self, deaths: Arc<Deaths>) -> Self {
        self.memory.suspicions.remember(deaths);
        self
    }

    /// A leader that remembers `memory`.
    #[must_use]
    pub fn with(memory: Memory, now: Moment) -> Self {
        Self { memory, agenda: Agenda::new(now), failures: 0 }
    }

    /// The leader's memory.
    #[must_use]
    pub const fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Takes in a change that `state` shows, and returns the phases that ended with it. The next step acts on it.
    pub fn observe(&mut self, state: &GroupState, touched: &Touched, now: Moment) -> Vec<EndedPhase> {
        self.agenda.note(state, touched, now);
        let ended = self.memory.observe(state, touched, now);
        if self.memory.suspicions.take_turned() {
            self.agenda.note_turned(now);
        }
        ended
    }

    /// Notes that changes were missed: the next step looks at everything and plans.
    pub fn observe_everything(&mut self, now: Moment) {
        self.agenda.note_everything(now);
    }

    /// Takes in what the store said of leases, which a step does by itself.
    pub fn hear(&mut self, leases: &Leases, now: Moment) {
        self.memory.see_leases(leases, now);
    }

    /// True if a step at `now` looks at everything, which takes time in proportion to the group.
    #[must_use]
    pub fn looks_at_everything(&self, now: Moment) -> bool {
        self.agenda.looks_at_everything(now)
    }

    /// One look at the group: what is to be done now. `said` is what the store said of the leases that the step before
    /// asked about; `None` begins a pass.
    pub fn step(&mut self, state: &GroupState, said: Option<&Leases>, inputs: StepInputs<'_>) -> Pass {
        let now = inputs.moment;
        self.agenda.note_tick(now);
        if let Some(leases) = said {
            return self.decide(state, leases, inputs);
        }
        let mut ask = self.doubtful(state, now);
        ask.extend(self.suspects(state, now));
        match ask.is_empty() {
            true => self.decide(state, &Leases::default(), inputs),
            false => Pass { ask, wake: now, ..Pass::default() },
        }
    }

    /// Takes in what became of the writes of `pass`. Returns when to step if nothing changes until then.
    pub fn written(&mut self, pass: &Pass, outcome: PassOutcome, now: Moment) -> Moment {
        if let Some(wait) = self.wait_after(outcome) {
            // Somebody else was first, or nobody knows: look at everything again once the view has moved on.
            self.agenda.note_everything(now + wait);
        }
        if pass.actions().any(|action| matches!(action.step, Step::Cancel { .. })) {
            self.agenda.note_cancelled(now);
        }
        self.agenda.wake()
    }

    /// The wait before everything is looked at again.
    fn wait_after(&mut self, outcome: PassOutcome) -> Option<Duration> {
        let longest = match outcome {
            PassOutcome::Applied | PassOutcome::Outdated => {
                self.failures = 0;
                return (outcome == PassOutcome::Outdated).then_some(RETRY);
            }
            PassOutcome::Unanswered => LONGEST_WITHOUT_ANSWER,
            PassOutcome::Refused => LONGEST_REFUSED,
        };
        let doubled = RETRY.saturating_mul(2_u32.saturating_pow(self.failures));
        self.failures = self.failures.saturating_add(1);
        Some(doubled.min(longest))
    }

    /// Takes in that `action` of a pass was applied, whatever the view has shown of that so far.
    pub fn note_applied(&mut self, action: &Action, now: Moment) {
        if let Step::EndSession { member, why: FenceReason::Suspected } = &action.step {
            self.memory.suspicions.note_takeover(member, &action.unit, now);
        }
    }

    /// The plan that this leader would make; nothing is noted.
    ///
    /// # Errors
    /// [`NoPlan`] where nothing may be decided.
    pub fn preview(
        &self,
        state: &GroupState,
        leases: &Leases,
        inputs: StepInputs<'_>,
        what_if: &WhatIf,
    ) -> Result<Plan, NoPlan> {
        plan(state, self.context(leases, inputs), &mut HandoffIds::new(inputs.nonce), what_if)
    }

    /// The invariants that `pass` breaks: the answer of [`step`](Self::step) to `state`, `leases` and `inputs`.
    #[must_use]
    pub fn lint(
        &self,
        state: &GroupState,
        pass: &Pass,
        leases: &Leases,
        inputs: StepInputs<'_>,
    ) -> Vec<Violation> {
        lint(state, pass, self.context(leases, inputs))
    }

    const fn context<'a>(&'a self, leases: &'a Leases, inputs: StepInputs<'a>) -> LeaderContext<'a> {
        let StepInputs { moment, wall, strategies, .. } = inputs;
        LeaderContext { memory: &self.memory, moment, wall, leases, strategies }
    }

    /// The leases of the claims that are in doubt where the step looks, but for those that are known to be gone: after
    /// many deaths at once each pass would ask about all of them.
    fn doubtful(&self, state: &GroupState, now: Moment) -> BTreeMap<LeaseId, Duration> {
        let mut doubtful = match self.agenda.looks_at_everything(now) {
            true => claim::doubtful(state, state.assignments().keys()),
            false => claim::doubtful(state, partitions(state, &self.agenda.units(state, &self.memory, now))),
        };
        doubtful.retain(|lease, _| self.memory.lease_gone_since(*lease).is_none());
        doubtful
    }

    /// The leases of suspects of which a third may be left, where the step plans. What the store says of them counts for
    /// the end of their sessions only: nothing is granted on it.
    fn suspects(&mut self, state: &GroupState, now: Moment) -> BTreeMap<LeaseId, Duration> {
        let asked = match self.agenda.wants_plan(now) {
            true => self.memory.suspects_to_ask(state, now),
            false => BTreeMap::new(),
        };
        self.memory.note_asked_early(asked.keys().copied());
        asked
    }

    fn decide(&mut self, state: &GroupState, leases: &Leases, inputs: StepInputs<'_>) -> Pass {
        let now = inputs.moment;
        self.hear(leases, now);
        self.memory.suspicions.note_rests(state, leases, now);
        let (units, ended) = self.look(state, now);
        let context = self.context(leases, inputs);
        let steps = units.iter().filter_map(|unit| advance(state, unit, context)).collect();
        let planned =
            self.agenda.wants_plan(now).then(|| self.preview(state, leases, inputs, &WhatIf::default()));
        let claim_end = match planned {
            Some(_) => soonest_claim_end(state, state.assignments().keys(), context),
            None => soonest_claim_end(state, partitions(state, &units), context),
        };
        if planned.is_some() {
            let takeovers = Takeovers::of(state, context);
            self.memory.suspicions.note_plan(&takeovers, now);
        }
        self.note_waits(claim_end, planned.as_ref(), now);
        self.agenda.sleep(self.memory.next_plan(state, now), self.memory.next_deadline(now));
        Pass { ask: BTreeMap::new(), steps, plan: planned, ended, wake: self.agenda.wake() }
    }

    fn note_waits(
        &mut self,
        claim_end: Option<ClaimEnd>,
        planned: Option<&Result<Plan, NoPlan>>,
        now: Moment,
    ) {
        let outlived = planned.and_then(|plan| plan.as_ref().ok()?.soonest_switch());
        let restored = Some(self.memory.history_wait(now)).filter(|left| !left.is_zero());
        for end in claim_end.into_iter().chain(outlived.into_iter().chain(restored).map(ClaimEnd::Running)) {
            self.agenda.note_claim(end, now);
        }
        if let Some(planned) = planned {
            self.agenda.planned(planned.as_ref().is_ok_and(waits_for_room));
        }
    }

    /// The units that may have a next step, and the phases that are seen to be over.
    fn look(&mut self, state: &GroupState, now: Moment) -> (BTreeSet<TopicPartition>, Vec<EndedPhase>) {
        let looks_at_everything = self.agenda.takes_everything();
        if !looks_at_everything {
            let units = self.agenda.units(state, &self.memory, now);
            self.agenda.forget_touched();
            return (units, Vec::new());
        }
        self.agenda.forget_touched();
        let ended = self.memory.recall(state, now);
        let named = named_leases(state);
        self.memory.forget_leases(|lease| named.contains(&lease));
        (state.handoffs().keys().cloned().collect(), ended)
    }
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

/// True if `plan` leaves something out that ending handoffs make room for.
fn waits_for_room(plan: &Plan) -> bool {
    plan.deferred.iter().any(|deferral| deferral.why.is_for_room())
}

#[cfg(test)]
#[path = "leader/leader_test.rs"]
mod leader_test;
