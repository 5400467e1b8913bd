//! An etcd that is full.

use kafka_assigner_testkit::{Etcd, EtcdConfig, etcd_binary};

use super::{EtcdOptions, put, store};
use crate::{Error, Store};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_store_refuses_writes_by_name_and_still_reads() {
    let Some(binary) = etcd_binary() else { return };
    let mut config = EtcdConfig::new(binary);
    config.arguments.push("--quota-backend-bytes=4194304".to_owned());
    let etcd = Etcd::start(&config).unwrap();
    let store = store(&EtcdOptions::new([etcd.endpoint()]));
    let large = "x".repeat(1 << 20);
    let mut refused = None;
    for n in 0..20 {
        refused = put(&store, &format!("/a/{n}"), &large).await.err();
        if refused.is_some() {
            break;
        }
    }
    assert!(matches!(refused, Some(Error::NoSpace)), "{refused:?}");
    assert!(store.status().await.unwrap().out_of_space);
    assert!(store.get(b"/a/0").await.unwrap().0.is_some());
}
