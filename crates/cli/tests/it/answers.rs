//! The script as the Admin service.

use kafka_assigner_proto::v1::admin_server::Admin;
use kafka_assigner_proto::v1::*;
use kafka_assigner_proto::{Reason, status};
use tonic::{Request, Response, Status};

use crate::scripts::Script;

type Answer<T> = Result<Response<T>, Status>;
type Events = tokio_stream::Iter<std::vec::IntoIter<Result<WatchEvent, Status>>>;

fn answer<T>(message: T) -> Answer<T> {
    Ok(Response::new(message))
}

impl Script {
    fn group(&self, name: &str) -> Result<&GroupSummary, Status> {
        let unknown = || status(Reason::GroupNotFound, format!("group {name:?} does not exist"));
        self.groups.iter().find(|group| group.group == name).ok_or_else(unknown)
    }

    fn partition(&self, topic: &str, partition: i32) -> Result<&PartitionAssignment, Status> {
        let unknown =
            || status(Reason::PartitionNotFound, format!("topic {topic:?} has no partition {partition}"));
        let is_it = |a: &&PartitionAssignment| a.topic == topic && a.partition == partition;
        self.assignments.iter().find(is_it).ok_or_else(unknown)
    }

    fn handoff(&self, topic: &str, partition: i32) -> Option<&Handoff> {
        self.handoffs.iter().find(|h| h.topic == topic && h.partition == partition)
    }
}

#[tonic::async_trait]
impl Admin for Script {
    type WatchStream = Events;

    async fn list_groups(&self, _: Request<ListGroupsRequest>) -> Answer<ListGroupsResponse> {
        answer(ListGroupsResponse { groups: self.groups.clone(), ..Default::default() })
    }

    async fn describe_group(&self, request: Request<DescribeGroupRequest>) -> Answer<DescribeGroupResponse> {
        let summary = self.group(&request.get_ref().group)?.clone();
        answer(DescribeGroupResponse {
            summary: Some(summary),
            config: Some(self.config.clone()),
            leader: self.leader.clone(),
            revision: 210,
            cluster_id: "c0ffee".into(),
            unreadable: vec!["assignments/orders/9: a newer version".into()],
            switching: 0,
        })
    }

    async fn set_group_config(
        &self,
        request: Request<SetGroupConfigRequest>,
    ) -> Answer<SetGroupConfigResponse> {
        let request = request.into_inner();
        let wanted = request.config.unwrap_or_default();
        if wanted.session_timeout_ms.is_some_and(|ms| ms < 2_000) {
            return Err(status(
                Reason::InvalidField,
                "session_timeout_ms = 1000 is refused: it must be 2000 to 1800000",
            ));
        }
        let debounce_ms = wanted.debounce_ms.or(self.config.debounce_ms);
        let mode = wanted.mode.or_else(|| self.config.mode.clone());
        let config = GroupConfig { debounce_ms, mode, ..self.config.clone() };
        answer(SetGroupConfigResponse { config: Some(config), created: self.group(&request.group).is_err() })
    }

    async fn delete_group(&self, request: Request<DeleteGroupRequest>) -> Answer<DeleteGroupResponse> {
        match self.group(&request.get_ref().group)?.consumers {
            0 => answer(DeleteGroupResponse { records: 14 }),
            count => Err(status(Reason::GroupInUse, format!("group \"orders\" has {count} consumers"))),
        }
    }

    async fn list_topics(&self, request: Request<ListTopicsRequest>) -> Answer<ListTopicsResponse> {
        self.group(&request.get_ref().group)?;
        answer(ListTopicsResponse { topics: self.topics.clone(), ..Default::default() })
    }

    async fn set_topic(&self, request: Request<SetTopicRequest>) -> Answer<SetTopicResponse> {
        let topic = request.into_inner().topic.unwrap_or_default();
        if topic.partitions == 0 {
            return Err(status(
                Reason::KafkaNotConfigured,
                "the service has no Kafka to ask about \"returns\"",
            ));
        }
        let topic = Topic { source: TopicSource::Operator.into(), ..topic };
        answer(SetTopicResponse { topic: Some(topic), created: true })
    }

    async fn delete_topic(&self, request: Request<DeleteTopicRequest>) -> Answer<DeleteTopicResponse> {
        self.group(&request.get_ref().group)?;
        answer(DeleteTopicResponse {})
    }

    async fn list_consumers(&self, request: Request<ListConsumersRequest>) -> Answer<ListConsumersResponse> {
        self.group(&request.get_ref().group)?;
        answer(ListConsumersResponse { consumers: self.consumers.clone(), ..Default::default() })
    }

    /// In pages of two, so that the reader has to put them together.
    async fn list_assignments(
        &self,
        request: Request<ListAssignmentsRequest>,
    ) -> Answer<ListAssignmentsResponse> {
        let request = request.into_inner();
        self.group(&request.group)?;
        let wanted = |a: &&PartitionAssignment| {
            (request.topic.is_empty() || a.topic == request.topic)
                && (request.consumer.is_empty() || a.owner == request.consumer)
        };
        let from: usize = request.page_token.parse().unwrap_or_default();
        let all: Vec<_> = self.assignments.iter().filter(wanted).cloned().collect();
        let assignments: Vec<_> = all.iter().skip(from).take(2).cloned().collect();
        let next = from + assignments.len();
        let next_page_token = if next < all.len() { next.to_string() } else { String::new() };
        answer(ListAssignmentsResponse { assignments, next_page_token })
    }

    async fn list_handoffs(&self, request: Request<ListHandoffsRequest>) -> Answer<ListHandoffsResponse> {
        self.group(&request.get_ref().group)?;
        answer(ListHandoffsResponse { handoffs: self.handoffs.clone(), ..Default::default() })
    }

    async fn get_leader(&self, _: Request<GetLeaderRequest>) -> Answer<GetLeaderResponse> {
        answer(GetLeaderResponse { leader: self.leader.clone() })
    }

    async fn plan(&self, request: Request<PlanRequest>) -> Answer<PlanResponse> {
        let request = request.into_inner();
        self.group(&request.group)?;
        if let Some(name) =
            request.without_consumers.iter().find(|n| self.consumers.iter().all(|c| c.name != **n))
        {
            return Err(status(Reason::ConsumerNotFound, format!("no consumer {name:?} is registered")));
        }
        if request.strategy == "balnced" {
            return Err(status(Reason::InvalidField, "the strategy \"balnced\" is unknown to this version"));
        }
        let strategy = if request.strategy.is_empty() { "sticky-balanced".into() } else { request.strategy };
        answer(PlanResponse {
            revision: 210,
            strategy,
            moves: self.moves.clone(),
            deferred: self.deferred.clone(),
            loads: self.loads.clone(),
            total_moves: 1 + u32::try_from(self.moves.len()).unwrap_or_default(),
            total_deferred: 1,
        })
    }

    async fn explain(&self, request: Request<ExplainRequest>) -> Answer<ExplainResponse> {
        let request = request.into_inner();
        self.group(&request.group)?;
        let assignment = self.partition(&request.topic, request.partition)?.clone();
        let is_it = |m: &&PlannedMove| m.topic == request.topic && m.partition == request.partition;
        answer(ExplainResponse {
            assignment: Some(assignment),
            handoff: self.handoff(&request.topic, request.partition).cloned(),
            next: self.moves.iter().find(is_it).cloned(),
            reasons: vec!["cache-b drains, so it gives everything away".into()],
        })
    }

    async fn abort_handoff(&self, request: Request<AbortHandoffRequest>) -> Answer<AbortHandoffResponse> {
        let AbortHandoffRequest { topic, partition, .. } = request.into_inner();
        let none = || status(Reason::HandoffNotFound, format!("{topic}/{partition} does not move"));
        let handoff = self.handoff(&topic, partition).ok_or_else(none)?;
        answer(AbortHandoffResponse { handoff_id: handoff.handoff_id.clone() })
    }

    async fn resume_partition(
        &self,
        request: Request<ResumePartitionRequest>,
    ) -> Answer<ResumePartitionResponse> {
        let ResumePartitionRequest { topic, partition, .. } = request.into_inner();
        let stopped = self.partition(&topic, partition)?.stopped.clone();
        let none = || {
            let why = "it does not stand before a record";
            let message = format!("partition {topic}/{partition} can't be resumed: {why}");
            status(Reason::PartitionNotStopped, message)
        };
        answer(ResumePartitionResponse { stopped: Some(stopped.ok_or_else(none)?) })
    }

    async fn end_consumer(&self, request: Request<EndConsumerRequest>) -> Answer<EndConsumerResponse> {
        let EndConsumerRequest { group, consumer, .. } = request.into_inner();
        let none = || {
            let message = format!("no consumer {consumer} is registered in group {group}");
            status(Reason::ConsumerNotFound, message)
        };
        let found = self.consumers.iter().find(|it| it.name == consumer).ok_or_else(none)?;
        answer(EndConsumerResponse { incarnation: found.incarnation.clone() })
    }

    async fn watch(&self, request: Request<WatchRequest>) -> Answer<Events> {
        self.group(&request.get_ref().group)?;
        let events: Vec<_> = self.events.iter().cloned().map(Ok).collect();
        answer(tokio_stream::iter(events))
    }
}
