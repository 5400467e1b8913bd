//! `assignments`.

use clap::Args;
use kafka_assigner_proto::v1;

use super::Group;
use crate::admin::{Admin, Operation};
use crate::failure::Failure;
use crate::reports::Assignments;

/// Lists who owns what.
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    of: Group,
    /// Only the partitions of this topic
    #[arg(long, value_name = "TOPIC")]
    topic: Option<String>,
    /// Only the partitions of this consumer
    #[arg(long, value_name = "CONSUMER")]
    consumer: Option<String>,
}

impl List {
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

impl Operation for List {
    type Report = Assignments;

    async fn perform(self, admin: &Admin) -> Result<Assignments, Failure> {
        let page = async |page_token| {
            let answer = admin.ask(admin.client().list_assignments(self.request(page_token))).await?;
            Ok((answer.assignments, answer.next_page_token))
        };
        let assignments = admin.pages(page).await?.into_iter().map(Into::into).collect();
        Ok(Assignments { assignments })
    }
}
