//! The commands: arguments, and what is asked of an instance. One file for each noun.

mod assignments;
mod confirm;
mod consumers;
mod explain;
mod groups;
mod handoffs;
mod plan;
mod strategies;
mod topics;
mod watch;

use clap::{Subcommand, builder::NonEmptyStringValueParser};

use crate::admin::Call;
use crate::failure::Failure;

/// What can be asked of any instance, and `strategies`, which needs none.
#[derive(Debug, Subcommand)]
pub(crate) enum AdminCommand {
    /// List the groups
    Groups(Call<groups::List>),
    /// Describe, set or delete one group
    #[command(subcommand)]
    Group(GroupCommand),
    /// List the topics of a group
    Topics(Call<topics::List>),
    /// Set or delete one topic of a group
    #[command(subcommand)]
    Topic(TopicCommand),
    /// List the registered consumers of a group
    Consumers(Call<consumers::List>),
    /// List who owns which partition
    Assignments(Call<assignments::List>),
    /// List the moves under way
    Handoffs(Call<handoffs::List>),
    /// Ask for the cancellation of a move
    Abort(Call<handoffs::Abort>),
    /// Show what the leader would do, now or under other circumstances, and change nothing
    Plan(Call<plan::Plan>),
    /// Explain why one partition is where it is
    Explain(Call<explain::Explain>),
    /// Show the changes of a group as they happen, until interrupted
    Watch(watch::Watch),
    /// List the strategies of this version; needs no instance
    Strategies(strategies::Strategies),
}

/// What can be done with one group.
#[derive(Debug, Subcommand)]
pub(crate) enum GroupCommand {
    /// Show a group with its configuration
    Describe(Call<groups::Describe>),
    /// Create a group, or change what is named of its configuration
    Set(Call<groups::Set>),
    /// Delete a group with all its records; refused while it has consumers
    Delete(Call<groups::Delete>),
}

/// What can be done with one topic of a group.
#[derive(Debug, Subcommand)]
pub(crate) enum TopicCommand {
    /// Add a topic to a group, or change it
    Set(Call<topics::Set>),
    /// Take a topic out of a group; Kafka's topic is not touched
    Delete(Call<topics::Delete>),
}

impl AdminCommand {
    /// Carries the command out.
    ///
    /// # Errors
    /// [`Failure`].
    pub(crate) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Groups(call) => call.run().await,
            Self::Group(GroupCommand::Describe(call)) => call.run().await,
            Self::Group(GroupCommand::Set(call)) => call.run().await,
            Self::Group(GroupCommand::Delete(call)) => call.run().await,
            Self::Topics(call) => call.run().await,
            Self::Topic(TopicCommand::Set(call)) => call.run().await,
            Self::Topic(TopicCommand::Delete(call)) => call.run().await,
            Self::Consumers(call) => call.run().await,
            Self::Assignments(call) => call.run().await,
            Self::Handoffs(call) => call.run().await,
            Self::Abort(call) => call.run().await,
            Self::Plan(call) => call.run().await,
            Self::Explain(call) => call.run().await,
            Self::Watch(watch) => watch.run().await,
            Self::Strategies(strategies) => strategies.run(),
        }
    }
}

/// Which group; empty is refused, since on the wire it would mean the group `default`.
#[derive(Debug, clap::Args)]
struct Group {
    /// The group
    #[arg(value_name = "GROUP", value_parser = NonEmptyStringValueParser::new())]
    group: String,
}

/// Which topic of which group.
#[derive(Debug, clap::Args)]
struct TopicOf {
    #[command(flatten)]
    of: Group,
    /// The topic
    #[arg(value_name = "TOPIC", value_parser = NonEmptyStringValueParser::new())]
    topic: String,
}

/// Which partition of which topic of which group.
#[derive(Debug, clap::Args)]
struct PartitionOf {
    #[command(flatten)]
    of: TopicOf,
    /// The partition, from 0
    #[arg(value_name = "PARTITION", value_parser = clap::value_parser!(i32).range(0..))]
    partition: i32,
}
