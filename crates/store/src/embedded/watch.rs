//! A watch: a reader of the history that waits where it ends.
//!
//! Nothing is queued for a watch, so a slow one costs no memory and holds up nobody; it learns that it
//! was [too slow](crate::Error::Compacted) when the history no longer has what it needs next. Watches
//! are also what notices the end of a lease while nobody calls: no task of the store's own is needed.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use kafka_assigner_types::kv::Revision;
use tokio::time::{Instant, sleep_until};

use super::driver::Driver;
use super::shared::Tick;
use crate::error::Error;
use crate::signal::Signal;
use crate::traits::{Watch, WatchBatch};

/// Changes after which a batch is closed at the next transaction's end: a watch that catches up with
/// much holds the engine's lock for a moment only.
const BATCH: usize = 1_024;

/// Revisions that are looked through for one batch, for the same reason.
const SCAN: u64 = 8_192;

struct WatchCursor<D> {
    driver: Weak<D>,
    ticks: Arc<Signal<Tick>>,
    prefix: Bytes,
    next: Revision,
    over: bool,
}

/// Watches from `from` on. It ends with an error when every handle of the store is gone.
pub(crate) fn watch<D: Driver>(
    driver: Weak<D>,
    ticks: Arc<Signal<Tick>>,
    prefix: Bytes,
    from: Revision,
) -> Watch {
    let cursor = WatchCursor { driver, ticks, prefix, next: from.max(Revision(1)), over: false };
    stream::unfold(cursor, step).boxed()
}

async fn step<D: Driver>(mut cursor: WatchCursor<D>) -> Option<(Result<WatchBatch, Error>, WatchCursor<D>)> {
    if cursor.over {
        return None;
    }
    let item = cursor.advance().await;
    cursor.over = item.is_err();
    Some((item, cursor))
}

impl<D: Driver> WatchCursor<D> {
    async fn advance(&mut self) -> Result<WatchBatch, Error> {
        loop {
            let tick = self.ticks.read(Tick::clone);
            if let Some(why) = tick.failed {
                return Err(Error::File(why));
            }
            if tick.closed {
                return Err(closed());
            }
            if tick.published >= self.next {
                return self.read(tick.published);
            }
            self.wait(&tick).await?;
        }
    }

    /// The next batch, up to `published` at most.
    fn read(&mut self, published: Revision) -> Result<WatchBatch, Error> {
        let driver = self.driver.upgrade().ok_or_else(closed)?;
        let engine = driver.shared().engine();
        let to = published.min(Revision(self.next.0.saturating_add(SCAN)));
        let mut changes = Vec::new();
        let mut revision = Revision(self.next.0 - 1);
        for commit in engine.history().between(self.next, to)? {
            changes.extend(commit.iter().filter(|change| change.key().starts_with(&self.prefix)).cloned());
            revision = revision.next();
            if changes.len() >= BATCH {
                break;
            }
        }
        self.next = revision.next();
        Ok(WatchBatch { changes, revision })
    }

    /// Waits until something was published, or ends the leases whose time has come.
    async fn wait(&self, seen: &Tick) -> Result<(), Error> {
        tokio::select! {
            biased;
            // A change first: it may have moved the deadline.
            () = self.ticks.wait_for(|tick| (tick != seen).then_some(())) => Ok(()),
            () = until(seen.next_deadline) => {
                let driver = self.driver.upgrade().ok_or_else(closed)?;
                driver.expire().await
            }
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn closed() -> Error {
    Error::Unavailable {
        operation: "watch",
        source: Some("every handle of the embedded store is gone".into()),
    }
}
