//! Restarts, freezes, lost networks and dead endpoints: they cost retries, nothing else.

use std::time::Duration;

use futures::StreamExt;
use kafka_assigner_rig::free_port;
use kafka_assigner_store::{Error, Store};
use kafka_assigner_types::kv::{Op, Revision, Txn};
use tokio::time::timeout;

use super::proxy::Proxy;
use super::{EtcdOptions, PATIENCE, error_within, hasty, insist, private_etcd, put, store, values_to};

/// The bound of [`hasty`] calls, with some time for a loaded machine.
const BOUND: Duration = Duration::from_secs(4);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_etcd_costs_no_lease_and_no_watch() {
    let Some(mut etcd) = private_etcd() else { return };
    let store = store(&EtcdOptions::new([etcd.endpoint()]));
    let lease = store.grant(Duration::from_secs(20)).await.unwrap();
    let leased = Txn::guarded(Vec::new(), vec![Op::put_leased("/a/leased", "0", lease.id)]);
    let start = store.txn(leased).await.unwrap().revision;
    let mut watch = store.watch(b"/a/", start.next()).await.unwrap();
    for round in ["1", "2", "3"] {
        let before = put(&store, "/a/k", round).await.unwrap();
        assert_eq!(values_to(&mut watch, before).await, [round]);
        store.keep_alive(lease.id).await.unwrap();

        etcd.restart().unwrap();

        assert_eq!(insist(|| store.keep_alive(lease.id)).await, lease.ttl);
        let after = insist(|| put(&store, "/a/k", "after")).await;
        assert_eq!(values_to(&mut watch, after).await.last().unwrap(), "after");
    }
    assert!(store.get(b"/a/leased").await.unwrap().0.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_to_a_frozen_etcd_returns_within_its_bound() {
    let Some(etcd) = private_etcd() else { return };
    let store = store(&hasty([etcd.endpoint()]));
    let lease = insist(|| store.grant(PATIENCE)).await.id;
    let start = insist(|| put(&store, "/a/k", "before")).await;
    let mut watch = insist(|| store.watch(b"/a/", start.next())).await;
    insist(|| store.keep_alive(lease)).await;

    etcd.freeze().unwrap();

    let (range, get, txn, revoke, grant, renewed, left, watched) = tokio::join!(
        error_within(BOUND, store.range(b"/a/")),
        error_within(BOUND, store.get(b"/a/k")),
        error_within(BOUND, put(&store, "/a/frozen", "")),
        error_within(BOUND, store.revoke(lease)),
        error_within(BOUND, store.grant(PATIENCE)),
        error_within(BOUND, store.keep_alive(lease)),
        error_within(BOUND, store.time_to_live(lease)),
        async { timeout(BOUND, store.watch(b"/b/", start)).await.expect("every call has a bound").err() },
    );
    for error in [range, get, left, watched.expect("nobody confirms it")] {
        assert!(matches!(error, Error::Unavailable { .. }), "nothing was read: {error:?}");
    }
    for error in [txn, revoke, grant, renewed] {
        assert!(matches!(error, Error::Unknown { .. }), "it may have happened: {error:?}");
    }

    etcd.thaw().unwrap();

    let after = insist(|| put(&store, "/a/k", "after")).await;
    let values = values_to(&mut watch, after).await;
    assert!(values.contains(&"after".to_owned()), "what was unknown may have come later still: {values:?}");
    insist(|| store.range(b"/a/")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_first_endpoint_is_passed_over() {
    let Some(etcd) = private_etcd() else { return };
    let dead = format!("http://127.0.0.1:{}", free_port().unwrap());
    let store = store(&EtcdOptions::new([dead, etcd.endpoint()]));
    let lease = store.grant(PATIENCE).await.unwrap();
    let start = put(&store, "/a/k", "1").await.unwrap();
    let mut watch = store.watch(b"/a/", start).await.unwrap();
    assert_eq!(values_to(&mut watch, start).await, ["1"]);
    assert_eq!(store.keep_alive(lease.id).await.unwrap(), lease.ttl);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_at_all_means_that_nothing_was_sent() {
    if private_etcd().is_none() {
        return;
    }
    let dead = || format!("http://127.0.0.1:{}", free_port().unwrap());
    let store = store(&hasty([dead(), dead()]));
    let error = error_within(BOUND, put(&store, "/a/k", "")).await;
    assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_and_leases_move_to_the_other_endpoint() {
    let Some(etcd) = private_etcd() else { return };
    let [first, second] = [Proxy::to(&etcd.endpoint()).await, Proxy::to(&etcd.endpoint()).await];
    let store = store(&hasty([first.endpoint(), second.endpoint()]));
    let lease = insist(|| store.grant(PATIENCE)).await;
    let start = insist(|| put(&store, "/a/k", "0")).await;
    let mut watch = insist(|| store.watch(b"/a/", start.next())).await;
    for (cut, other) in [(&first, &second), (&second, &first), (&first, &second)] {
        other.mend();
        cut.cut();
        assert_eq!(insist(|| store.keep_alive(lease.id)).await, lease.ttl);
        let after = insist(|| put(&store, "/a/k", "after")).await;
        assert_eq!(values_to(&mut watch, after).await.last().unwrap(), "after");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_that_was_cut_off_misses_nothing_and_repeats_nothing() {
    let Some(etcd) = private_etcd() else { return };
    let proxy = Proxy::to(&etcd.endpoint()).await;
    let cut_off = store(&hasty([proxy.endpoint()]));
    let direct = store(&EtcdOptions::new([etcd.endpoint()]));
    let start = put(&direct, "/a/k", "start").await.unwrap();
    let mut watch = insist(|| cut_off.watch(b"/a/", start.next())).await;
    let (mut written, mut last) = (Vec::new(), Revision(0));
    for n in 0..300 {
        match n % 60 {
            20 => proxy.cut(),
            40 => proxy.mend(),
            _ => {}
        }
        written.push(n.to_string());
        last = put(&direct, "/a/k", &n.to_string()).await.unwrap();
    }
    assert_eq!(values_to(&mut watch, last).await, written);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_beyond_a_cut_off_watch_is_reported() {
    let Some(etcd) = private_etcd() else { return };
    let proxy = Proxy::to(&etcd.endpoint()).await;
    let cut_off = store(&hasty([proxy.endpoint()]));
    let direct = store(&EtcdOptions::new([etcd.endpoint()]));
    let start = put(&direct, "/a/k", "0").await.unwrap();
    let mut watch = insist(|| cut_off.watch(b"/a/", start)).await;
    assert_eq!(values_to(&mut watch, start).await, ["0"]);

    proxy.cut();
    put(&direct, "/a/k", "missed").await.unwrap();
    let oldest = put(&direct, "/a/k", "kept").await.unwrap();
    direct.compact(oldest).await.unwrap();
    proxy.mend();

    let item = timeout(PATIENCE, watch.next()).await.expect("it is reported").expect("as an item");
    match item {
        Err(Error::Compacted { asked, oldest: left }) => assert_eq!((asked, left), (start.next(), oldest)),
        other => panic!("a change is missing: {other:?}"),
    }
    assert!(watch.next().await.is_none(), "it ends after its first error");
}
