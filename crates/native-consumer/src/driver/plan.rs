//! The plan of the group, where this member leads it.

use std::collections::BTreeSet;

use kafka_assigner_group_member::{ClassicEvent, GroupPlan, JoinedMember, PlanRule};

use super::Driver;
use super::answer::Answer;
use crate::group_member::MemberEvent;

/// The plan of a generation.
#[derive(Debug)]
pub(super) struct LeaderPlan {
    generation: i32,
    /// True where the broker waits for it.
    is_sent: bool,
    stage: PlanStage,
}

#[derive(Debug)]
enum PlanStage {
    /// Metadata of all members' topics is requested, with this number.
    Waiting(u64, GroupPlan),
    /// It is being made, for these topics.
    Making(BTreeSet<String>),
    /// It is made; newer metadata is compared with it.
    Made(GroupPlan),
}

impl Driver {
    pub(super) fn begin_plan(
        &mut self,
        generation: i32,
        strategy: &str,
        members: Vec<JoinedMember>,
        is_sent: bool,
    ) {
        match PlanRule::of_name(strategy) {
            Ok(rule) => {
                let stage = PlanStage::Waiting(self.metadata.request(), GroupPlan::new(rule, members));
                self.plan = Some(LeaderPlan { generation, is_sent, stage });
            }
            Err(error) => {
                // The group uses a strategy that was offered, and none is offered without a rule.
                tracing::error!(%error, "no plan can be made");
                let planned = ClassicEvent::Planned { generation, plan: None };
                self.events.push_back(MemberEvent::Classic(planned));
            }
        }
    }

    /// Makes the plan, on a thread of its own, once the metadata for it has come.
    pub(super) fn serve_plan(&mut self) {
        let Some(plan) = &mut self.plan else { return };
        let PlanStage::Waiting(request, waiting) = &plan.stage else { return };
        if !self.metadata.has_fulfilled(*request) {
            return;
        }
        let (topics, mut making, generation) = (waiting.topics(), waiting.clone(), plan.generation);
        let facts = self.topology.facts(&topics);
        plan.stage = PlanStage::Making(topics);
        self.tasks.spawn_blocking(move || {
            let parts = making.make(facts);
            let parts = parts.inspect_err(|error| tracing::error!(%error, "no plan can be made")).ok();
            Answer::Planned(generation, making, parts)
        });
    }

    pub(super) fn planned(
        &mut self,
        generation: i32,
        made: GroupPlan,
        parts: Option<Vec<(String, Vec<u8>)>>,
    ) {
        let Some(plan) = self.plan.as_mut().filter(|plan| plan.generation == generation) else { return };
        plan.stage = PlanStage::Made(made);
        if plan.is_sent {
            let planned = ClassicEvent::Planned { generation, plan: parts };
            self.events.push_back(MemberEvent::Classic(planned));
        }
        self.compare_plan();
    }

    /// The topics of all members, whose metadata the leader needs and watches.
    pub(super) fn planned_topics(&self) -> BTreeSet<String> {
        match self.plan.as_ref().map(|plan| &plan.stage) {
            Some(PlanStage::Waiting(_, plan) | PlanStage::Made(plan)) => plan.topics(),
            Some(PlanStage::Making(topics)) => topics.clone(),
            None => BTreeSet::new(),
        }
    }

    /// Metadata that calls for another plan makes the member join again. The old plan has had its say then.
    pub(super) fn compare_plan(&mut self) {
        let Some(LeaderPlan { stage: PlanStage::Made(made), .. }) = &self.plan else { return };
        if made.is_outdated(&self.topology.facts(&made.topics())) {
            self.plan = None;
            self.events.push_back(MemberEvent::Classic(ClassicEvent::MetadataChanged));
        }
    }
}
