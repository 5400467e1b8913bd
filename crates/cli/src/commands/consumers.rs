//! `consumers`.

use clap::Args;
use kafka_assigner_proto::v1;

use super::arguments::GroupArgument;
use crate::admin::{Admin, Operation};
use crate::command_error::CommandError;
use crate::reports::ConsumerList;

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
