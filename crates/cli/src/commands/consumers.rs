//! `consumers` and `consumer end`.

use clap::Args;
use kafka_assigner_proto::v1;

use super::arguments::{ConsumerOf, GroupArgument};
use super::confirm::ConfirmationFlag;
use crate::admin::{Admin, Operation, TypedNames};
use crate::command_error::CommandError;
use crate::reports::{ConsumerEnded, ConsumerList};

/// Lists the consumers of a group.
#[derive(Debug, Args)]
pub(crate) struct ListConsumers {
    #[command(flatten)]
    of: GroupArgument,
}

impl Operation for ListConsumers {
    type Report = ConsumerList;

    fn names(&self) -> TypedNames {
        self.of.names()
    }

    async fn perform(self, admin: &Admin) -> Result<ConsumerList, CommandError> {
        let consumers = admin.consumers(&self.of.group).await?.into_iter().map(Into::into).collect();
        Ok(ConsumerList { consumers })
    }
}

/// Ends the session of a consumer.
#[derive(Debug, Args)]
pub(crate) struct EndConsumer {
    #[command(flatten)]
    of: ConsumerOf,
    /// Only if this is its session
    #[arg(long, value_name = "ID")]
    incarnation: Option<String>,
    /// The reason, kept in the log of the instance
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    confirmation: ConfirmationFlag,
}

impl Operation for EndConsumer {
    type Report = ConsumerEnded;

    fn names(&self) -> TypedNames {
        self.of.names()
    }

    async fn perform(self, admin: &Admin) -> Result<ConsumerEnded, CommandError> {
        let (group, consumer) = (self.of.of.group, self.of.consumer);
        self.confirmation.get(&format!(
            "end the session of consumer {consumer} of group {group} (its partitions go to others)"
        ))?;
        let request = v1::EndConsumerRequest {
            group: group.clone(),
            consumer: consumer.clone(),
            incarnation: self.incarnation.unwrap_or_default(),
            reason: self.reason.unwrap_or_default(),
        };
        let incarnation = admin.ask(admin.client().end_consumer(request)).await?.incarnation;
        Ok(ConsumerEnded { group, consumer, incarnation })
    }
}
