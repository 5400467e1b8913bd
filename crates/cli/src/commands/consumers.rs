//! `consumers` and `consumer end`.

use clap::Args;
use kafka_assigner_proto::v1;

use super::arguments::{ConsumerOf, GroupArgument};
use super::confirm::ConfirmationFlag;
use crate::admin::{Admin, Operation};
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

    fn group(&self) -> Option<&str> {
        Some(&self.of.group)
    }

    async fn perform(self, admin: &Admin) -> Result<ConsumerList, CommandError> {
        let consumers = all(admin, &self.of.group).await?.into_iter().map(Into::into).collect();
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

    fn group(&self) -> Option<&str> {
        Some(&self.of.of.group)
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

/// All consumers of a group.
///
/// # Errors
/// [`CommandError`].
pub(super) async fn all(admin: &Admin, group: &str) -> Result<Vec<v1::Consumer>, CommandError> {
    let page = async |page_token| {
        let request = v1::ListConsumersRequest { group: group.to_owned(), page_token, page_size: 0 };
        let answer = admin.ask(admin.client().list_consumers(request)).await?;
        Ok((answer.consumers, answer.next_page_token))
    };
    admin.pages(page).await
}
