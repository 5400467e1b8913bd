//! `kafka-groups list`.

use clap::Args;

use super::KafkaGroupsError;
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
    /// [`CommandError`], also where some are missing: then the others are written.
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let lists = self.settings.asker()?.lists().await?;
        if lists.is_empty() {
            return Err(KafkaGroupsError::NoBrokers.into());
        }
        let asked = lists.len();
        let list = KafkaGroupsList::new(lists);
        self.output.write(&list)?;
        match list.missing.len() {
            0 => Ok(()),
            missing => Err(KafkaGroupsError::Incomplete { missing, asked }.into()),
        }
    }
}
