//! A store whose calls are measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use kafka_assigner_store::{Error, Store, Watch};
use kafka_assigner_types::kv::{Lease, LeaseId, Limits, Record, Revision, Snapshot, Txn, TxnOutcome};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use tokio::time::Instant;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabel {
    call: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ErrorLabel {
    call: &'static str,
    error: &'static str,
}

/// The counts and times of the store's calls.
#[derive(Debug, Clone)]
pub(super) struct StoreMetrics {
    calls: Family<CallLabel, Histogram>,
    errors: Family<ErrorLabel, Counter>,
    newest: Arc<AtomicU64>,
}

impl Default for StoreMetrics {
    fn default() -> Self {
        Self {
            calls: Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.0005, 2.0, 15))),
            errors: Family::default(),
            newest: Arc::default(),
        }
    }
}

impl StoreMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register_with_unit(
            "store_call",
            "Time of the store's calls, also of those that failed",
            Unit::Seconds,
            self.calls.clone(),
        );
        registry.register(
            "store_errors",
            "Calls that the store did not carry out, by error",
            self.errors.clone(),
        );
    }

    /// The newest revision that any call has seen.
    pub(super) fn newest(&self) -> Revision {
        Revision(self.newest.load(Ordering::Relaxed))
    }

    fn saw(&self, revision: Revision) {
        self.newest.fetch_max(revision.0, Ordering::Relaxed);
    }
}

/// A store, with every call measured.
#[derive(Debug)]
pub(super) struct Metered {
    inner: Arc<dyn Store>,
    metrics: StoreMetrics,
}

impl Metered {
    pub(super) fn new(inner: Arc<dyn Store>, metrics: StoreMetrics) -> Self {
        Self { inner, metrics }
    }

    async fn measure<T>(
        &self,
        call: &'static str,
        under_way: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let begin = Instant::now();
        let result = under_way.await;
        let lasted: Duration = begin.elapsed();
        self.metrics.calls.get_or_create(&CallLabel { call }).observe(lasted.as_secs_f64());
        if let Err(error) = &result {
            self.metrics.errors.get_or_create(&ErrorLabel { call, error: label(error) }).inc();
        }
        result
    }
}

const fn label(error: &Error) -> &'static str {
    match error {
        Error::Unknown { .. } => "unknown",
        Error::Unavailable { .. } => "unavailable",
        Error::Compacted { .. } => "compacted",
        Error::LeaseNotFound(_) => "lease_not_found",
        Error::TooLarge { .. } => "too_large",
        Error::NoSpace => "no_space",
        Error::Denied(_) => "denied",
        _ => "other",
    }
}

#[async_trait]
impl Store for Metered {
    async fn range(&self, prefix: &[u8]) -> Result<Snapshot, Error> {
        let snapshot = self.measure("range", self.inner.range(prefix)).await?;
        self.metrics.saw(snapshot.revision);
        Ok(snapshot)
    }

    async fn get(&self, key: &[u8]) -> Result<(Option<Record>, Revision), Error> {
        let (record, revision) = self.measure("get", self.inner.get(key)).await?;
        self.metrics.saw(revision);
        Ok((record, revision))
    }

    async fn txn(&self, txn: Txn) -> Result<TxnOutcome, Error> {
        let outcome = self.measure("txn", self.inner.txn(txn)).await?;
        self.metrics.saw(outcome.revision);
        Ok(outcome)
    }

    async fn watch(&self, prefix: &[u8], from: Revision) -> Result<Watch, Error> {
        self.measure("watch", self.inner.watch(prefix, from)).await
    }

    async fn grant(&self, ttl: Duration) -> Result<Lease, Error> {
        self.measure("grant", self.inner.grant(ttl)).await
    }

    async fn keep_alive(&self, lease: LeaseId) -> Result<Duration, Error> {
        self.measure("keep_alive", self.inner.keep_alive(lease)).await
    }

    async fn revoke(&self, lease: LeaseId) -> Result<(), Error> {
        self.measure("revoke", self.inner.revoke(lease)).await
    }

    async fn time_to_live(&self, lease: LeaseId) -> Result<Option<Duration>, Error> {
        self.measure("time_to_live", self.inner.time_to_live(lease)).await
    }

    fn lease_rounding(&self) -> Duration {
        self.inner.lease_rounding()
    }

    async fn alarms(&self) -> Result<Vec<String>, Error> {
        self.measure("alarms", self.inner.alarms()).await
    }

    fn request_progress(&self, prefix: &[u8], revision: Revision) {
        self.inner.request_progress(prefix, revision);
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_store::MemoryStore;
    use kafka_assigner_types::kv::Op;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn calls_are_counted_and_so_are_their_errors_and_the_newest_revision() {
        let metrics = StoreMetrics::default();
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let store = Metered::new(Arc::new(MemoryStore::new()), metrics.clone());
        let put = Txn::guarded(Vec::new(), vec![Op::put("k", "v")]);
        let written = store.txn(put).await.unwrap().revision;
        assert_eq!(metrics.newest(), written);
        store.keep_alive(LeaseId(7)).await.unwrap_err();
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        assert!(text.contains("store_call_seconds_count{call=\"txn\"} 1"), "{text}");
        let error = "store_errors_total{call=\"keep_alive\",error=\"lease_not_found\"} 1";
        assert!(text.contains(error), "{text}");
    }
}
