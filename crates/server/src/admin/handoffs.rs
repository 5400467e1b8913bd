//! Shows the moves under way.

use std::ops::Bound;

use kafka_assigner_proto::v1::{ListHandoffsRequest, ListHandoffsResponse};
use tonic::Status;

use super::page::PageRequest;
use super::service::AdminService;
use super::show;

impl AdminService {
    /// A page of the group's handoffs, one entry for each partition. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn list_handoffs(&self, request: ListHandoffsRequest) -> Result<ListHandoffsResponse, Status> {
        let page = PageRequest::new(request.page_size, request.page_token)?;
        let from = page.partitions()?.map_or(Bound::Unbounded, Bound::Included);
        let group = self.group(&request.group).await?;
        let now = self.instance.clock().now();
        let (handoffs, next_page_token) = group.read(|state| {
            let on_the_move = state.handoffs().range((from, Bound::Unbounded));
            page.cut(on_the_move.filter_map(|(at, _)| {
                let handoff = state.handoff_of(at)?;
                let time = group.phases().time(handoff, now);
                Some((at.to_string(), show::handoff(state, handoff, at, time)))
            }))
        });
        Ok(ListHandoffsResponse { handoffs, next_page_token })
    }
}
