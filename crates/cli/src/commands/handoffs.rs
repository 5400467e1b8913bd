//! `handoffs` and `abort`.

use clap::Args;
use kafka_assigner_proto::v1;

use super::arguments::{GroupArgument, PartitionOf};
use crate::admin::{Admin, Operation, TypedNames};
use crate::command_error::CommandError;
use crate::reports::{Aborted, Handoffs};

/// Lists the moves under way.
#[derive(Debug, Args)]
pub(crate) struct ListHandoffs {
    #[command(flatten)]
    of: GroupArgument,
}

impl Operation for ListHandoffs {
    type Report = Handoffs;

    fn names(&self) -> TypedNames {
        self.of.names()
    }

    async fn perform(self, admin: &Admin) -> Result<Handoffs, CommandError> {
        let page = async |page_token| {
            let request = v1::ListHandoffsRequest { group: self.of.group.clone(), page_token, page_size: 0 };
            let answer = admin.ask(admin.client().list_handoffs(request)).await?;
            Ok((answer.handoffs, answer.next_page_token))
        };
        let handoffs = admin.pages(page).await?.into_iter().map(Into::into).collect();
        Ok(Handoffs { handoffs })
    }
}

/// Asks for the cancellation of a move.
#[derive(Debug, Args)]
pub(crate) struct Abort {
    #[command(flatten)]
    of: PartitionOf,
    /// Only if this is the handoff under way
    #[arg(long, value_name = "ID")]
    handoff: Option<String>,
    /// The reason, shown with the cancellation
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Operation for Abort {
    type Report = Aborted;

    fn names(&self) -> TypedNames {
        self.of.of.names()
    }

    async fn perform(self, admin: &Admin) -> Result<Aborted, CommandError> {
        let PartitionOf { of, partition } = self.of;
        let (group, topic) = (of.of.group, of.topic);
        let request = v1::AbortHandoffRequest {
            group: group.clone(),
            topic: topic.clone(),
            partition,
            handoff_id: self.handoff.unwrap_or_default(),
            reason: self.reason.unwrap_or_default(),
        };
        let handoff_id = admin.ask(admin.client().abort_handoff(request)).await?.handoff_id;
        Ok(Aborted { group, topic, partition, handoff_id })
    }
}
