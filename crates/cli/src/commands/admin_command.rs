//! All commands that ask an instance.

use clap::Subcommand;

use super::{assignments, consumers, explain, groups, handoffs, plan, resume, strategies, topics, watch};
use crate::admin::InstanceCall;
use crate::command_error::CommandError;

/// The commands that ask an instance, and `strategies`, which needs none.
#[derive(Debug, Subcommand)]
pub(crate) enum AdminCommand {
    /// List the groups
    Groups(InstanceCall<groups::ListGroups>),
    /// Describe, set or delete one group
    #[command(subcommand)]
    Group(GroupCommand),
    /// List the topics of a group
    Topics(InstanceCall<topics::ListTopics>),
    /// Set or delete one topic of a group
    #[command(subcommand)]
    Topic(TopicCommand),
    /// List the registered consumers of a group
    Consumers(InstanceCall<consumers::ListConsumers>),
    /// End one consumer of a group
    #[command(subcommand)]
    Consumer(ConsumerCommand),
    /// List who owns which partition
    Assignments(InstanceCall<assignments::ListAssignments>),
    /// List the moves under way
    Handoffs(InstanceCall<handoffs::ListHandoffs>),
    /// Ask for the cancellation of a move
    Abort(InstanceCall<handoffs::Abort>),
    /// Let a partition go on that stands before a record
    Resume(InstanceCall<resume::Resume>),
    /// Show what the leader would do, now or under other circumstances, and change nothing
    Plan(InstanceCall<plan::ShowPlan>),
    /// Explain why one partition is where it is
    Explain(InstanceCall<explain::Explain>),
    /// Show the changes of a group as they happen, until interrupted
    Watch(watch::WatchGroup),
    /// List the strategies of this version; needs no instance
    Strategies(strategies::ListStrategies),
}

/// The commands for one group.
#[derive(Debug, Subcommand)]
pub(crate) enum GroupCommand {
    /// Show a group with its configuration
    Describe(InstanceCall<groups::Describe>),
    /// Create a group, or change what is named of its configuration
    Set(Box<InstanceCall<groups::SetGroup>>),
    /// Delete a group with all its records; refused while it has consumers
    Delete(InstanceCall<groups::DeleteGroup>),
}

/// The commands for one topic of a group.
#[derive(Debug, Subcommand)]
pub(crate) enum TopicCommand {
    /// Add a topic to a group, or change it
    Set(InstanceCall<topics::SetTopic>),
    /// Take a topic out of a group; Kafka's topic is not touched
    Delete(InstanceCall<topics::DeleteTopic>),
}

/// The commands for one consumer of a group.
#[derive(Debug, Subcommand)]
pub(crate) enum ConsumerCommand {
    /// End its session: it is fenced, and its partitions go to others
    End(InstanceCall<consumers::EndConsumer>),
}

impl AdminCommand {
    /// Carries the command out.
    ///
    /// # Errors
    /// [`CommandError`].
    pub(crate) async fn run(self) -> Result<(), CommandError> {
        match self {
            Self::Groups(call) => call.run().await,
            Self::Group(GroupCommand::Describe(call)) => call.run().await,
            Self::Group(GroupCommand::Set(call)) => call.run().await,
            Self::Group(GroupCommand::Delete(call)) => call.run().await,
            Self::Topics(call) => call.run().await,
            Self::Topic(TopicCommand::Set(call)) => call.run().await,
            Self::Topic(TopicCommand::Delete(call)) => call.run().await,
            Self::Consumers(call) => call.run().await,
            Self::Consumer(ConsumerCommand::End(call)) => call.run().await,
            Self::Assignments(call) => call.run().await,
            Self::Handoffs(call) => call.run().await,
            Self::Abort(call) => call.run().await,
            Self::Resume(call) => call.run().await,
            Self::Plan(call) => call.run().await,
            Self::Explain(call) => call.run().await,
            Self::Watch(watch) => watch.run().await,
            Self::Strategies(strategies) => strategies.run(),
        }
    }
}
