//! `consumers`.

use clap::Args;
use kafka_assigner_proto::v1;

use super::Group;
use crate::admin::{Admin, Operation};
use crate::failure::Failure;
use crate::reports::Consumers;

/// Lists the consumers of a group.
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    of: Group,
}

impl Operation for List {
    type Report = Consumers;

    fn group(&self) -> Option<&str> {
        Some(&self.of.group)
    }

    async fn perform(self, admin: &Admin) -> Result<Consumers, Failure> {
        let consumers = all(admin, &self.of.group).await?.into_iter().map(Into::into).collect();
        Ok(Consumers { consumers })
    }
}

/// All consumers of a group.
///
/// # Errors
/// [`Failure`].
pub(super) async fn all(admin: &Admin, group: &str) -> Result<Vec<v1::Consumer>, Failure> {
    let page = async |page_token| {
        let request = v1::ListConsumersRequest { group: group.to_owned(), page_token, page_size: 0 };
        let answer = admin.ask(admin.client().list_consumers(request)).await?;
        Ok((answer.consumers, answer.next_page_token))
    };
    admin.pages(page).await
}
