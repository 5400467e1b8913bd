//! Shows what would be done.

use std::collections::BTreeMap;

use kafka_assigner_core::action::{Action, Step};
use kafka_assigner_core::claim::{self, Leases};
use kafka_assigner_core::leader::{Leader, StepInputs};
use kafka_assigner_core::plan::{Deferral, NoPlan, Plan, WhatIf};
use kafka_assigner_core::record::Handoff;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_proto::v1::{
    ConsumerLoad, PlanRequest, PlanResponse, PlannedDeferral, PlannedMove, PlannedStep,
};
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::name::MemberName;
use tonic::Status;

use super::page::fitting;
use super::service::AdminService;
use super::show;
use crate::convert::wire_partition;
use crate::group::ServedGroup;
use crate::refusal::{self, describe};
use crate::{background, leases};

impl AdminService {
    /// Plans as the leader would now, or under other circumstances; nothing of it is done. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn plan(&self, request: PlanRequest) -> Result<PlanResponse, Status> {
        let what_if = what_if(&request)?;
        let group = self.group(&request.group).await?;
        let leases = self.leases(&group).await;
        let state = group.snapshot();
        if let Some(unknown) = what_if.without.iter().find(|name| !state.consumers().contains_key(*name)) {
            let message = format!("no consumer {unknown} is registered in group {}", group.name());
            return Err(status(Reason::ConsumerNotFound, message));
        }
        let plan = self.planned((&group, &state), leases, what_if).await?.map_err(|e| no_plan(&e))?;
        Ok(response(&state, &plan))
    }

    /// The store's answers about the claims that keep a plan from doing anything; to be asked before the group is read.
    pub(super) async fn leases(&self, group: &ServedGroup) -> Leases {
        let state = group.snapshot();
        let doubtful = claim::doubtful(&state, state.assignments().keys());
        leases::ask(&**self.instance.store(), &doubtful, self.instance.entropy().number()).await
    }

    /// The plan of a leader that has just begun: it has not yet waited for anybody, and knows which sessions were taken over
    /// where this instance leads the group. It is made on a copy of the group, so that nobody who reads the view waits for it.
    ///
    /// # Errors
    /// Where the instance stops before.
    pub(super) async fn planned(
        &self,
        (group, state): (&ServedGroup, &GroupState),
        leases: Leases,
        what_if: WhatIf,
    ) -> Result<Result<Plan, NoPlan>, Status> {
        let deaths = group.phases().deaths();
        let (instance, state, is_long) = (self.instance.clone(), state.clone(), background::is_large(state));
        let plan = move || {
            let (moment, options) = (instance.clock().now(), instance.options());
            let inputs = StepInputs {
                moment,
                wall: options.wall.now(),
                nonce: instance.entropy().number(),
                strategies: &options.strategies,
            };
            let leader = Leader::having_seen(&state, moment).having_seen_marks(inputs.wall);
            let leader = leader.remembering(deaths);
            leader.preview(&state, &leases, inputs, &what_if)
        };
        let planned = background::run(is_long, plan).await;
        planned.ok_or_else(|| status(Reason::ShuttingDown, "the instance stops"))
    }
}

fn what_if(request: &PlanRequest) -> Result<WhatIf, Status> {
    let names = request.without_consumers.iter().map(|name| MemberName::new(name));
    let without = names.collect::<Result<_, _>>().map_err(|e| refusal::name(&e))?;
    let strategy = (!request.strategy.is_empty()).then(|| request.strategy.clone());
    Ok(WhatIf { without, strategy })
}

fn no_plan(error: &NoPlan) -> Status {
    let reason = match error {
        NoPlan::UnreadableConfig => Reason::RecordUnreadable,
        NoPlan::UnknownStrategy(_) => Reason::InvalidField,
        NoPlan::Invalid(_) | NoPlan::Panicked { .. } => Reason::Internal,
    };
    status(reason, describe(error))
}

fn response(state: &GroupState, plan: &Plan) -> PlanResponse {
    let moves: BTreeMap<&TopicPartition, PlannedMove> =
        plan.actions.iter().flat_map(|action| moves(state, action)).collect();
    let deferred: BTreeMap<&TopicPartition, PlannedDeferral> =
        plan.deferred.iter().flat_map(deferrals).collect();
    PlanResponse {
        revision: plan.revision.0,
        strategy: plan.strategy.clone(),
        loads: loads(state, &moves),
        total_moves: show::count(moves.len()),
        total_deferred: show::count(deferred.len()),
        moves: fitting(moves.into_values()),
        deferred: fitting(deferred.into_values()),
    }
}

/// The meaning of an action for each of its partitions; nothing for one that only tidies up.
fn moves<'a>(
    state: &GroupState,
    action: &'a Action,
) -> impl Iterator<Item = (&'a TopicPartition, PlannedMove)> {
    action.unit.iter().filter_map(|at| Some((at, planned_move(state, action, at)?)))
}

/// The meaning of an action for one of its partitions; `None` where it changes nothing of who owns it.
pub(super) fn planned_move(state: &GroupState, action: &Action, at: &TopicPartition) -> Option<PlannedMove> {
    let (step, to, why) = match &action.step {
        Step::Grant { to, why, .. } => (PlannedStep::Grant, to.name.to_string(), why.to_string()),
        Step::Begin { to, why, .. } => (PlannedStep::Handoff, to.name.to_string(), why.to_string()),
        Step::Forget => (PlannedStep::Forget, String::new(), "its topic is gone".to_owned()),
        _ => return None,
    };
    Some(PlannedMove {
        topic: at.topic.to_string(),
        partition: wire_partition(at.partition),
        from: show::owner(state, at).map(ToString::to_string).unwrap_or_default(),
        to,
        step: step.into(),
        why,
    })
}

fn deferrals(deferral: &Deferral) -> impl Iterator<Item = (&TopicPartition, PlannedDeferral)> {
    deferral.unit.iter().map(|at| {
        let planned = PlannedDeferral {
            topic: at.topic.to_string(),
            partition: wire_partition(at.partition),
            to: deferral.to.as_ref().map(ToString::to_string).unwrap_or_default(),
            reason: deferral.why.label().to_owned(),
            why: deferral.why.to_string(),
        };
        (at, planned)
    })
}

/// The number of partitions that each consumer owns now, and once the moves under way and the planned ones went
/// through.
fn loads(state: &GroupState, moves: &BTreeMap<&TopicPartition, PlannedMove>) -> Vec<ConsumerLoad> {
    let mut loads: BTreeMap<String, (u32, u32)> =
        state.consumers().keys().map(|name| (name.to_string(), (0, 0))).collect();
    for at in state.assignments().keys() {
        if let Some(owner) = show::owner(state, at) {
            loads.entry(owner.to_string()).or_default().0 += 1;
        }
        if !moves.contains_key(at)
            && let Some(owner) = destination(state, at)
        {
            loads.entry(owner.to_string()).or_default().1 += 1;
        }
    }
    for planned in moves.values().filter(|planned| !planned.to.is_empty()) {
        loads.entry(planned.to.clone()).or_default().1 += 1;
    }
    let loads = loads.into_iter();
    loads.map(|(consumer, (before, after))| ConsumerLoad { consumer, before, after }).collect()
}

/// The owner of the partition once its move under way went through.
fn destination<'s>(state: &'s GroupState, at: &TopicPartition) -> Option<&'s MemberName> {
    let moves = |handoff: &&Handoff| handoff.phase.is_in_flight() && !state.leaves_open(handoff);
    let moving = state.handoff_of(at).filter(moves);
    moving.map(|handoff| &handoff.new.name).or_else(|| show::owner(state, at))
}
