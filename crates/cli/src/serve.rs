//! `serve`: resolves the configuration, and runs an instance with it.

mod compaction;
mod logging;
mod run;
mod secret_files;
mod store;

use std::path::PathBuf;

use clap::Args;

use crate::command_error::CommandError;
use crate::config::{File, Flags, Layers, ServeConfig, environment};
use crate::output;

pub(crate) use store::OpenedStore;

/// The arguments of `serve`.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// A TOML file with settings, named as in --print-config
    #[arg(long, value_name = "FILE", env = "KAFKA_ASSIGNER_CONFIG", hide_env_values = true)]
    config: Option<PathBuf>,
    /// Print the settings that would be used as such a file, each with its origin, and exit
    #[arg(long)]
    print_config: bool,
    #[command(flatten)]
    flags: Flags<ServeConfig>,
}

impl Serve {
    /// Runs an instance until it is told to stop, or prints its configuration.
    ///
    /// # Errors
    /// [`CommandError`].
    pub(crate) async fn run(self) -> Result<(), CommandError> {
        let layers = Layers {
            flags: self.flags.given,
            environment: environment(),
            file: self.config.map(File::open).transpose()?,
        };
        let resolved = ServeConfig::resolve(&layers)?;
        if self.print_config { output::print(&resolved.to_toml()) } else { run::run(&resolved.config).await }
    }
}
