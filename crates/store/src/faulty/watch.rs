//! A watch over a link that may hold it back, silence it or cut it.

use std::sync::Arc;

use futures::{StreamExt, stream};
use tokio::time::sleep;

use super::link::{Condition, FaultyLink, Outage, refused};
use crate::error::Error;
use crate::traits::{Watch, WatchBatch};

struct FaultyWatch {
    inner: Watch,
    link: Arc<FaultyLink>,
    cuts: u64,
    silenced: u64,
    over: bool,
}

/// Puts a watch on the link. The link is asked before each batch is fetched, so that what is held back
/// is still in the store, where a compaction can take it away.
pub(super) fn over(inner: Watch, link: Arc<FaultyLink>) -> Watch {
    let Condition { cuts, silenced, .. } = link.condition.read(Condition::clone);
    stream::unfold(FaultyWatch { inner, link, cuts, silenced, over: false }, step).boxed()
}

async fn step(mut line: FaultyWatch) -> Option<(Result<WatchBatch, Error>, FaultyWatch)> {
    if line.over {
        return None;
    }
    let item = line.next().await?;
    line.over = item.is_err();
    Some((item, line))
}

impl FaultyWatch {
    async fn next(&mut self) -> Option<Result<WatchBatch, Error>> {
        loop {
            let condition = self.link.condition.read(Condition::clone);
            if condition.cuts > self.cuts || condition.outage == Some(Outage::Refusing) {
                return Some(Err(self.cut()));
            }
            let is_silenced = condition.silenced > self.silenced;
            let open = condition.outage.is_none() && !condition.held && !is_silenced;
            tokio::select! {
                biased;
                // The link first: a fault precedes the watch's next batch.
                () = self.link.condition.wait_for(|now| (*now != condition).then_some(())) => {}
                batch = self.inner.next(), if open => {
                    let batch = batch?;
                    if !self.swallows(&batch) {
                        return self.deliver(batch).await;
                    }
                }
            }
        }
    }

    /// Delivers one batch, late or not at all.
    async fn deliver(&mut self, batch: Result<WatchBatch, Error>) -> Option<Result<WatchBatch, Error>> {
        let (cut, delay) = self.link.faults().draw_batch();
        if cut {
            return Some(Err(self.cut()));
        }
        if !delay.is_zero() {
            self.link.count(|counts| counts.batches_delayed += 1);
            sleep(delay).await;
        }
        Some(batch)
    }

    fn swallows(&self, batch: &Result<WatchBatch, Error>) -> bool {
        let mut faults = self.link.faults();
        let hit = faults.swallow > 0 && batch.as_ref().is_ok_and(|batch| !batch.changes.is_empty());
        if hit {
            faults.swallow -= 1;
            self.link.count(|counts| counts.batches_swallowed += 1);
        }
        hit
    }

    fn cut(&self) -> Error {
        self.link.count(|counts| counts.watches_cut += 1);
        refused("watch")
    }
}
