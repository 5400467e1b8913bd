//! `explain`.

use clap::Args;
use kafka_assigner_proto::v1;

use super::arguments::PartitionOf;
use crate::admin::{Admin, Operation, TypedNames};
use crate::command_error::CommandError;
use crate::reports::Explanation;

/// Explains one partition.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    of: PartitionOf,
}

impl Operation for Explain {
    type Report = Explanation;

    fn names(&self) -> TypedNames {
        self.of.of.names()
    }

    async fn perform(self, admin: &Admin) -> Result<Explanation, CommandError> {
        let PartitionOf { of, partition } = self.of;
        let request = v1::ExplainRequest { group: of.of.group, topic: of.topic, partition };
        Ok(admin.ask(admin.client().explain(request)).await?.into())
    }
}
