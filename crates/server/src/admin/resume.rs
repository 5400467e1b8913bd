//! Lets partitions go on that stand.

use kafka_assigner_core::stops::{NotResumed, Resumption, resume};
use kafka_assigner_proto::v1::{ResumePartitionRequest, ResumePartitionResponse};
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_types::id::TopicPartition;
use tonic::Status;

use super::explain::known;
use super::service::{ATTEMPTS, AdminService, kept, lost_race};
use super::show;
use crate::convert;
use crate::group::ServedGroup;

impl AdminService {
    /// Records that a partition is to go on; the group's leader then grants it. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn resume_partition(
        &self,
        request: ResumePartitionRequest,
    ) -> Result<ResumePartitionResponse, Status> {
        let at = convert::partition(&request.topic, request.partition)?;
        for _ in 0..ATTEMPTS {
            let group = self.current(&request.group).await?;
            let Resumption { stop, write } = group.read(|state| {
                known(state, &at)?;
                resume(state, &at, request.skip).map_err(|why| refused(&at, &why))
            })?;
            let applied = match write {
                Some(write) => self.instance.change(&group, write.unfenced()).await?,
                None => true,
            };
            if applied {
                note(&group, &at, &request);
                return Ok(ResumePartitionResponse { stopped: Some(show::standstill(&stop)) });
            }
        }
        Err(lost_race(&format!("the assignment of {at}")))
    }
}

fn note(group: &ServedGroup, at: &TopicPartition, request: &ResumePartitionRequest) {
    let (skip, reason) = (request.skip, kept(&request.reason));
    tracing::info!(group = %group.name(), partition = %at, skip, reason, "resumed by an operator");
}

fn refused(at: &TopicPartition, why: &NotResumed) -> Status {
    let reason = match why {
        NotResumed::NotStopped => Reason::PartitionNotStopped,
        NotResumed::NotBegun { .. } => Reason::StateNotBuilt,
        NotResumed::NotARecord { .. } => Reason::NoFailedRecord,
        NotResumed::Unreadable { .. } => Reason::RecordUnreadable,
    };
    status(reason, format!("partition {at} can't be resumed: {why}"))
}
