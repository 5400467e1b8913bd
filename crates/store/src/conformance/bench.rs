//! The bench on which a case works.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use kafka_assigner_types::kv::{Change, Op, Record, Revision, Snapshot, Txn, TxnOutcome};
use tokio::time::timeout;

use crate::error::Error;
use crate::traits::{Store, Watch, WatchBatch};

/// A wait for something that has to come is given up after this time.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);

/// The interval of progress requests while a watch is waited for.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// The shortest time to live that every store keeps as it is asked for.
pub(super) const SHORT_TTL: Duration = Duration::from_secs(2);

/// The result of a case: assertions panic, and an unexpected error of the store ends it.
pub(super) type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// The store under test, and what the suite needs beside the trait.
#[async_trait]
pub trait Subject: Debug + Send + Sync + 'static {
    /// A handle of the store; always the same store.
    fn store(&self) -> Arc<dyn Store>;

    /// A prefix that nobody else writes under, ending in a slash.
    fn prefix(&self) -> Bytes;

    /// Makes the store forget its changes before `oldest`.
    ///
    /// # Panics
    /// When it doesn't.
    async fn compact(&self, oldest: Revision);
}

/// One promise with the code that checks it.
#[derive(Debug)]
pub struct Case {
    /// The promise that is checked.
    pub name: &'static str,
    pub(super) check: fn(Bench) -> BoxFuture<'static, Outcome>,
}

/// Lists async functions as cases under their own names.
macro_rules! list_cases {
    ($($name:ident),+ $(,)?) => {
        pub(super) const CASES: &[$crate::conformance::bench::Case] = &[$($crate::conformance::bench::Case {
            name: stringify!($name),
            check: |bench| Box::pin($name(bench)),
        }),+];
    };
}
pub(super) use list_cases;

/// The context of a case.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) subject: Arc<dyn Subject>,
    pub(super) store: Arc<dyn Store>,
    pub(super) prefix: Bytes,
}

impl Bench {
    pub(super) fn new(subject: Arc<dyn Subject>, name: &str) -> Self {
        let mut prefix = subject.prefix().to_vec();
        prefix.extend_from_slice(name.as_bytes());
        prefix.push(b'/');
        Self { store: subject.store(), subject, prefix: prefix.into() }
    }

    /// A key of this case.
    pub(super) fn key(&self, tail: impl AsRef<[u8]>) -> Bytes {
        [&self.prefix, tail.as_ref()].concat().into()
    }

    /// Writes one key without a guard.
    pub(super) async fn put(&self, tail: &str, value: &str) -> Result<Revision, Error> {
        let op = Op::put(self.key(tail), value.to_owned());
        Ok(self.apply(vec![op]).await?.revision)
    }

    /// Applies operations without a guard.
    pub(super) async fn apply(&self, ops: Vec<Op>) -> Result<TxnOutcome, Error> {
        self.store.txn(Txn::guarded(Vec::new(), ops)).await
    }

    /// The record of a key that must exist.
    pub(super) async fn record(&self, tail: &str) -> Result<Record, Error> {
        let (record, _) = self.store.get(&self.key(tail)).await?;
        Ok(record.unwrap_or_else(|| panic!("{tail} exists")))
    }

    pub(super) async fn exists(&self, tail: &str) -> Result<bool, Error> {
        Ok(self.store.get(&self.key(tail)).await?.0.is_some())
    }

    pub(super) async fn list(&self) -> Result<Snapshot, Error> {
        self.store.range(&self.prefix).await
    }

    /// The keys of this case without its prefix, as text.
    pub(super) async fn tails(&self) -> Result<Vec<String>, Error> {
        let tail = |record: &Record| record.key.slice(self.prefix.len()..).escape_ascii().to_string();
        Ok(self.list().await?.records.iter().map(tail).collect())
    }

    pub(super) async fn watch(&self, from: Revision) -> Result<Watch, Error> {
        self.store.watch(&self.prefix, from).await
    }

    /// Reads a watch until it has delivered everything up to `revision`.
    pub(super) async fn read_to(
        &self,
        watch: &mut Watch,
        revision: Revision,
    ) -> Result<Vec<WatchBatch>, Error> {
        let reading = async {
            let mut batches: Vec<WatchBatch> = Vec::new();
            while batches.last().is_none_or(|last| last.revision < revision) {
                batches.push(self.next_towards(watch, revision).await?);
            }
            Ok(batches)
        };
        timeout(PATIENCE, reading).await.unwrap_or_else(|_| panic!("the watch reaches {revision}"))
    }

    /// The next item of a watch that must go on, asking for progress meanwhile.
    pub(super) async fn next(&self, watch: &mut Watch) -> Result<WatchBatch, Error> {
        self.next_towards(watch, Revision::default()).await
    }

    async fn next_towards(&self, watch: &mut Watch, revision: Revision) -> Result<WatchBatch, Error> {
        loop {
            if let Ok(item) = timeout(ASK_EVERY, watch.next()).await {
                return item.expect("a watch ends with an error only");
            }
            self.store.request_progress(&self.prefix, revision);
        }
    }
}

/// All changes of some batches, in their order.
pub(super) fn changes(batches: &[WatchBatch]) -> Vec<Change> {
    batches.iter().flat_map(|batch| batch.changes.iter().cloned()).collect()
}

/// The records that one gets by applying changes in their order.
pub(super) fn replay(changes: &[Change]) -> BTreeMap<Bytes, Record> {
    let mut records = BTreeMap::new();
    for change in changes {
        match change {
            Change::Put(record) => records.insert(record.key.clone(), record.clone()),
            Change::Delete { key, .. } => records.remove(key),
        };
    }
    records
}
