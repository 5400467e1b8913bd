//! The difference between what is and what the strategy wants, as guarded writes with a reason each.
//!
//! ```text
//!  state ─► [problem] ─► strategy ─► placement ─► per unit: grant | begin a handoff | defer
//! ```
//!
//! A plan changes nothing. The leader carries it out, dry-run prints it, explain looks one unit up in it.

mod arrivals;
mod contained;
mod interests;
mod moves;
mod orphans;
mod problem;
mod renewals;
mod sets;
mod suspects;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kafka_assigner_strategies::{Registry, Strategy};

use crate::action::{Action, Step};
use crate::advance::forget;
use crate::draft::Draft;
use crate::facts::claim_end;
use crate::key::Key;
use crate::leader::{LeaderContext, Takeovers};
use crate::reason::DeferReason;
use crate::record::{Consumer, GroupConfig, Handoff, HandoffRecord, HistoryNote, Phase, Standing, encode};
use crate::state::{Entry, GroupState, Versioned};
use crate::stops::held;
use kafka_assigner_types::id::{HandoffIds, TopicPartition};
use kafka_assigner_types::kv::Revision;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::millis;
use kafka_assigner_types::name::MemberName;

use contained::contained;
use problem::Desired;
pub use sets::{SetTooLarge, check_sets};

/// The actions that bring ownership to the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The revision of the state that it was made on.
    pub revision: Revision,
    /// The strategy that was asked.
    pub strategy: String,
    /// The steps: first the ends of suspects' sessions, then grants before handoffs.
    pub actions: Vec<Action>,
    /// The units that were left as they are although a change is wanted.
    pub deferred: Vec<Deferral>,
}

impl Plan {
    /// After how long the first partition can be granted in the stricter mode that it should have; `None` where none
    /// waits for that.
    #[must_use]
    pub fn soonest_switch(&self) -> Option<Duration> {
        let left = |deferral: &Deferral| match deferral.why {
            DeferReason::Outlived { left_ms } => Some(Duration::from_millis(left_ms)),
            _ => None,
        };
        self.deferred.iter().filter_map(left).min()
    }
}

/// A unit that is left as it is, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deferral {
    /// The partitions.
    pub unit: Vec<TopicPartition>,
    /// The member that would get it, where that is known.
    pub to: Option<MemberName>,
    /// The reason why it has to wait.
    pub why: DeferReason,
}

/// The reason why there is no plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoPlan {
    /// The group's configuration can't be read, and no good one was ever seen.
    #[error("the group's configuration can't be read")]
    UnreadableConfig,
    /// The configured strategy is none of those that this instance has.
    #[error("the strategy {0:?} is unknown to this version")]
    UnknownStrategy(String),
    /// The strategy can't be asked about this group.
    #[error("the group can't be planned")]
    Invalid(#[source] kafka_assigner_strategies::InvalidProblem),
    /// The strategy, or the planner around it, panicked: a fault of the program.
    #[error("the strategy {strategy:?} panicked: {message}")]
    Panicked {
        /// The strategy that was asked.
        strategy: String,
        /// The message of the panic.
        message: String,
    },
}

impl NoPlan {
    /// The labels of all reasons, in no order.
    pub const LABELS: [&str; 4] = ["configuration", "unknown_strategy", "invalid", "panicked"];

    /// The reason in one word, for metrics.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::UnreadableConfig => "configuration",
            Self::UnknownStrategy(_) => "unknown_strategy",
            Self::Invalid(_) => "invalid",
            Self::Panicked { .. } => "panicked",
        }
    }
}

/// Inputs that differ from what is, for a plan that is only looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WhatIf {
    /// Consumers that are taken for draining.
    pub without: BTreeSet<MemberName>,
    /// The strategy to ask in place of the configured one.
    pub strategy: Option<String>,
}

/// Plans for the whole group. A panic of the strategy ends this plan, and nothing else.
///
/// # Errors
/// [`NoPlan`] where nothing may be decided; then everything stays as it is.
pub fn plan(
    state: &GroupState,
    context: LeaderContext<'_>,
    ids: &mut HandoffIds,
    what_if: &WhatIf,
) -> Result<Plan, NoPlan> {
    let config = state.config().ok_or(NoPlan::UnreadableConfig)?;
    let strategy = strategy(&config, context.strategies, what_if)?;
    contained(strategy.name(), || {
        // Nothing of a plan that panicked is kept but the ids that it has drawn, which nobody else draws.
        plan_by(strategy, (state, &config, context), ids, what_if)
    })
}

fn plan_by(
    strategy: &dyn Strategy,
    (state, config, context): (&GroupState, &GroupConfig, LeaderContext<'_>),
    ids: &mut HandoffIds,
    what_if: &WhatIf,
) -> Result<Plan, NoPlan> {
    let desired = problem::solve(state, context, strategy, what_if, None).map_err(NoPlan::Invalid)?;
    let mut planner = Planner::new(state, context, config, strategy.name());
    planner.take_over_suspects();
    planner.tidy();
    planner.place(&desired, ids);
    if planner.has_suspects() {
        let given = planner.given();
        let is_asked = planner.lacks_preparation(&desired.units, &given);
        // Without an answer nobody prepares, and everything else goes on.
        let ask = || problem::solve(state, context, strategy, what_if, Some(&given)).ok();
        let ahead = is_asked.then(ask).flatten();
        for unit in &desired.units {
            planner.prepare_ahead(unit, ahead.as_ref(), &given, ids);
        }
    }
    Ok(planner.plan)
}

fn strategy(
    config: &GroupConfig,
    strategies: &Registry,
    what_if: &WhatIf,
) -> Result<&'static dyn Strategy, NoPlan> {
    let name = what_if.strategy.as_ref().unwrap_or(&config.strategy);
    strategies.named(name).ok_or_else(|| NoPlan::UnknownStrategy(name.clone()))
}

struct Planner<'a> {
    state: &'a GroupState,
    context: LeaderContext<'a>,
    config: &'a GroupConfig,
    in_flight: u32,
    warming: BTreeMap<MemberName, u32>,
    /// Those of them that only prepare for the end of a session.
    warming_ahead: BTreeMap<MemberName, u32>,
    takeovers: Takeovers,
    /// Granted again by this plan: they move with the next one.
    renewed: BTreeSet<TopicPartition>,
    plan: Plan,
}

impl<'a> Planner<'a> {
    fn new(
        state: &'a GroupState,
        context: LeaderContext<'a>,
        config: &'a GroupConfig,
        strategy: &str,
    ) -> Self {
        let mut planner = Self {
            state,
            context,
            config,
            in_flight: 0,
            warming: BTreeMap::new(),
            warming_ahead: BTreeMap::new(),
            takeovers: Takeovers::of(state, context),
            renewed: BTreeSet::new(),
            plan: Plan {
                revision: state.revision(),
                strategy: strategy.to_owned(),
                actions: Vec::new(),
                deferred: Vec::new(),
            },
        };
        for handoff in state.handoffs().keys().filter_map(|at| state.handoff(at)) {
            planner.count(handoff);
        }
        planner
    }

    fn count(&mut self, handoff: &Handoff) {
        self.in_flight += u32::from(self.state.takes_a_place(handoff));
        if handoff.phase == Phase::Warming {
            let to = &handoff.new.name;
            *self.warming.entry(to.clone()).or_default() += 1;
            *self.warming_ahead.entry(to.clone()).or_default() += u32::from(handoff.is_ahead());
        }
    }

    /// Clears away what is over, in the group as a whole.
    fn tidy(&mut self) {
        self.forget_gone_topics();
        self.clear_dangling();
        self.note_history();
    }

    /// Grants what nobody works on, and moves what somebody else should have.
    fn place(&mut self, desired: &Desired, ids: &mut HandoffIds) {
        for unit in &desired.units {
            self.grant_orphans(unit, desired);
        }
        for unit in &desired.units {
            self.renew_grants(unit, ids);
        }
        for unit in &desired.units {
            self.move_rest(unit, desired, ids);
        }
    }

    /// The reason for which nobody is granted `unit`: two owners stopped before a record of it.
    fn stopped(&self, unit: &[TopicPartition]) -> Option<DeferReason> {
        let (at, stop) = held(self.state, unit)?;
        let (partition, reason) = (at.to_string(), stop.reason.clone());
        Some(DeferReason::Stopped { partition, offset: stop.offset, reason })
    }

    fn defer(&mut self, unit: &[TopicPartition], to: Option<&MemberName>, why: DeferReason) {
        self.plan.deferred.push(Deferral { unit: unit.to_vec(), to: to.cloned(), why });
    }

    /// Assignments that no topic has any more; those with a handoff are forgotten by the handoff's own rule. In the
    /// strict modes they stay while their owner may act: the topic may come back before.
    fn forget_gone_topics(&mut self) {
        for (at, entry) in self.state.assignments() {
            let is_free = entry.readable().is_some() && !self.state.handoffs().contains_key(at);
            if is_free && !self.state.exists(at) && self.nobody_may_act(at) {
                let unit = vec![at.clone()];
                let write = forget(self.state, &unit).into_write();
                self.plan.actions.push(Action { unit, step: Step::Forget, write });
            }
        }
    }

    fn nobody_may_act(&self, at: &TopicPartition) -> bool {
        let Some(assignment) = self.state.assignment(at) else { return true };
        let Some(owner) = assignment.owner.as_ref().filter(|_| assignment.mode.is_strict()) else {
            return true;
        };
        self.state.presence(&owner.member()).is_over() && claim_end(self.state, at, self.context).is_over()
    }

    /// References to a handoff that somebody else removed would keep their partitions from ever moving.
    fn clear_dangling(&mut self) {
        for at in self.state.dangling() {
            let Some(HandoffRecord::Reference(to)) = self.state.handoffs()[at].last_good() else { continue };
            let key = Key::Handoff(at.clone());
            let mut draft = Draft::on(self.state).unchanged(&key);
            draft.delete(&key);
            let step = Step::Clear { id: to.id.clone() };
            self.plan.actions.push(Action { unit: vec![at.clone()], step, write: draft.into_write() });
        }
    }

    /// The reason for which nothing is granted in `mode` after the store was put back, or an earlier group of this name was
    /// deleted: it may have an owner whom no record names.
    fn restored(&self, mode: Mode) -> Option<DeferReason> {
        let left = self.context.memory.history_wait(self.context.moment);
        let left_ms = Some(millis(left)).filter(|_| mode.is_strict() && !left.is_zero())?;
        Some(match self.state.is_of_earlier_history() {
            true => DeferReason::StoreRestored { left_ms },
            false => DeferReason::EarlierGroup { left_ms },
        })
    }

    /// Notes the store's history once no claim of an earlier one, or of an earlier group of this name, can run any more.
    fn note_history(&mut self) {
        let earlier_claims_ms = self.state.earlier_claims_ms();
        let is_due = self.context.memory.history_wait(self.context.moment).is_zero();
        if !is_due || !(self.state.is_of_earlier_history() || earlier_claims_ms > 0) {
            return;
        }
        let cluster_id = self.state.cluster().map(|cluster| cluster.id.clone()).unwrap_or_default();
        let mut draft = Draft::on(self.state).unchanged(&Key::History);
        draft.put(&Key::History, encode(&HistoryNote::new(cluster_id.as_str())));
        if earlier_claims_ms > 0 {
            draft.remove_tombstone();
        }
        let step = Step::NoteHistory { cluster_id };
        self.plan.actions.push(Action { unit: Vec::new(), step, write: draft.into_write() });
    }

    /// The registration of a consumer that takes partitions. A suspect is given nothing.
    fn active(&self, name: &MemberName) -> Option<&'a Versioned<Consumer>> {
        let takes = |consumer: &&Versioned<Consumer>| {
            consumer.standing == Standing::Active && consumer.suspicion().is_none()
        };
        self.state.registration(name).filter(takes)
    }

    /// The mode of a grant. A partition that somebody owned in `overlap` goes to another owner in that mode: nobody
    /// waits for the claims of those before. The owner is granted it again in the stricter mode once they are over. The
    /// rest of its set does not step back.
    fn mode_of_grant(&self, at: &TopicPartition, unit: &[TopicPartition]) -> Mode {
        let assignment = self.state.assignment(at).filter(|assignment| assignment.owner.is_some());
        match assignment.is_some_and(|assignment| !assignment.mode.is_strict()) {
            true => Mode::Overlap,
            false => self.state.mode_of(unit),
        }
    }
}

/// The unreadable records of the group's configuration, topics, registrations and intents, for reports; one line each.
#[must_use]
pub fn unreadable_settings(state: &GroupState) -> Vec<String> {
    let config = state.config_entry().and_then(Entry::error).map(|e| format!("config/group: {e}"));
    let topics = state
        .topics()
        .iter()
        .filter_map(|(topic, entry)| Some(format!("config/topics/{topic}: {}", entry.error()?)));
    let consumers = state
        .consumers()
        .iter()
        .filter_map(|(name, entry)| Some(format!("consumers/{name}: {}", entry.error()?)));
    let intents = state
        .intents()
        .iter()
        .filter_map(|(at, entry)| Some(format!("handoff_intents/{at}: {}", entry.error()?)));
    config.into_iter().chain(topics).chain(consumers).chain(intents).collect()
}
