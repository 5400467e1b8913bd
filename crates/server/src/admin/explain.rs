//! Explains one partition.

use kafka_assigner_core::explain::explain;
use kafka_assigner_core::plan::{NoPlan, Plan, WhatIf};
use kafka_assigner_core::state::{Entry, GroupState};
use kafka_assigner_proto::v1::{ExplainRequest, ExplainResponse};
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_types::id::TopicPartition;
use tonic::Status;

use super::plan::planned_move;
use super::service::AdminService;
use super::show;
use crate::convert;
use crate::group::PhaseTime;

impl AdminService {
    /// Explains why a partition is where it is, and what would be done with it. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn explain(&self, request: ExplainRequest) -> Result<ExplainResponse, Status> {
        let at = convert::partition(&request.topic, request.partition)?;
        let group = self.group(&request.group).await?;
        let leases = self.leases(&group).await;
        let now = self.instance.clock().now();
        let state = group.snapshot();
        known(&state, &at)?;
        let time = state.handoff_of(&at).and_then(|handoff| group.phases().time(handoff, now));
        let planned = self.planned((&group, &state), leases, WhatIf::default()).await?;
        Ok(response(&state, &at, time, planned.as_ref()))
    }
}

/// A partition that the group has, or of which something is left.
pub(super) fn known(state: &GroupState, at: &TopicPartition) -> Result<(), Status> {
    if state.assignments().contains_key(at) || state.handoffs().contains_key(at) {
        return Ok(());
    }
    let group = state.layout().group();
    match state.topics().get(&at.topic) {
        None => Err(status(Reason::TopicNotFound, format!("group {group} has no topic {}", at.topic))),
        Some(Entry::Readable(topic)) if at.partition >= topic.partitions => {
            let (name, has) = (&at.topic, topic.partitions);
            let message = format!("topic {name} has no partition {}: it has {has}, from 0", at.partition);
            Err(status(Reason::PartitionNotFound, message))
        }
        Some(_) => Ok(()),
    }
}

fn response(
    state: &GroupState,
    at: &TopicPartition,
    time: Option<PhaseTime>,
    planned: Result<&Plan, &NoPlan>,
) -> ExplainResponse {
    let actions = planned.map_or(&[][..], |plan| &plan.actions);
    let mut concerning = actions.iter().filter(|action| action.unit.contains(at));
    ExplainResponse {
        assignment: Some(show::assignment(state, at)),
        handoff: state.handoff_of(at).map(|handoff| show::handoff(state, handoff, at, time)),
        next: concerning.find_map(|action| planned_move(state, action, at)),
        reasons: explain(state, at, planned).iter().map(ToString::to_string).collect(),
    }
}
