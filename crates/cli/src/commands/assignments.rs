//! `assignments`.

use clap::Args;
use kafka_assigner_proto::v1;

use super::arguments::GroupArgument;
use crate::admin::{Admin, Operation, TypedNames};
use crate::command_error::CommandError;
use crate::reports::Assignments;
use crate::suggestion::did_you_mean;

/// Lists who owns what.
#[derive(Debug, Args)]
pub(crate) struct ListAssignments {
    #[command(flatten)]
    of: GroupArgument,
    /// Only the partitions of this topic
    #[arg(long, value_name = "TOPIC")]
    topic: Option<String>,
    /// Only the partitions of this consumer
    #[arg(long, value_name = "CONSUMER")]
    consumer: Option<String>,
}

impl ListAssignments {
    fn request(&self, page_token: String) -> v1::ListAssignmentsRequest {
        v1::ListAssignmentsRequest {
            group: self.of.group.clone(),
            topic: self.topic.clone().unwrap_or_default(),
            consumer: self.consumer.clone().unwrap_or_default(),
            page_token,
            page_size: 0,
        }
    }
}

impl Operation for ListAssignments {
    type Report = Assignments;

    fn names(&self) -> TypedNames {
        self.of.names()
    }

    async fn perform(self, admin: &Admin) -> Result<Assignments, CommandError> {
        let page = async |page_token| {
            let answer = admin.ask(admin.client().list_assignments(self.request(page_token))).await?;
            Ok((answer.assignments, answer.next_page_token))
        };
        let assignments: Vec<_> = admin.pages(page).await?.into_iter().map(Into::into).collect();
        if assignments.is_empty() {
            self.refuse_unknown(admin).await?;
        }
        Ok(Assignments { assignments })
    }
}

impl ListAssignments {
    /// An empty list of something that does not exist would look like an answer.
    ///
    /// # Errors
    /// [`CommandError::NotInGroup`] where a filter names what the group does not have.
    async fn refuse_unknown(&self, admin: &Admin) -> Result<(), CommandError> {
        let group = &self.of.group;
        if let Some(topic) = &self.topic {
            let all = admin.topics(group).await?;
            let names: Vec<String> = all.into_iter().map(|topic| topic.topic).collect();
            self.refuse_missing("topic", topic, &names)?;
        }
        if let Some(consumer) = &self.consumer {
            let all = admin.consumers(group).await?;
            let names: Vec<String> = all.into_iter().map(|consumer| consumer.name).collect();
            self.refuse_missing("consumer", consumer, &names)?;
        }
        Ok(())
    }

    fn refuse_missing(&self, kind: &'static str, name: &str, known: &[String]) -> Result<(), CommandError> {
        if known.iter().any(|known| known == name) {
            return Ok(());
        }
        let alike = did_you_mean(name, known.iter().map(String::as_str));
        Err(CommandError::NotInGroup { kind, name: name.to_owned(), group: self.of.group.clone(), alike })
    }
}
