//! `resume`.

use clap::Args;
use kafka_assigner_proto::v1;

use super::arguments::PartitionOf;
use crate::admin::{Admin, Operation, TypedNames};
use crate::command_error::CommandError;
use crate::reports::Resumed;

/// Lets a partition go on that stands before a record.
#[derive(Debug, Args)]
pub(crate) struct Resume {
    #[command(flatten)]
    of: PartitionOf,
    /// Pass the record over; without it, the record is tried again
    #[arg(long)]
    skip: bool,
    /// The reason, kept in the log of the instance
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Operation for Resume {
    type Report = Resumed;

    fn names(&self) -> TypedNames {
        self.of.of.names()
    }

    async fn perform(self, admin: &Admin) -> Result<Resumed, CommandError> {
        let PartitionOf { of, partition } = self.of;
        let (group, topic, skip) = (of.of.group, of.topic, self.skip);
        let request = v1::ResumePartitionRequest {
            group: group.clone(),
            topic: topic.clone(),
            partition,
            skip,
            reason: self.reason.unwrap_or_default(),
        };
        let answer = admin.ask(admin.client().resume_partition(request)).await?;
        let stopped =
            answer.stopped.ok_or_else(|| admin.nonsense("a partition was resumed that does not stand"))?;
        Ok(Resumed { group, topic, partition, skip, offset: stopped.offset })
    }
}
