//! The store that a command works on.

use std::path::PathBuf;

use clap::Args;

use crate::command_error::CommandError;
use crate::config::{File, Layers, ServeConfig, StoreFlags, environment};
use crate::serve::OpenedStore;

/// The settings of the store, from the same sources as `serve`'s.
#[derive(Debug, Args)]
pub(super) struct StoreSettings {
    /// A TOML file with settings, as `serve` takes it
    #[arg(long, value_name = "FILE", env = "KAFKA_ASSIGNER_CONFIG", hide_env_values = true)]
    config: Option<PathBuf>,
    #[command(flatten)]
    flags: StoreFlags,
}

impl StoreSettings {
    /// Opens a store that is there; returns it with the prefix of its keys.
    ///
    /// # Errors
    /// [`CommandError`]; a file that is missing is not created.
    pub(super) async fn open_existing(self) -> Result<(OpenedStore, String), CommandError> {
        let config = self.resolve()?;
        if config.etcd.is_empty() {
            let path = config.data.clone();
            std::fs::metadata(&path).map_err(|source| CommandError::Unreadable {
                flag: "data",
                path,
                source,
            })?;
        }
        open(&config).await
    }

    /// Opens the store, which is created where it is a file that is missing; returns it with the prefix of its keys.
    ///
    /// # Errors
    /// [`CommandError`].
    pub(super) async fn open(self) -> Result<(OpenedStore, String), CommandError> {
        open(&self.resolve()?).await
    }

    fn resolve(self) -> Result<ServeConfig, CommandError> {
        let layers = Layers {
            flags: self.flags.given,
            environment: environment(),
            file: self.config.map(File::open).transpose()?,
        };
        Ok(ServeConfig::resolve(&layers)?.config)
    }
}

async fn open(config: &ServeConfig) -> Result<(OpenedStore, String), CommandError> {
    Ok((OpenedStore::open(config).await?, config.prefix.to_string()))
}
