//! The keeper of a term: it detects the term's end.

use std::sync::Arc;

use kafka_assigner_types::kv::{Record, Revision};
use tokio_util::sync::CancellationToken;

use super::lease::HeldLease;
use super::options::Options;
use super::term::End;
use super::vacancy::vacated;
use crate::backoff::Retries;
use crate::traits::Store;

/// A victory.
#[derive(Debug, Clone)]
pub(super) struct Won {
    pub(super) create_revision: Revision,
    pub(super) held: Arc<HeldLease>,
}

impl Won {
    fn is_shown_by(&self, record: Option<&Record>) -> bool {
        record.is_some_and(|record| {
            record.create_revision == self.create_revision && record.lease == self.held.id()
        })
    }
}

/// Waits until a term ends, or until `release`.
pub(super) async fn keep(
    store: &dyn Store,
    options: &Options,
    won: &Won,
    release: &CancellationToken,
) -> End {
    tokio::select! {
        biased;
        // The leader's own will needs no other reason.
        () = release.cancelled() => End::Resigned,
        // The clock and the lease before the key: they are what the leader's right rests on.
        end = won.held.over() => end,
        () = lost(store, options, won) => End::KeyLost,
    }
}

/// Waits until a reading shows that the key is not ours any more. Failures prove nothing.
async fn lost(store: &dyn Store, options: &Options, won: &Won) {
    let mut retries = Retries::new(options.backoff);
    loop {
        let watched = match store.get(&options.key).await {
            Ok((record, _)) if !won.is_shown_by(record.as_ref()) => return,
            Ok((_, revision)) => vacated(store, options, revision.next()).await,
            Err(error) => Err(error),
        };
        match watched {
            Ok(()) => retries.succeeded(),
            Err(error) => retries.wait("watching the leader's own key", &error).await,
        }
    }
}
