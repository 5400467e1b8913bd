//! The store as one instance reaches it, below its faulty link: whatever gets here takes effect.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt as _;
use kafka_assigner_core::key::Layout;
use kafka_assigner_core::record::{Consumer, Renewal, decode};
use kafka_assigner_store::{Error, MemoryStore, Store, Watch, WatchBatch};
use kafka_assigner_types::kv::{Lease, LeaseId, Limits, Op, Record, Revision, Snapshot, Txn, TxnOutcome};

use crate::history::{History, What};
use crate::hole::Hole;

/// Notes which instance made which revision, and bends what passes where a hole is on.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    pub(crate) inner: MemoryStore,
    pub(crate) instance: Arc<str>,
    pub(crate) history: History,
    pub(crate) layout: Arc<Layout>,
    pub(crate) hole: Option<Hole>,
}

impl Recorder {
    /// A transaction that changed nothing has made no revision.
    fn note(&self, wrote: bool, outcome: &TxnOutcome, before: Revision) {
        if wrote && outcome.succeeded && outcome.revision > before {
            let instance = Arc::clone(&self.instance);
            self.history.note(What::Wrote { instance, revision: outcome.revision });
        }
    }

    /// True if the session of that lease is of a client that leaves its renewal to the instances.
    async fn is_renewed_by_instances(&self, lease: LeaseId) -> bool {
        let Ok(consumers) = self.inner.range(&self.layout.consumers()).await else { return false };
        let registered = consumers.records.iter().find(|record| record.lease == lease);
        let consumer = registered.and_then(|record| decode::<Consumer>(&record.value).ok());
        consumer.is_some_and(|consumer| consumer.renewal == Renewal::Server)
    }

    fn shown(&self, record: &Record) -> bool {
        self.hole.is_none_or(|hole| hole.shows(&self.layout, record))
    }
}

const fn writes(op: &Op) -> bool {
    !matches!(op, Op::Get { .. })
}

#[async_trait]
impl Store for Recorder {
    async fn range(&self, prefix: &[u8]) -> Result<Snapshot, Error> {
        let mut snapshot = self.inner.range(prefix).await?;
        snapshot.records.retain(|record| self.shown(record));
        if let Some(hole) = self.hole {
            let read = |record| hole.read(&self.layout, record);
            snapshot.records = snapshot.records.into_iter().map(read).collect();
        }
        Ok(snapshot)
    }

    async fn get(&self, key: &[u8]) -> Result<(Option<Record>, Revision), Error> {
        self.inner.get(key).await
    }

    async fn txn(&self, txn: Txn) -> Result<TxnOutcome, Error> {
        let txn = match self.hole {
            Some(hole) => hole.bend(&self.layout, txn),
            None => txn,
        };
        let wrote = txn.then.iter().any(writes);
        // Leases that are over end with this call, before the transaction.
        let (_, before) = self.inner.get(b"/").await?;
        let outcome = self.inner.txn(txn).await?;
        self.note(wrote, &outcome, before);
        Ok(outcome)
    }

    async fn watch(&self, prefix: &[u8], from: Revision) -> Result<Watch, Error> {
        let watch = self.inner.watch(prefix, from).await?;
        let Some(hole) = self.hole else { return Ok(watch) };
        let layout = Arc::clone(&self.layout);
        let show = move |batch: WatchBatch| WatchBatch {
            changes: batch.changes.into_iter().map(|change| hole.show(&layout, change)).collect(),
            ..batch
        };
        Ok(watch.map(move |batch| batch.map(&show)).boxed())
    }

    async fn grant(&self, ttl: Duration) -> Result<Lease, Error> {
        self.inner.grant(ttl).await
    }

    async fn keep_alive(&self, lease: LeaseId) -> Result<Duration, Error> {
        match self.hole {
            Some(Hole::RenewalsForgotten) if self.is_renewed_by_instances(lease).await => {
                Ok(self.inner.time_to_live(lease).await?.unwrap_or_default())
            }
            _ => self.inner.keep_alive(lease).await,
        }
    }

    async fn revoke(&self, lease: LeaseId) -> Result<(), Error> {
        self.inner.revoke(lease).await
    }

    async fn time_to_live(&self, lease: LeaseId) -> Result<Option<Duration>, Error> {
        match self.hole {
            Some(Hole::ClaimsIgnored) => Ok(None),
            _ => self.inner.time_to_live(lease).await,
        }
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }
}
