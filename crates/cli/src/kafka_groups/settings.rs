//! The way to Kafka.

use std::path::PathBuf;

use clap::Args;

use super::KafkaGroupsError;
use super::asker::GroupAsker;
use crate::command_error::CommandError;
use crate::config::{File, KafkaFlags, Layers, ServeConfig, environment};

/// The settings of Kafka, from the same sources as `serve`'s.
#[derive(Debug, Args)]
pub(super) struct KafkaSettings {
    /// A TOML file with settings, as `serve` takes it
    #[arg(long, value_name = "FILE", env = "KAFKA_ASSIGNER_CONFIG", hide_env_values = true)]
    config: Option<PathBuf>,
    #[command(flatten)]
    flags: KafkaFlags,
}

impl KafkaSettings {
    /// Connects to nothing yet; files of TLS are read.
    ///
    /// # Errors
    /// [`CommandError`], where the settings are wrong or name no broker.
    pub(super) fn asker(self) -> Result<GroupAsker, CommandError> {
        let layers = Layers {
            flags: self.flags.given,
            environment: environment(),
            file: self.config.map(File::open).transpose()?,
        };
        let options = ServeConfig::resolve(&layers)?.config.kafka_options();
        if options.bootstrap.is_empty() {
            return Err(KafkaGroupsError::NoBroker.into());
        }
        GroupAsker::new(&options).map_err(CommandError::Kafka)
    }
}
