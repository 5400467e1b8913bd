//! Shows groups.

use kafka_assigner_core::counts::counts;
use kafka_assigner_core::plan::unreadable_settings;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_proto::v1::{
    DescribeGroupRequest, DescribeGroupResponse, GetLeaderRequest, GetLeaderResponse, GroupSummary,
    ListGroupsRequest, ListGroupsResponse,
};
use kafka_assigner_types::name::GroupName;
use tonic::{Code, Status};

use super::page::PageRequest;
use super::service::AdminService;
use super::show;

/// The most unreadable records that one answer names.
const MOST_UNREADABLE: usize = 100;

impl AdminService {
    /// A page of the groups that are `shown` to the caller, each in one line. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn list_groups(
        &self,
        request: ListGroupsRequest,
        shown: impl Fn(&GroupName) -> bool,
    ) -> Result<ListGroupsResponse, Status> {
        let page = PageRequest::new(request.page_size, request.page_token)?;
        // The names are judged on a copy: that may take long, and every call reads the directory.
        let after: Vec<GroupName> = self
            .instance
            .directory()
            .read(|directory, _| directory.groups().range::<str, _>(page.bounds()).cloned().collect());
        let names: Vec<GroupName> = after.into_iter().filter(shown).take(page.reach()).collect();
        // A group that goes meanwhile must not make the list look complete.
        let goes_on = names.len() == page.reach();
        let last = names.iter().rev().nth(1).filter(|_| goes_on).map(ToString::to_string);
        let mut summaries = Vec::with_capacity(names.len());
        for name in names {
            summaries.extend(self.summary(&name).await?.map(|summary| (name.to_string(), summary)));
        }
        let (groups, next) = page.cut(summaries.into_iter());
        let next_page_token = if next.is_empty() { last.unwrap_or_default() } else { next };
        Ok(ListGroupsResponse { groups, next_page_token })
    }

    /// The group in one line; `None` where it was deleted meanwhile.
    async fn summary(&self, name: &GroupName) -> Result<Option<GroupSummary>, Status> {
        match self.instance.group(name).await {
            Ok(group) => {
                let state = group.snapshot();
                Ok(Some(show::summary(&state, &counts(&state))))
            }
            Err(gone) if gone.code() == Code::NotFound => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// One group. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn describe_group(
        &self,
        request: DescribeGroupRequest,
    ) -> Result<DescribeGroupResponse, Status> {
        let group = self.group(&request.group).await?;
        let cluster_id = group.cluster_id().to_owned();
        let state = group.snapshot();
        let counted = counts(&state);
        Ok(DescribeGroupResponse {
            summary: Some(show::summary(&state, &counted)),
            config: Some(state.configured(show::config)),
            leader: show::leader(&state),
            revision: state.revision().0,
            cluster_id,
            unreadable: unreadable(&state),
            switching: show::count(counted.switching),
        })
    }

    /// Names the instance that leads a group. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn get_leader(&self, request: GetLeaderRequest) -> Result<GetLeaderResponse, Status> {
        let group = self.group(&request.group).await?;
        Ok(GetLeaderResponse { leader: group.read(show::leader) })
    }
}

fn unreadable(state: &GroupState) -> Vec<String> {
    let partitions = state.unreadable().iter().filter_map(|at| {
        let error = state.error_at(at)?;
        Some(format!("{at}: {error}"))
    });
    unreadable_settings(state).into_iter().chain(partitions).take(MOST_UNREADABLE).collect()
}
