//! The store behind a link with faults.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use kafka_assigner_types::kv::{Lease, LeaseId, Limits, Record, Revision, Snapshot, Txn, TxnOutcome};
use tokio::time::sleep;

use super::link::{FaultyLink, Outage, refused, unknown};
use super::source::{CallFaults, Counts, Fault, FaultSource, Rates};
use super::watch;
use crate::embedded::MemoryStore;
use crate::error::Error;
use crate::signal::Signal;
use crate::traits::{Store, Watch};

/// After this time a call without an answer ends as [`Error::Unknown`], as a real client's deadline does.
pub const CALL_DEADLINE: Duration = Duration::from_secs(3);

/// One instance's link to a store; a clone is the same link.
#[derive(Debug, Clone)]
pub struct FaultyStore<S> {
    inner: S,
    link: Arc<FaultyLink>,
}

impl<S: Store + Clone> FaultyStore<S> {
    /// A link without faults so far, whose random faults follow from `seed`.
    pub fn new(inner: S, seed: u64) -> Self {
        let (condition, faults) = (Signal::default(), Mutex::new(FaultSource::new(seed)));
        Self { inner, link: Arc::new(FaultyLink { condition, faults, counts: Mutex::default() }) }
    }

    /// The store behind the link, for what happens there without us.
    pub const fn inner(&self) -> &S {
        &self.inner
    }

    /// Sets the rates of faults from now on.
    pub fn set_rates(&self, rates: Rates) {
        self.link.faults().rates = rates;
    }

    /// Scripts the faults of the next calls, in their order; the rates decide for later calls. `None`
    /// lets a call pass.
    pub fn script(&self, faults: impl IntoIterator<Item = Option<Fault>>) {
        self.link.faults().script.extend(faults);
    }

    /// Takes the link down, until [`end_outage`](Self::end_outage).
    pub fn begin_outage(&self, outage: Outage) {
        self.link.count(|counts| counts.outages += 1);
        self.link.condition.update(|condition| condition.outage = Some(outage));
    }

    /// Brings the link back.
    pub fn end_outage(&self) {
        self.link.condition.update(|condition| condition.outage = None);
    }

    /// Ends all watches that run over this link.
    pub fn cut_watches(&self) {
        self.link.condition.update(|condition| condition.cuts += 1);
    }

    /// Holds back what watches deliver, so that views lag, until [`release_watches`](Self::release_watches).
    /// Nothing is lost, except where the store forgets it meanwhile.
    pub fn hold_watches(&self) {
        self.link.condition.update(|condition| condition.held = true);
    }

    /// Lets watches deliver again.
    pub fn release_watches(&self) {
        self.link.condition.update(|condition| condition.held = false);
    }

    /// Silences the watches that run over this link now: they neither deliver nor end any more. Later ones are whole.
    pub fn silence_watches(&self) {
        self.link.condition.update(|condition| condition.silenced += 1);
    }

    /// Makes the next `batches` with changes vanish from watches without a word: what no store may do, and
    /// what views have to notice all the same.
    pub fn swallow_batches(&self, batches: u32) {
        self.link.faults().swallow += batches;
    }

    /// Revokes a lease past the link and its faults.
    ///
    /// # Errors
    /// Those of the store itself.
    pub async fn revoke_from_outside(&self, lease: LeaseId) -> Result<(), Error> {
        self.link.count(|counts| counts.revoked += 1);
        self.inner.revoke(lease).await
    }

    /// The faults that were injected so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        *self.link.counts.lock().expect("counting doesn't panic")
    }

    /// Carries out one call with its faults.
    async fn call<R, F>(&self, operation: &'static str, call: F) -> Result<R, Error>
    where
        R: Send + 'static,
        F: Future<Output = Result<R, Error>> + Send + 'static,
    {
        let outage = self.link.condition.read(|condition| condition.outage);
        if let Some(outage) = outage {
            return self.call_into(outage, operation, call).await;
        }
        let CallFaults { fault, there, back } = self.link.faults().draw();
        if !(there + back).is_zero() {
            self.link.count(|counts| counts.delayed += 1);
        }
        sleep(there).await;
        let answer = match fault {
            None => call.await,
            Some(fault) => self.suffer(fault, operation, call).await,
        };
        sleep(back).await;
        answer
    }

    async fn call_into<R, F>(&self, outage: Outage, operation: &'static str, call: F) -> Result<R, Error>
    where
        F: Future<Output = Result<R, Error>> + Send,
    {
        self.link.count(|counts| counts.met_outage += 1);
        match outage {
            Outage::Refusing => return Err(refused(operation)),
            Outage::Silent => {}
            // Its result is dropped.
            Outage::Deaf => drop(call.await),
        }
        sleep(CALL_DEADLINE).await;
        Err(unknown(operation))
    }

    async fn suffer<R, F>(&self, fault: Fault, operation: &'static str, call: F) -> Result<R, Error>
    where
        R: Send + 'static,
        F: Future<Output = Result<R, Error>> + Send + 'static,
    {
        self.link.count(|counts| counts.add(fault));
        match fault {
            Fault::Refuse => return Err(refused(operation)),
            Fault::LoseRequest => {}
            Fault::LoseAnswer => drop(call.await),
            Fault::ApplyLate(after) => drop(tokio::spawn(async move {
                sleep(after).await;
                call.await
            })),
        }
        Err(unknown(operation))
    }
}

impl FaultyStore<MemoryStore> {
    /// Makes the store forget its whole past: watches that lag, and views that list before it and watch
    /// after it, lose their place.
    ///
    /// # Errors
    /// None: memory takes everything.
    pub async fn compact_under_watches(&self) -> Result<(), Error> {
        self.link.count(|counts| counts.compacted += 1);
        let (_, revision) = self.inner.get(b"/").await?;
        self.inner.compact(revision.next()).await
    }
}

/// Makes a call on a clone of the inner store, which may outlive this one.
macro_rules! forward {
    ($self:ident.$method:ident($($argument:expr),*)) => {{
        let inner = $self.inner.clone();
        $self.call(stringify!($method), async move { inner.$method($($argument),*).await }).await
    }};
}

#[async_trait]
impl<S: Store + Clone> Store for FaultyStore<S> {
    async fn range(&self, prefix: &[u8]) -> Result<Snapshot, Error> {
        let prefix = prefix.to_vec();
        forward!(self.range(&prefix))
    }

    async fn get(&self, key: &[u8]) -> Result<(Option<Record>, Revision), Error> {
        let key = key.to_vec();
        forward!(self.get(&key))
    }

    async fn txn(&self, txn: Txn) -> Result<TxnOutcome, Error> {
        forward!(self.txn(txn))
    }

    async fn watch(&self, prefix: &[u8], from: Revision) -> Result<Watch, Error> {
        let prefix = prefix.to_vec();
        let watch = forward!(self.watch(&prefix, from))?;
        Ok(watch::over(watch, Arc::clone(&self.link)))
    }

    async fn grant(&self, ttl: Duration) -> Result<Lease, Error> {
        forward!(self.grant(ttl))
    }

    async fn keep_alive(&self, lease: LeaseId) -> Result<Duration, Error> {
        forward!(self.keep_alive(lease))
    }

    async fn revoke(&self, lease: LeaseId) -> Result<(), Error> {
        forward!(self.revoke(lease))
    }

    async fn time_to_live(&self, lease: LeaseId) -> Result<Option<Duration>, Error> {
        forward!(self.time_to_live(lease))
    }

    fn lease_rounding(&self) -> Duration {
        self.inner.lease_rounding()
    }

    fn request_progress(&self, prefix: &[u8], revision: Revision) {
        self.inner.request_progress(prefix, revision);
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }
}

#[cfg(test)]
#[path = "faulty_test.rs"]
mod faulty_test;
