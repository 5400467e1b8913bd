//! Carries decisions out: in few transactions, some at a time, each under the term's fence.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream;
use kafka_assigner_core::write::{Fence, Write, chunk};
use kafka_assigner_store::{Error, Store};
use kafka_assigner_types::kv::{Limits, Revision, Txn};

/// Transactions under way at a time. Four saturate one etcd; more only queue there, before everybody's heartbeats.
const AT_A_TIME: usize = 4;

/// The outcome of a write.
#[derive(Debug)]
pub(crate) enum WriteOutcome {
    /// It is durable since this revision.
    Applied(Revision),
    /// A guard did not hold: the state has changed since the decision; nothing was written.
    Outdated,
    /// Nobody knows, or the store refused it.
    Failed(Error),
}

/// Writes in the name of one term.
#[derive(Debug)]
pub(crate) struct Executor {
    store: Arc<dyn Store>,
    fence: Fence,
}

impl Executor {
    pub(crate) const fn new(store: Arc<dyn Store>, fence: Fence) -> Self {
        Self { store, fence }
    }

    /// Carries out `writes`, and returns what became of each. Where a transaction of several does not apply, each
    /// of them is tried alone, so that one outdated write stands in nobody's way.
    pub(crate) async fn carry_out(&self, writes: &[Write]) -> Vec<WriteOutcome> {
        let limits: Limits = self.store.limits();
        let fates = stream::iter(chunk(&self.fence, writes, limits))
            .map(|chunk| async move { self.chunk(chunk.txn, &writes[chunk.writes]).await })
            .buffered(AT_A_TIME)
            .collect::<Vec<Vec<WriteOutcome>>>()
            .await;
        fates.into_iter().flatten().collect()
    }

    async fn chunk(&self, txn: Txn, writes: &[Write]) -> Vec<WriteOutcome> {
        match self.store.txn(txn).await {
            Ok(outcome) if outcome.succeeded => {
                writes.iter().map(|_| WriteOutcome::Applied(outcome.revision)).collect()
            }
            Ok(_) | Err(Error::TooLarge { .. }) if writes.len() > 1 => self.one_by_one(writes).await,
            Ok(_) => vec![WriteOutcome::Outdated],
            Err(error) => writes.iter().map(|_| WriteOutcome::Failed(clone_kind(&error))).collect(),
        }
    }

    async fn one_by_one(&self, writes: &[Write]) -> Vec<WriteOutcome> {
        let mut fates = Vec::with_capacity(writes.len());
        for write in writes {
            fates.push(match self.store.txn(self.fence.alone(write)).await {
                Ok(outcome) if outcome.succeeded => WriteOutcome::Applied(outcome.revision),
                Ok(_) => WriteOutcome::Outdated,
                Err(error) => WriteOutcome::Failed(error),
            });
        }
        fates
    }
}

/// The same failure for each write of a chunk; its cause is told once, by whoever logs the first.
fn clone_kind(error: &Error) -> Error {
    match error {
        Error::Unknown { operation, .. } => Error::Unknown { operation, source: None },
        Error::Unavailable { operation, .. } => Error::Unavailable { operation, source: None },
        Error::NoSpace => Error::NoSpace,
        other => Error::Invalid(other.to_string()),
    }
}

#[cfg(test)]
#[path = "execute_test.rs"]
mod execute_test;
