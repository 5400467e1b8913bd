//! The store on an embedded engine.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use kafka_assigner_types::kv::{Lease, LeaseId, Limits, Record, Revision, Snapshot, Txn, TxnOutcome};

use super::driver::Driver;
use super::watch;
use crate::error::Error;
use crate::traits::{Store, Watch};

/// A store that lives in this process; a clone is another handle of the same one.
///
/// It has the semantics and the limits of etcd. Watches report every revision by themselves, and a
/// lease ends on time: at the moment when anybody calls or watches next.
#[derive(Debug)]
pub struct Embedded<D>(pub(super) Arc<D>);

impl<D> Clone for Embedded<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[async_trait]
impl<D: Driver> Store for Embedded<D> {
    async fn range(&self, prefix: &[u8]) -> Result<Snapshot, Error> {
        let prefix = Bytes::copy_from_slice(prefix);
        self.0.run("range", move |engine, _| Ok(engine.range(&prefix))).await
    }

    async fn get(&self, key: &[u8]) -> Result<(Option<Record>, Revision), Error> {
        let key = Bytes::copy_from_slice(key);
        self.0.run("get", move |engine, _| Ok(engine.get(&key))).await
    }

    async fn txn(&self, txn: Txn) -> Result<TxnOutcome, Error> {
        self.0.run("txn", move |engine, _| engine.txn(&txn)).await
    }

    async fn watch(&self, prefix: &[u8], from: Revision) -> Result<Watch, Error> {
        let shared = self.0.shared();
        shared.check()?;
        shared.engine().history().check(from)?;
        let prefix = Bytes::copy_from_slice(prefix);
        Ok(watch::watch(Arc::downgrade(&self.0), shared.ticks(), prefix, from))
    }

    async fn grant(&self, ttl: Duration) -> Result<Lease, Error> {
        self.0.run("grant", move |engine, now| Ok(engine.grant(ttl, now))).await
    }

    async fn keep_alive(&self, lease: LeaseId) -> Result<Duration, Error> {
        self.0.run("keep_alive", move |engine, now| engine.keep_alive(lease, now)).await
    }

    async fn revoke(&self, lease: LeaseId) -> Result<(), Error> {
        let revoking = self.0.run("revoke", move |engine, _| {
            engine.revoke(lease);
            Ok(())
        });
        revoking.await
    }

    async fn time_to_live(&self, lease: LeaseId) -> Result<Option<Duration>, Error> {
        self.0.run("time_to_live", move |engine, now| Ok(engine.time_to_live(lease, now))).await
    }

    fn limits(&self) -> Limits {
        Limits::ETCD
    }
}
