//! The arguments that several commands have.

use clap::builder::NonEmptyStringValueParser;

use crate::admin::TypedNames;

/// The argument that names a group; empty is refused, since on the wire it means the group `default`.
#[derive(Debug, clap::Args)]
pub(super) struct GroupArgument {
    /// The group
    #[arg(value_name = "GROUP", value_parser = NonEmptyStringValueParser::new())]
    pub(super) group: String,
}

/// The arguments that name a topic of a group.
#[derive(Debug, clap::Args)]
pub(super) struct TopicOf {
    #[command(flatten)]
    pub(super) of: GroupArgument,
    /// The topic
    #[arg(value_name = "TOPIC", value_parser = NonEmptyStringValueParser::new())]
    pub(super) topic: String,
}

/// The arguments that name a consumer of a group.
#[derive(Debug, clap::Args)]
pub(super) struct ConsumerOf {
    #[command(flatten)]
    pub(super) of: GroupArgument,
    /// The consumer's name
    #[arg(value_name = "CONSUMER", value_parser = NonEmptyStringValueParser::new())]
    pub(super) consumer: String,
}

/// The arguments that name a partition of a group's topic.
#[derive(Debug, clap::Args)]
pub(super) struct PartitionOf {
    #[command(flatten)]
    pub(super) of: TopicOf,
    /// The partition, from 0
    #[arg(value_name = "PARTITION", value_parser = clap::value_parser!(i32).range(0..))]
    pub(super) partition: i32,
}

impl GroupArgument {
    pub(super) fn names(&self) -> TypedNames {
        TypedNames { group: Some(self.group.clone()), ..TypedNames::default() }
    }
}

impl TopicOf {
    pub(super) fn names(&self) -> TypedNames {
        TypedNames { topic: Some(self.topic.clone()), ..self.of.names() }
    }
}

impl ConsumerOf {
    pub(super) fn names(&self) -> TypedNames {
        TypedNames { consumers: vec![self.consumer.clone()], ..self.of.names() }
    }
}
