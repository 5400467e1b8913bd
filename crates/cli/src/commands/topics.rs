//! `topics` and `topic set|delete`.

use clap::Args;
use kafka_assigner_proto::v1;

use super::arguments::{GroupArgument, TopicOf};
use super::confirm::ConfirmationFlag;
use crate::admin::{Admin, Operation, TypedNames};
use crate::command_error::CommandError;
use crate::reports::{TopicDeleted, TopicSet, Topics};

/// Lists the topics of a group.
#[derive(Debug, Args)]
pub(crate) struct ListTopics {
    #[command(flatten)]
    of: GroupArgument,
}

impl Operation for ListTopics {
    type Report = Topics;

    fn names(&self) -> TypedNames {
        self.of.names()
    }

    async fn perform(self, admin: &Admin) -> Result<Topics, CommandError> {
        let topics = admin.topics(&self.of.group).await?.into_iter().map(Into::into).collect();
        Ok(Topics { topics })
    }
}

/// Adds or changes a topic.
#[derive(Debug, Args)]
pub(crate) struct SetTopic {
    #[command(flatten)]
    of: TopicOf,
    /// The number of partitions; without it, the number that Kafka has
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    partitions: Option<u32>,
    /// Topics with the same label move together, partition number by partition number; empty = it moves alone
    #[arg(long, value_name = "LABEL")]
    copartition: Option<String>,
    /// The mode of its partitions' moves: overlap, exclusive or routed; empty = the group's mode
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
}

impl Operation for SetTopic {
    type Report = TopicSet;

    fn names(&self) -> TypedNames {
        self.of.names()
    }

    async fn perform(self, admin: &Admin) -> Result<TopicSet, CommandError> {
        let group = self.of.of.group;
        let topic = v1::Topic {
            topic: self.of.topic,
            partitions: self.partitions.unwrap_or_default(),
            copartition: self.copartition,
            mode: self.mode,
            ..v1::Topic::default()
        };
        let request = v1::SetTopicRequest { group: group.clone(), topic: Some(topic) };
        let answer = admin.ask(admin.client().set_topic(request)).await?;
        let topic = answer.topic.ok_or_else(|| admin.nonsense("a topic was set but not returned"))?;
        Ok(TopicSet { group, created: answer.created, topic: topic.into() })
    }
}

/// Takes a topic out of a group.
#[derive(Debug, Args)]
pub(crate) struct DeleteTopic {
    #[command(flatten)]
    of: TopicOf,
    #[command(flatten)]
    confirmation: ConfirmationFlag,
}

impl Operation for DeleteTopic {
    type Report = TopicDeleted;

    fn names(&self) -> TypedNames {
        self.of.names()
    }

    async fn perform(self, admin: &Admin) -> Result<TopicDeleted, CommandError> {
        let (group, topic) = (self.of.of.group, self.of.topic);
        self.confirmation
            .get(&format!("take topic {topic} out of group {group} (nobody will own its partitions)"))?;
        let request = v1::DeleteTopicRequest { group: group.clone(), topic: topic.clone() };
        admin.ask(admin.client().delete_topic(request)).await?;
        Ok(TopicDeleted { group, topic })
    }
}
