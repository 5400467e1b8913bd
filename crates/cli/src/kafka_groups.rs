//! `kafka-groups`: Kafka's own groups of all four types, asked of the brokers, without an instance.
//!
//! ```text
//!  command ─► settings (kafka, kafka_tls …, as serve has them)
//!     └─► asker   requests to brokers, each with a deadline; decides nothing
//!            └─► view     answers ─► what a group is, who waits for whom, how far it is behind; pure
//!                  └─► report   the layout of Kafka's own tools, and JSON; pure
//! ```
//!
//! Start reading at [`describe`].

mod asker;
mod describe;
mod error;
mod kind;
mod list;
mod report;
mod settings;
mod view;

use clap::Subcommand;

use crate::command_error::CommandError;

pub(crate) use error::KafkaGroupsError;

/// The commands for Kafka's own groups.
#[derive(Debug, Subcommand)]
pub(crate) enum KafkaGroupsCommand {
    /// List the groups of a Kafka cluster: classic, consumer, share and streams groups
    List(list::ListKafkaGroups),
    /// Describe one group: how far it is behind, its members or its state, laid out as Kafka's own tools do
    Describe(describe::DescribeKafkaGroup),
}

impl KafkaGroupsCommand {
    /// Carries the command out.
    ///
    /// # Errors
    /// [`CommandError`].
    pub(crate) async fn run(self) -> Result<(), CommandError> {
        match self {
            Self::List(list) => list.run().await,
            Self::Describe(describe) => describe.run().await,
        }
    }
}
