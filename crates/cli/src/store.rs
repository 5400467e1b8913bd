//! `store`: works on the store itself, with `serve`'s settings of it and without an instance.

mod error;
mod export;
mod export_line;
mod import;
mod open;
mod restored;

use clap::Subcommand;

use crate::command_error::CommandError;

pub(crate) use error::StoreCommandError;

/// The commands for the store.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Say that the store was put back to an earlier state, from a backup: clients and grants begin anew
    Restored(restored::CallRestored),
    /// Write configuration, topics and epochs of groups as lines of JSON, all at one revision
    Export(export::ExportGroups),
    /// Bring groups of an export into this store, none of which may exist
    Import(import::ImportGroups),
}

impl StoreCommand {
    /// Carries the command out.
    ///
    /// # Errors
    /// [`CommandError`].
    pub(crate) async fn run(self) -> Result<(), CommandError> {
        match self {
            Self::Restored(call) => call.run().await,
            Self::Export(export) => export.run().await,
            Self::Import(import) => import.run().await,
        }
    }
}
