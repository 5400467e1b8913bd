//! Shows who owns what.

use kafka_assigner_core::counts::partitions;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_proto::v1::{ListAssignmentsRequest, ListAssignmentsResponse};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::name::{InvalidName, MemberName, TopicName};
use tonic::Status;

use super::page::PageRequest;
use super::service::AdminService;
use super::show;
use crate::refusal;

/// The partitions that are asked for.
struct Filter {
    topic: Option<TopicName>,
    consumer: Option<MemberName>,
}

impl Filter {
    fn new(request: &ListAssignmentsRequest) -> Result<Self, Status> {
        Ok(Self {
            topic: given(&request.topic, TopicName::new)?,
            consumer: given(&request.consumer, MemberName::new)?,
        })
    }

    fn takes(&self, state: &GroupState, at: &TopicPartition) -> bool {
        self.topic.as_ref().is_none_or(|topic| at.topic == *topic)
            && self.consumer.as_ref().is_none_or(|consumer| show::owner(state, at) == Some(consumer))
    }
}

/// The name, where one is given.
fn given<N>(text: &str, name: impl FnOnce(&str) -> Result<N, InvalidName>) -> Result<Option<N>, Status> {
    if text.is_empty() { Ok(None) } else { name(text).map(Some).map_err(|e| refusal::name(&e)) }
}

impl AdminService {
    /// A page of the group's partitions with their owners. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn list_assignments(
        &self,
        request: ListAssignmentsRequest,
    ) -> Result<ListAssignmentsResponse, Status> {
        let filter = Filter::new(&request)?;
        let page = PageRequest::new(request.page_size, request.page_token)?;
        let from = page.partitions()?;
        let group = self.group(&request.group).await?;
        let (assignments, next_page_token) = group.read(|state| {
            let taken = partitions(state, from.as_ref()).filter(|at| filter.takes(state, at));
            page.cut(taken.map(|at| (at.to_string(), show::assignment(state, &at))))
        });
        Ok(ListAssignmentsResponse { assignments, next_page_token })
    }
}
