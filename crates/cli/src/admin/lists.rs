//! The whole lists of an instance, page by page.

use kafka_assigner_proto::v1;

use super::connected::Admin;
use crate::command_error::CommandError;

impl Admin {
    /// All groups.
    ///
    /// # Errors
    /// [`CommandError`].
    pub(crate) async fn groups(&self) -> Result<Vec<v1::GroupSummary>, CommandError> {
        let page = async |page_token| {
            let request = v1::ListGroupsRequest { page_token, page_size: 0 };
            let answer = self.ask(self.client().list_groups(request)).await?;
            Ok((answer.groups, answer.next_page_token))
        };
        self.pages(page).await
    }

    /// All topics of a group.
    ///
    /// # Errors
    /// [`CommandError`].
    pub(crate) async fn topics(&self, group: &str) -> Result<Vec<v1::Topic>, CommandError> {
        let page = async |page_token| {
            let request = v1::ListTopicsRequest { group: group.to_owned(), page_token, page_size: 0 };
            let answer = self.ask(self.client().list_topics(request)).await?;
            Ok((answer.topics, answer.next_page_token))
        };
        self.pages(page).await
    }

    /// All consumers of a group.
    ///
    /// # Errors
    /// [`CommandError`].
    pub(crate) async fn consumers(&self, group: &str) -> Result<Vec<v1::Consumer>, CommandError> {
        let page = async |page_token| {
            let request = v1::ListConsumersRequest { group: group.to_owned(), page_token, page_size: 0 };
            let answer = self.ask(self.client().list_consumers(request)).await?;
            Ok((answer.consumers, answer.next_page_token))
        };
        self.pages(page).await
    }
}
