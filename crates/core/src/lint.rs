//! A lint pass over what a leader has decided: the invariants that a pass would break if it were written.
//!
//! ```text
//!  state ─► each action's write, applied alone ─► [effect] ─► grants, handoffs, targets, guards ─┐
//!  state, all actions of the plan ──────────────► [outlook] ─────────────────────────────────────┴─► violations
//! ```
//!
//! The rules that decide and the invariants here are written independently of each other: these look at records and
//! guards alone, whatever step wrote them. The server has its leaders' passes linted in debug builds
//! ([`Leader::lint`](crate::leader::Leader::lint)) and logs violations; the simulation asks for the same in
//! release builds. Production lints nothing.

mod effect;
mod grants;
mod guards;
mod handoffs;
mod invariant;
mod outlook;
mod targets;

use std::fmt;

use crate::action::{Action, Step};
use crate::leader::{LeaderContext, Pass};
use crate::state::GroupState;
use effect::Effect;
use kafka_assigner_types::id::TopicPartition;
use outlook::Outlook;

pub use invariant::Invariant;

/// An invariant that a decision breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The invariant.
    pub invariant: Invariant,
    /// The step that breaks it; `None` where only the whole plan does.
    pub step: Option<Step>,
    /// The partitions of that step; empty where only the whole plan breaks it.
    pub unit: Vec<TopicPartition>,
    /// The values that contradict the invariant, for people.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ({}): {}", self.invariant, self.invariant, self.detail)?;
        match &self.step {
            Some(step) => write!(f, "; in the step: {step}"),
            None => Ok(()),
        }
    }
}

/// The violations of `pass`, which was decided on `state` with the knowledge of `context`: those of each action by
/// itself, in their order, then those of its plan as a whole. Each invariant is told once for an action.
#[must_use]
pub fn lint(state: &GroupState, pass: &Pass, context: LeaderContext<'_>) -> Vec<Violation> {
    let of_actions = pass.actions().flat_map(|action| lint_action(state, action, context));
    let of_plan = pass.plan.iter().flatten().flat_map(|plan| Outlook::new(state, plan).broken());
    let of_plan =
        of_plan.map(|(invariant, detail)| Violation { invariant, step: None, unit: Vec::new(), detail });
    of_actions.chain(of_plan).collect()
}

fn lint_action(state: &GroupState, action: &Action, context: LeaderContext<'_>) -> Vec<Violation> {
    let effect = Effect::of(state, action, context);
    let checks = [grants::CHECKS, handoffs::CHECKS, targets::CHECKS, guards::CHECKS];
    let broken = checks.into_iter().flatten().filter_map(|(invariant, check)| {
        let detail = check(&effect)?;
        let (step, unit) = (Some(action.step.clone()), action.unit.clone());
        Some(Violation { invariant: *invariant, step, unit, detail })
    });
    broken.collect()
}

/// An invariant of an action, with the search for values that contradict it.
type Check = (Invariant, fn(&Effect<'_>) -> Option<String>);
