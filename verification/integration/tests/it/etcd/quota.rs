//! An etcd that is full.

use std::time::Duration;

use kafka_assigner_rig::{Etcd, EtcdConfig, etcd_binary};
use kafka_assigner_store::{Error, Store};

use tokio::time::{sleep, timeout};

use super::{EtcdOptions, EtcdStore, PATIENCE, put, store};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_store_refuses_writes_by_name_and_still_reads() {
    let Some(binary) = etcd_binary() else { return };
    let mut config = EtcdConfig::new(binary);
    config.arguments.push("--quota-backend-bytes=4194304".to_owned());
    let etcd = Etcd::start(&config).unwrap();
    let store = store(&EtcdOptions::new([etcd.endpoint()]));
    let refused = timeout(PATIENCE, fill(&store)).await.expect("four megabytes are soon full");
    assert!(matches!(refused, Error::NoSpace), "{refused:?}");
    assert!(store.status().await.unwrap().out_of_space);
    assert!(store.get(b"/a/0").await.unwrap().0.is_some());
}

/// Writes until a write fails. etcd looks at the size of its file, which grows when it commits, ten times a
/// second.
async fn fill(store: &EtcdStore) -> Error {
    let large = "x".repeat(1 << 20);
    loop {
        if let Err(error) = put(store, "/a/0", &large).await {
            return error;
        }
        sleep(Duration::from_millis(20)).await;
    }
}
