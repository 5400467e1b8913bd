//! The trait of stores, with its promises.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use kafka_assigner_types::kv::{Change, Lease, LeaseId, Limits, Record, Revision, Snapshot, Txn, TxnOutcome};

use crate::error::Error;

/// One batch of a watch.
///
/// `revision` never goes back within one watch. A batch without changes is a sign of progress: every
/// change up to and including `revision` has been delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchBatch {
    /// Changes in the order of their revisions; those of one transaction are never split over two batches.
    pub changes: Vec<Change>,
    /// The watch has now delivered everything up to this revision.
    pub revision: Revision,
}

/// A running watch. It ends after its first error; dropping it cancels it.
pub type Watch = BoxStream<'static, Result<WatchBatch, Error>>;

/// An ordered key-value store with one history, leases, transactions and watches.
///
/// Every call is bounded in time and cancel safe in the sense that a dropped call leaves its outcome
/// [unknown](Error::Unknown), never half done.
#[async_trait]
pub trait Store: Debug + Send + Sync + 'static {
    /// Every record under `prefix`, all at one revision, however many pages it takes.
    ///
    /// # Errors
    /// [`Error::Unavailable`] and [`Error::Unknown`] alike mean that nothing was read.
    async fn range(&self, prefix: &[u8]) -> Result<Snapshot, Error>;

    /// One record, linearisably read, with the revision at which it was read.
    ///
    /// # Errors
    /// As for [`range`](Self::range).
    async fn get(&self, key: &[u8]) -> Result<(Option<Record>, Revision), Error>;

    /// Applies a transaction atomically.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without having applied anything; [`Error::LeaseNotFound`] where a put names
    /// a lease that is over; [`Error::Unknown`] where it may have been applied.
    async fn txn(&self, txn: Txn) -> Result<TxnOutcome, Error>;

    /// Every change under `prefix` with a revision of at least `from`, in order.
    ///
    /// A `from` that lies ahead is waited for; zero is the beginning of the history. Keys outside the
    /// prefix move the watch on too, without changes in the batch, though a store may do so only
    /// [when it is asked](Self::request_progress).
    ///
    /// # Errors
    /// [`Error::Compacted`] when `from` is no longer in the history; it may also come as the stream's item.
    async fn watch(&self, prefix: &[u8], from: Revision) -> Result<Watch, Error>;

    /// The same for a reader that acts on changes alone: batches without changes may be left out. Default: the same watch.
    ///
    /// # Errors
    /// As for [`watch`](Self::watch).
    async fn watch_changes(&self, prefix: &[u8], from: Revision) -> Result<Watch, Error> {
        self.watch(prefix, from).await
    }

    /// A new lease that lives for at least `ttl` (rounded up to what the store can keep).
    ///
    /// # Errors
    /// [`Error::Unknown`] may leave a lease behind; it runs out by itself.
    async fn grant(&self, ttl: Duration) -> Result<Lease, Error>;

    /// Starts the lease's time to live afresh and returns it.
    ///
    /// # Errors
    /// [`Error::LeaseNotFound`] once it ended.
    async fn keep_alive(&self, lease: LeaseId) -> Result<Duration, Error>;

    /// Ends a lease and deletes its keys in one change; ending one that is over is no error.
    ///
    /// # Errors
    /// [`Error::Unknown`] where it may have ended.
    async fn revoke(&self, lease: LeaseId) -> Result<(), Error>;

    /// The time that a lease has left, rounded up; `None` once it is over.
    ///
    /// # Errors
    /// As for [`range`](Self::range).
    async fn time_to_live(&self, lease: LeaseId) -> Result<Option<Duration>, Error>;

    /// The most by which [`time_to_live`](Self::time_to_live) rounds up; default zero.
    fn lease_rounding(&self) -> Duration {
        Duration::ZERO
    }

    /// Asks the watches of `prefix` that this handle opened to report soon how far they are, so that whoever waits until
    /// they have come to `revision` isn't kept waiting by silence under the prefix. Nothing has to be done by a store whose
    /// watches report every revision by themselves.
    fn request_progress(&self, _prefix: &[u8], _revision: Revision) {}

    /// The alarms that the store itself reports, one line each, with the remedy; empty without alarms, and
    /// always empty for a store that reports none.
    ///
    /// # Errors
    /// As for [`range`](Self::range).
    async fn alarms(&self) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    /// The largest transaction that this store takes.
    fn limits(&self) -> Limits;
}
