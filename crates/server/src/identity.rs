//! The identity of the store: written once, and replaced when the store begins another history.

use std::sync::Arc;

use bytes::Bytes;
use kafka_assigner_core::key::ClusterLayout;
use kafka_assigner_core::record::{ClusterRecord, decode, encode};
use kafka_assigner_store::{Backoff, Error, Store};
use kafka_assigner_types::kv::{Compare, Must, Op, Record, Revision, Txn, TxnOutcome};
use kafka_assigner_types::moment::Moment;
use tokio::time::{Instant, sleep};

use crate::refusal::describe;
use crate::repeated_warning::RepeatedWarning;

/// The identity of the store, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreIdentity {
    key: Bytes,
    record: Arc<ClusterRecord>,
    revision: Revision,
}

impl StoreIdentity {
    fn of(stored: &Record) -> Result<Self, Error> {
        let record = decode(&stored.value).map_err(|unreadable| {
            Error::Invalid(format!("{}: {unreadable}", String::from_utf8_lossy(&stored.key)))
        })?;
        Ok(Self { key: stored.key.clone(), record: Arc::new(record), revision: stored.mod_revision })
    }

    /// The cluster id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.record.id
    }

    /// The record.
    #[must_use]
    pub const fn record(&self) -> &Arc<ClusterRecord> {
        &self.record
    }

    /// True if this is the identity that the store had before `other` was written.
    pub(crate) fn is_older_than(&self, other: &Self) -> bool {
        self.revision < other.revision
    }

    /// The guard of whatever must not be written in another history.
    pub(crate) fn guard(&self) -> Compare {
        Compare::new(self.key.clone(), Must::HaveModRevision(self.revision))
    }
}

/// The identity of the store: a random `proposal`, written by the first instance. It waits for a store that can't be
/// reached, so that an instance that is started during an outage serves as soon as that is over.
///
/// Cancel safe.
///
/// # Errors
/// Where the store answers that it can't be read or written.
pub(crate) async fn identify(
    store: &dyn Store,
    prefix: &str,
    (proposal, seed): (String, u64),
) -> Result<StoreIdentity, Error> {
    let key = ClusterLayout::new(prefix).cluster();
    let txn = Txn {
        compares: vec![Compare::new(key.clone(), Must::BeAbsent)],
        then: vec![Op::put(key.clone(), encode(&ClusterRecord::new(proposal))), Op::Get { key: key.clone() }],
        or_else: vec![Op::Get { key }],
    };
    let outcome = insist(store, txn, seed).await?;
    let stored = outcome.reads.into_iter().flatten().next();
    StoreIdentity::of(&stored.ok_or_else(|| Error::Invalid("the cluster id was read as absent".to_owned()))?)
}

/// The identity of the store now, and the revision at which it was read. `None`: it has none.
///
/// # Errors
/// Where the store can't be read.
pub async fn read(store: &dyn Store, prefix: &str) -> Result<(Option<StoreIdentity>, Revision), Error> {
    let (stored, revision) = store.get(&ClusterLayout::new(prefix).cluster()).await?;
    Ok((stored.as_ref().map(StoreIdentity::of).transpose()?, revision))
}

/// Begins another history of the store, with the identity `next`: clients begin new sessions, and everything is granted
/// anew. `None` where `known` is its identity no longer; a store without one is known as `None`.
///
/// # Errors
/// Where the store can't be read or written. [`Error::Unknown`]: nobody knows whether it was; read again.
pub async fn replace(
    store: &dyn Store,
    prefix: &str,
    known: Option<&StoreIdentity>,
    next: &ClusterRecord,
) -> Result<Option<StoreIdentity>, Error> {
    let key = ClusterLayout::new(prefix).cluster();
    let guard = known.map_or_else(|| Compare::new(key.clone(), Must::BeAbsent), StoreIdentity::guard);
    let written = store.txn(Txn::guarded(vec![guard], vec![Op::put(key, encode(next))])).await;
    let is_lost = matches!(written, Err(Error::Unknown { .. }));
    if !is_lost && !written?.succeeded {
        return Ok(None);
    }
    let (stored, _) = read(store, prefix).await?;
    match stored.filter(|stored| stored.id() == next.id) {
        None if is_lost => Err(Error::Unknown { operation: "txn", source: None }),
        stored => Ok(stored),
    }
}

/// Carries out a transaction that comes to the same when it is carried out twice, however long the store is away.
async fn insist(store: &dyn Store, txn: Txn, seed: u64) -> Result<TxnOutcome, Error> {
    let (since, backoff) = (Instant::now(), Backoff { seed, ..Backoff::default() });
    let (mut warning, mut failures) = (RepeatedWarning::default(), 0_u32);
    loop {
        match store.txn(txn.clone()).await {
            Err(error) if error.is_transient() => {
                if warning.is_due(&describe(&error), Moment(since.elapsed())) {
                    let waited = since.elapsed();
                    tracing::warn!(error = describe(&error), ?waited, "waiting for the store");
                }
                failures = failures.saturating_add(1);
                sleep(backoff.after(&error, failures)).await;
            }
            answered => {
                if warning.is_over() {
                    tracing::info!(waited = ?since.elapsed(), "the store is there");
                }
                return answered;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_store::MemoryStore;
    use kafka_assigner_store::faulty::{Fault, FaultyStore};
    use kafka_assigner_types::moment::WallMillis;

    use super::*;

    async fn start(faults: &[Fault]) -> Result<String, Error> {
        let store = FaultyStore::new(MemoryStore::new(), 0);
        store.script(faults.iter().copied().map(Some));
        identify(&store, "/p/", proposal("proposed")).await.map(|identity| identity.id().to_owned())
    }

    fn proposal(id: &str) -> (String, u64) {
        (id.to_owned(), 0)
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_away_is_waited_for() {
        assert_eq!(start(&[Fault::LoseAnswer]).await.unwrap(), "proposed");
        assert_eq!(start(&[Fault::LoseRequest, Fault::LoseAnswer]).await.unwrap(), "proposed");
        for fault in [Fault::LoseRequest, Fault::Refuse] {
            assert_eq!(start(&[fault; 1_000]).await.unwrap(), "proposed", "{fault:?}");
        }
    }

    #[tokio::test]
    async fn of_several_that_notice_one_begins_the_next_history() {
        let store = MemoryStore::new();
        let known = identify(&store, "/p/", proposal("first")).await.unwrap();
        let anew = |id: &str| known.record().begun_anew(id, WallMillis(0));
        let next = replace(&store, "/p/", Some(&known), &anew("second")).await.unwrap().unwrap();
        assert_eq!((next.id(), next.record().epoch_offset), ("second", 1 << 32));
        assert_eq!(replace(&store, "/p/", Some(&known), &anew("third")).await.unwrap(), None);
        assert_eq!(replace(&store, "/p/", None, &anew("third")).await.unwrap(), None);
        assert_eq!(read(&store, "/p/").await.unwrap().0, Some(next));
    }

    #[tokio::test]
    async fn a_lost_answer_is_looked_up() {
        let store = FaultyStore::new(MemoryStore::new(), 0);
        let next = ClusterRecord::new("first");
        store.script([Some(Fault::LoseAnswer)]);
        assert_eq!(replace(&store, "/p/", None, &next).await.unwrap().unwrap().id(), "first");
        let known = read(&store, "/p/").await.unwrap().0;
        store.script([Some(Fault::LoseRequest)]);
        assert!(
            replace(&store, "/p/", known.as_ref(), &next.begun_anew("second", WallMillis(0))).await.is_err()
        );
    }
}
