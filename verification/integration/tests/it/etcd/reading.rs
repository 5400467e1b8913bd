//! Listings of many pages, readers that fall behind, and what a store says about itself.

use std::time::Duration;

use futures::StreamExt;
use kafka_assigner_store::{Error, Store};
use kafka_assigner_types::kv::{Op, Txn};
use tokio::time::timeout;

use super::{EtcdOptions, insist, private_etcd, put, store, values_to};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listing_of_many_pages_is_whole() {
    let Some(etcd) = private_etcd() else { return };
    let store = store(&EtcdOptions::new([etcd.endpoint()]));
    let keys: Vec<String> = (0..10_240).map(|n| format!("/many/{n:05}")).collect();
    for chunk in keys.chunks(store.limits().operations) {
        let ops = chunk.iter().map(|key| Op::put(key.clone(), "")).collect();
        store.txn(Txn::guarded(Vec::new(), ops)).await.unwrap();
    }
    let last = put(&store, "/next/k", "").await.unwrap();
    let listed = store.range(b"/many/").await.unwrap();
    assert_eq!(listed.revision, last);
    assert!(listed.records.iter().map(|record| &record.key[..]).eq(keys.iter().map(String::as_bytes)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_falls_far_behind_gets_everything_in_the_end() {
    let Some(etcd) = private_etcd() else { return };
    let store = store(&EtcdOptions::new([etcd.endpoint()]));
    let start = put(&store, "/a/k", "start").await.unwrap();
    let mut slow = store.watch(b"/a/", start.next()).await.unwrap();
    let mut fast = store.watch(b"/a/", start.next()).await.unwrap();
    let (mut written, mut last) = (Vec::new(), start);
    for n in 0..1_500 {
        written.push(n.to_string());
        last = put(&store, "/a/k", &n.to_string()).await.unwrap();
        if n % 100 == 99 {
            assert_eq!(values_to(&mut fast, last).await.len(), 100, "the slow one is in nobody's way");
        }
    }
    assert_eq!(values_to(&mut slow, last).await, written);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_names_the_lease_that_is_over() {
    let Some(etcd) = private_etcd() else { return };
    let store = store(&EtcdOptions::new([etcd.endpoint()]));
    let [live, over] =
        [store.grant(super::PATIENCE).await.unwrap().id, store.grant(super::PATIENCE).await.unwrap().id];
    store.revoke(over).await.unwrap();
    let ops = vec![Op::put_leased("/a", "", live), Op::put_leased("/b", "", over)];
    match store.txn(Txn::guarded(Vec::new(), ops)).await {
        Err(Error::LeaseNotFound(lease)) => assert_eq!(lease, over),
        other => panic!("{other:?}"),
    }
    assert!(store.get(b"/a").await.unwrap().0.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_right_after_a_listing_holds_up_nobodys_progress() {
    let Some(etcd) = private_etcd() else { return };
    let store = store(&EtcdOptions::new([etcd.endpoint()]));
    let start = put(&store, "/a/k", "").await.unwrap();
    let mut quiet = store.watch(b"/a/", start.next()).await.unwrap();
    let elsewhere = put(&store, "/b/k", "").await.unwrap();
    let _listed = store.watch(b"/b/", elsewhere.next()).await.unwrap();
    let told = async {
        loop {
            store.request_progress(b"/a/", elsewhere);
            let Ok(batch) = timeout(Duration::from_millis(50), quiet.next()).await else { continue };
            if batch.expect("it goes on").expect("without an error").revision >= elsewhere {
                return;
            }
        }
    };
    timeout(super::PATIENCE, told).await.expect("the quiet watch is told");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_outlives_its_store_and_everything_ends_with_it() {
    let Some(mut etcd) = private_etcd() else { return };
    let tasks = tokio::runtime::Handle::current().metrics();
    let before = tasks.num_alive_tasks();
    let store = store(&super::hasty([etcd.endpoint()]));
    let start = insist(|| put(&store, "/a/k", "1")).await;
    let lease = insist(|| store.grant(super::PATIENCE)).await;
    insist(|| store.keep_alive(lease.id)).await;
    let mut watch = insist(|| store.watch(b"/a/", start)).await;
    drop(store);
    assert!(values_to(&mut watch, start).await.contains(&"1".to_owned()));

    etcd.kill();
    drop(watch);

    let ended = async {
        while tasks.num_alive_tasks() > before {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(super::PATIENCE, ended).await.expect("no task is left that retries for ever");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_without_trouble_says_so() {
    let Some(etcd) = private_etcd() else { return };
    let store = store(&EtcdOptions::new([etcd.endpoint()]));
    let status = store.status().await.unwrap();
    assert!(status.version.starts_with("3.") || status.version.starts_with("4."), "{status:?}");
    assert!(status.size > 0 && status.size_in_use <= status.size, "{status:?}");
    assert!(!status.out_of_space && !status.corrupt, "{status:?}");
}
