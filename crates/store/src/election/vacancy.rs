//! The wait for a leader key to become free.

use futures::StreamExt;
use kafka_assigner_types::kv::{Change, Revision};
use tokio::time::timeout;

use super::options::Options;
use crate::error::Error;
use crate::traits::Store;

/// Waits until the key was deleted at `from` or later, or until it is time to read it again.
pub(super) async fn vacated(store: &dyn Store, options: &Options, from: Revision) -> Result<(), Error> {
    let watching = async {
        let mut watch = store.watch_changes(&options.key, from).await?;
        while let Some(batch) = watch.next().await {
            if batch?.changes.iter().any(|change| deletes(change, &options.key)) {
                break;
            }
        }
        Ok(())
    };
    timeout(options.reread_every.interval(), watching).await.unwrap_or(Ok(()))
}

/// Returns true if the key itself was deleted. Other writes to it, or to a key with this prefix, don't count.
fn deletes(change: &Change, key: &[u8]) -> bool {
    matches!(change, Change::Delete { key: deleted, .. } if deleted == key)
}
