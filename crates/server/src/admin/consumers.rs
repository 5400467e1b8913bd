//! Shows consumers.

use kafka_assigner_proto::v1::{ListConsumersRequest, ListConsumersResponse};
use tonic::Status;

use super::page::PageRequest;
use super::service::AdminService;
use super::show;

impl AdminService {
    /// A page of the group's registered consumers. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn list_consumers(
        &self,
        request: ListConsumersRequest,
    ) -> Result<ListConsumersResponse, Status> {
        let page = PageRequest::new(request.page_size, request.page_token)?;
        let group = self.group(&request.group).await?;
        let (consumers, next_page_token) = group.read(|state| {
            let after = state.consumers().range::<str, _>(page.bounds());
            page.cut(after.map(|(name, entry)| (name.to_string(), show::consumer(state, name, entry))))
        });
        Ok(ListConsumersResponse { consumers, next_page_token })
    }
}
