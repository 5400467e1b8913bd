//! `store restored`.

use clap::Args;
use kafka_assigner_server::WallClock;
use kafka_assigner_server::identity::{self, StoreIdentity};
use kafka_assigner_store::Store;

use super::error::StoreCommandError;
use super::open::StoreSettings;
use crate::command_error::CommandError;
use crate::commands::ConfirmationFlag;
use crate::output::Output;
use crate::reports::StoreRestoration;

/// Says that the store was put back.
#[derive(Debug, Args)]
pub(crate) struct CallRestored {
    #[command(flatten)]
    confirmation: ConfirmationFlag,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    settings: StoreSettings,
}

impl CallRestored {
    /// Gives the store another cluster id, and writes both.
    ///
    /// # Errors
    /// [`CommandError`].
    pub(super) async fn run(self) -> Result<(), CommandError> {
        self.confirmation.get("end every session of the restored store")?;
        let (store, prefix) = self.settings.open_existing().await?;
        let restored = restore(&*store.handle(), &prefix).await;
        store.close().await;
        self.output.write(&restored?)
    }
}

async fn restore(store: &dyn Store, prefix: &str) -> Result<StoreRestoration, CommandError> {
    let (known, revision) = identity::read(store, prefix).await?;
    let Some(known) = known else {
        return Err(StoreCommandError::Unidentified { prefix: prefix.to_owned() }.into());
    };
    let next = known.record().begun_anew(new_cluster_id(), WallClock::system().now());
    let next = identity::replace(store, prefix, Some(&known), &next).await?;
    let next = next.ok_or(StoreCommandError::Overtaken)?;
    Ok(StoreRestoration {
        cluster_id: next.id().to_owned(),
        earlier_cluster_id: known.id().to_owned(),
        epoch_offset: epoch_offset(&next),
        revision: revision.0,
    })
}

/// A random cluster id.
pub(super) fn new_cluster_id() -> String {
    format!("{:032x}", rand::random::<u128>())
}

pub(super) fn epoch_offset(identity: &StoreIdentity) -> u64 {
    identity.record().epoch_offset
}
