//! One watch and one lease for everything that an instance serves.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kafka_assigner_store::election::{Election, LeaderLease, LeaseOptions, Options};
use kafka_assigner_store::{Backoff, EtcdStore, SharedWatch, Store};
use kafka_assigner_types::kv::Revision;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::proxy::Proxy;
use super::{EtcdOptions, PATIENCE, hasty, insist, private_etcd, put, store, values_to};

/// The store in front of `store`, with everything under `/a/` in one watch.
fn shared(store: &EtcdStore) -> SharedWatch {
    let (shared, keeper) = SharedWatch::new(Arc::new(store.clone()), "/a/", Backoff::default());
    tokio::spawn(keeper.run(CancellationToken::new()));
    shared
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_of_one_watch_miss_nothing_while_etcd_restarts_and_the_network_breaks() {
    let Some(mut etcd) = private_etcd() else { return };
    let proxy = Proxy::to(&etcd.endpoint()).await;
    let behind = store(&hasty([proxy.endpoint()]));
    let start = insist(|| put(&behind, "/a/1/k", "")).await;
    let shared = shared(&behind);
    let mut first = insist(|| shared.watch(b"/a/1/", start.next())).await;
    let mut second = insist(|| shared.watch(b"/a/2/", start.next())).await;
    let written = insist(|| put(&behind, "/a/1/k", "0")).await;
    assert_eq!(values_to(&mut first, written).await, ["0"]);
    etcd.restart().unwrap();
    let restarted = insist(|| put(&behind, "/a/1/k", "1")).await;
    assert_eq!(values_to(&mut first, restarted).await.last().unwrap(), "1");
    proxy.cut();
    let direct = store(&EtcdOptions::new([etcd.endpoint()]));
    let unseen = insist(|| put(&direct, "/a/1/k", "2")).await;
    let last = insist(|| put(&direct, "/a/2/k", "3")).await;
    proxy.mend();
    assert_eq!(values_to(&mut first, unseen).await, ["2"]);
    assert_eq!(values_to(&mut second, last).await, ["3"]);
}

/// Waits until the watch is, or is not, told as broken.
async fn until_broken(shared: &SharedWatch, is_broken: bool) {
    while shared.health().broken_since.is_some() != is_broken {
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_is_told_as_broken_within_ten_seconds_while_etcd_is_away_or_stands_still() {
    let Some(mut etcd) = private_etcd() else { return };
    let behind = store(&EtcdOptions::new([etcd.endpoint()]));
    let start = insist(|| put(&behind, "/a/k", "")).await;
    let shared = shared(&behind);
    let mut reader = insist(|| shared.watch(b"/a/", start.next())).await;
    let within = Duration::from_secs(10);
    etcd.freeze().unwrap();
    timeout(within, until_broken(&shared, true)).await.expect("it stands still");
    etcd.thaw().unwrap();
    timeout(within, until_broken(&shared, false)).await.expect("it goes on");
    etcd.kill();
    timeout(within, until_broken(&shared, true)).await.expect("it is away");
    etcd.restart().unwrap();
    timeout(within, until_broken(&shared, false)).await.expect("it is back");
    let last = insist(|| put(&behind, "/a/k", "1")).await;
    assert_eq!(values_to(&mut reader, last).await.last().unwrap(), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_of_a_quiet_prefix_learns_how_far_the_one_watch_is() {
    let Some(etcd) = private_etcd() else { return };
    let store = store(&EtcdOptions::new([etcd.endpoint()]));
    let shared = shared(&store);
    let start = put(&store, "/a/1/k", "").await.unwrap();
    let mut quiet = shared.watch(b"/a/1/", start.next()).await.unwrap();
    for key in ["/a/2/k", "/elsewhere"] {
        let elsewhere = put(&store, key, "").await.unwrap();
        let told = async {
            loop {
                shared.request_progress(b"/a/1/", elsewhere);
                let Ok(batch) = timeout(Duration::from_millis(50), quiet.next()).await else { continue };
                if batch.expect("it goes on").expect("without an error").revision >= elsewhere {
                    return;
                }
            }
        };
        timeout(PATIENCE, told).await.unwrap_or_else(|_| panic!("{key}"));
    }
    assert!(shared.position() > Revision::default() && shared.health().broken_since.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn terms_on_one_lease_end_one_by_one_or_together() {
    let Some(etcd) = private_etcd() else { return };
    let store = store(&EtcdOptions::new([etcd.endpoint()]));
    let shared: Arc<dyn Store> = Arc::new(shared(&store));
    let stop = CancellationToken::new();
    let (lease, keeper) = LeaderLease::new(Arc::clone(&shared), LeaseOptions::default(), stop.clone());
    let kept = tokio::spawn(keeper.run());
    let election = |key| Election::new(Arc::clone(&shared), Options::new(key, "instance"), lease.clone());
    let first = election("/a/1/leader").campaign(Duration::ZERO).await;
    let second = election("/a/2/leader").campaign(Duration::ZERO).await;
    assert_eq!(first.lease().id, second.lease().id);
    first.resign().await;
    let left = store.range(b"/a/").await.unwrap().records;
    assert_eq!(left.iter().map(|record| &record.key[..]).collect::<Vec<_>>(), [b"/a/2/leader"]);
    assert!(timeout(2 * second.lease().ttl, second.end()).await.is_err() && second.is_valid());
    stop.cancel();
    kept.await.unwrap();
    assert!(store.range(b"/a/").await.unwrap().records.is_empty() && !second.is_valid());
}
