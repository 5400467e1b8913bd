//! The identity of the store: written once, and replaced when the store begins another history.

use std::sync::Arc;

use bytes::Bytes;
use kafka_assigner_core::key::ClusterLayout;
use kafka_assigner_core::record::{ClusterRecord, decode, encode};
use kafka_assigner_store::{Error, Store};
use kafka_assigner_types::kv::{Compare, Must, Op, Record, Revision, Txn, TxnOutcome};

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

/// The identity of the store: a random `proposal`, written by the first instance.
///
/// # Errors
/// Where the store can't be read or written.
pub(crate) async fn identify(
    store: &dyn Store,
    prefix: &str,
    proposal: String,
) -> Result<StoreIdentity, Error> {
    let key = ClusterLayout::new(prefix).cluster();
    let txn = Txn {
        compares: vec![Compare::new(key.clone(), Must::BeAbsent)],
        then: vec![Op::put(key.clone(), encode(&ClusterRecord::new(proposal))), Op::Get { key: key.clone() }],
        or_else: vec![Op::Get { key }],
    };
    let outcome = insist(store, txn).await?;
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

/// How often a store is asked whose answers are lost. The member of etcd in use may go just then, and its successor
/// too; more is an outage, and then whoever starts the instance should hear of it.
const ASKED: usize = 3;

/// Carries out a transaction that comes to the same when it is carried out twice.
async fn insist(store: &dyn Store, txn: Txn) -> Result<TxnOutcome, Error> {
    for _ in 1..ASKED {
        match store.txn(txn.clone()).await {
            Err(Error::Unknown { .. }) => {}
            answered => return answered,
        }
    }
    store.txn(txn).await
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
        identify(&store, "/p/", "proposed".to_owned()).await.map(|identity| identity.id().to_owned())
    }

    #[tokio::test]
    async fn a_lost_answer_does_not_keep_an_instance_from_starting() {
        assert_eq!(start(&[Fault::LoseAnswer]).await.unwrap(), "proposed");
        assert_eq!(start(&[Fault::LoseRequest, Fault::LoseAnswer]).await.unwrap(), "proposed");
    }

    #[tokio::test]
    async fn a_store_that_does_not_answer_is_told_to_whoever_starts_the_instance() {
        assert!(start(&[Fault::LoseRequest; ASKED]).await.is_err());
        assert!(start(&[Fault::Refuse]).await.is_err());
    }

    #[tokio::test]
    async fn of_several_that_notice_one_begins_the_next_history() {
        let store = MemoryStore::new();
        let known = identify(&store, "/p/", "first".to_owned()).await.unwrap();
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
