//! `kafka-groups list`.

use clap::Args;

use super::settings::KafkaSettings;
use super::view::listing::KafkaGroupsList;
use crate::command_error::CommandError;
use crate::output::Output;

/// Lists the groups of a Kafka cluster.
#[derive(Debug, Args)]
pub(crate) struct ListKafkaGroups {
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    settings: KafkaSettings,
}

impl ListKafkaGroups {
    /// Asks every broker for its groups, and writes all of them.
    ///
    /// # Errors
    /// [`CommandError`].
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let lists = self.settings.asker()?.lists().await?;
        self.output.write(&KafkaGroupsList::new(lists))
    }
}
