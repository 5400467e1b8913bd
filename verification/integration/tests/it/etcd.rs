//! The store against etcd processes of its own, which are restarted, frozen, filled and cut off.

mod auth;
mod conformance;
mod outages;
mod proxy;
mod quota;
mod reading;
mod shared;
mod tls;

use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use futures::StreamExt;
use kafka_assigner_rig::{Etcd, EtcdConfig, etcd_binary};
use kafka_assigner_types::kv::{Change, Op, Revision, Txn};
use tokio::time::{sleep, timeout};

use kafka_assigner_store::{Error, Store, Watch};
use kafka_assigner_store::{EtcdOptions, EtcdStore};

/// Whatever has to come, comes within this time on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// An etcd for this test alone; `None` skips the test.
fn private_etcd() -> Option<Etcd> {
    Some(Etcd::start(&EtcdConfig::new(etcd_binary()?)).expect("etcd starts"))
}

/// Options with short bounds, so that tests of outages are short; on a loaded machine a call that is to succeed may
/// outlast them, and is [insisted](insist) on.
fn hasty<T: Into<String>>(endpoints: impl IntoIterator<Item = T>) -> EtcdOptions {
    let mut options = EtcdOptions::new(endpoints);
    options.connect_timeout = Duration::from_millis(500);
    options.attempt_timeout = Duration::from_millis(800);
    options.request_timeout = Duration::from_secs(2);
    options.ping_interval = Duration::from_secs(1);
    options.ping_timeout = Duration::from_secs(1);
    options
}

fn store(options: &EtcdOptions) -> EtcdStore {
    EtcdStore::new(options).expect("the options are valid")
}

async fn put(store: &EtcdStore, key: &str, value: &str) -> Result<Revision, Error> {
    let txn = Txn::guarded(Vec::new(), vec![Op::put(key.to_owned(), value.to_owned())]);
    Ok(store.txn(txn).await?.revision)
}

/// Repeats a call while the store is away.
async fn insist<T, F: Future<Output = Result<T, Error>>>(call: impl Fn() -> F) -> T {
    let insisting = async {
        loop {
            match call().await {
                Ok(value) => return value,
                Err(error) => assert!(error.is_transient(), "{error:?}"),
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, insisting).await.expect("the store comes back")
}

/// Reads a watch up to a revision and returns the values of the puts.
async fn values_to(watch: &mut Watch, revision: Revision) -> Vec<String> {
    let mut values = Vec::new();
    let reading = async {
        loop {
            let batch = watch.next().await.expect("it goes on").expect("without an error");
            values.extend(batch.changes.iter().filter_map(value));
            if batch.revision >= revision {
                return;
            }
        }
    };
    timeout(PATIENCE, reading).await.expect("the watch gets there");
    values
}

fn value(change: &Change) -> Option<String> {
    match change {
        Change::Put(record) => Some(String::from_utf8_lossy(&record.value).into_owned()),
        Change::Delete { .. } => None,
    }
}

/// The error of a call that must fail within `bound`.
async fn error_within<T: Debug>(bound: Duration, call: impl Future<Output = Result<T, Error>>) -> Error {
    timeout(bound, call).await.expect("every call has a bound").expect_err("nobody is there")
}
