//! The group that a request names.

use kafka_assigner_proto::DEFAULT_GROUP;
use kafka_assigner_types::name::GroupName;
use tonic::Status;

use crate::refusal;

/// The group that a request names; an empty name is the default group.
pub(crate) fn group_name(name: &str) -> Result<GroupName, Status> {
    GroupName::new(if name.is_empty() { DEFAULT_GROUP } else { name }).map_err(|e| refusal::name(&e))
}
