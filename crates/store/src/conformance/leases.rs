//! Leases and the keys that hang on them.

use std::time::Duration;

use kafka_assigner_types::kv::{Change, LeaseId, Op, Revision};
use tokio::time::{Instant, sleep};

use super::bench::{Bench, Outcome, PATIENCE, SHORT_TTL, changes, list_cases};
use crate::error::Error;
use crate::traits::WatchBatch;

list_cases![
    a_granted_lease_lives_at_least_as_long_as_asked,
    keys_of_an_expired_lease_vanish_together,
    an_expiry_is_seen_by_a_watch_that_nobody_helps,
    keys_of_a_revoked_lease_vanish_together,
    revoking_twice_is_no_error,
    a_lease_that_is_kept_alive_outlives_its_ttl,
    keep_alive_fails_for_good_once_a_lease_ended,
    a_put_moves_the_key_to_its_own_lease,
    a_deleted_key_leaves_its_lease,
    the_time_to_live_is_never_shown_too_short,
    leases_have_different_ids,
];

async fn a_granted_lease_lives_at_least_as_long_as_asked(bench: Bench) -> Outcome {
    let start = Instant::now();
    let lease = bench.store.grant(Duration::from_millis(2_500)).await?;
    assert!(lease.ttl >= Duration::from_millis(2_500), "{lease:?}");
    assert_ne!(lease.id, LeaseId::NONE);
    bench.apply(vec![Op::put_leased(bench.key("a"), "", lease.id)]).await?;
    let gone = wait_for_deletion(&bench, "a").await?;
    assert!(start.elapsed() >= Duration::from_millis(2_500), "gone at {gone} after {:?}", start.elapsed());
    Ok(())
}

/// Waits until a key that exists now is deleted.
async fn wait_for_deletion(bench: &Bench, tail: &str) -> Result<Revision, Error> {
    let (record, revision) = bench.store.get(&bench.key(tail)).await?;
    assert!(record.is_some(), "{tail} exists");
    let mut watch = bench.watch(revision.next()).await?;
    loop {
        let batch = bench.next(&mut watch).await?;
        let deleted =
            |change: &&Change| matches!(change, Change::Delete { key, .. } if *key == bench.key(tail));
        if let Some(change) = batch.changes.iter().find(deleted) {
            return Ok(change.revision());
        }
    }
}

/// Hangs three keys on a lease, one of them without it again, and returns the batch that ends the lease.
async fn batch_of_the_end(bench: &Bench, lease: LeaseId, revoke: bool) -> Result<WatchBatch, Error> {
    let leased = |tail: &str| Op::put_leased(bench.key(tail), "", lease);
    let ops = vec![leased("a"), leased("b"), leased("c"), Op::put(bench.key("free"), "")];
    let written = bench.apply(ops).await?.revision;
    let mut watch = bench.watch(written.next()).await?;
    if revoke {
        bench.store.revoke(lease).await?;
    }
    loop {
        let batch = bench.next(&mut watch).await?;
        if !batch.changes.is_empty() {
            return Ok(batch);
        }
    }
}

async fn ends_together(bench: &Bench, batch: &WatchBatch) -> Outcome {
    let ends = changes(std::slice::from_ref(batch));
    let keys: Vec<_> = ends.iter().map(|change| change.key().clone()).collect();
    assert_eq!(keys, [bench.key("a"), bench.key("b"), bench.key("c")]);
    assert!(ends.iter().all(|change| matches!(change, Change::Delete { .. })));
    assert!(ends.iter().all(|change| change.revision() == ends[0].revision()), "{ends:?}");
    assert_eq!(bench.tails().await?, ["free"]);
    Ok(())
}

async fn keys_of_an_expired_lease_vanish_together(bench: Bench) -> Outcome {
    let lease = bench.store.grant(SHORT_TTL).await?;
    let batch = batch_of_the_end(&bench, lease.id, false).await?;
    ends_together(&bench, &batch).await?;
    assert_eq!(bench.store.time_to_live(lease.id).await?, None);
    Ok(())
}

async fn keys_of_a_revoked_lease_vanish_together(bench: Bench) -> Outcome {
    let lease = bench.store.grant(PATIENCE).await?;
    let batch = batch_of_the_end(&bench, lease.id, true).await?;
    ends_together(&bench, &batch).await
}

async fn an_expiry_is_seen_by_a_watch_that_nobody_helps(bench: Bench) -> Outcome {
    use futures::StreamExt;
    let lease = bench.store.grant(SHORT_TTL).await?;
    let written = bench.apply(vec![Op::put_leased(bench.key("a"), "", lease.id)]).await?.revision;
    let mut watch = bench.watch(written.next()).await?;
    // Nothing but this watch runs: no other call notices the time.
    let seen = tokio::time::timeout(PATIENCE, async {
        while let Some(batch) = watch.next().await {
            if let Some(change) = batch?.changes.first() {
                return Ok(change.clone());
            }
        }
        panic!("the watch goes on");
    });
    let change: Result<Change, Error> = seen.await?;
    assert_eq!(*change?.key(), bench.key("a"));
    Ok(())
}

async fn revoking_twice_is_no_error(bench: Bench) -> Outcome {
    let lease = bench.store.grant(PATIENCE).await?;
    bench.store.revoke(lease.id).await?;
    bench.store.revoke(lease.id).await?;
    bench.store.revoke(LeaseId(0x7fff_ffff_ffff_fff0)).await?;
    Ok(())
}

async fn a_lease_that_is_kept_alive_outlives_its_ttl(bench: Bench) -> Outcome {
    let lease = bench.store.grant(SHORT_TTL).await?;
    bench.apply(vec![Op::put_leased(bench.key("a"), "", lease.id)]).await?;
    let end = Instant::now() + 2 * lease.ttl;
    while Instant::now() < end {
        assert_eq!(bench.store.keep_alive(lease.id).await?, lease.ttl);
        sleep(lease.ttl / 4).await;
    }
    assert!(bench.exists("a").await?);
    wait_for_deletion(&bench, "a").await?;
    Ok(())
}

async fn keep_alive_fails_for_good_once_a_lease_ended(bench: Bench) -> Outcome {
    let revoked = bench.store.grant(PATIENCE).await?.id;
    bench.store.revoke(revoked).await?;
    let expired = bench.store.grant(SHORT_TTL).await?.id;
    bench.apply(vec![Op::put_leased(bench.key("a"), "", expired)]).await?;
    wait_for_deletion(&bench, "a").await?;
    for lease in [revoked, expired, LeaseId(0x7fff_ffff_ffff_fff0)] {
        match bench.store.keep_alive(lease).await {
            Err(Error::LeaseNotFound(named)) => assert_eq!(named, lease),
            other => panic!("{lease} is over, not {other:?}"),
        }
    }
    Ok(())
}

async fn a_put_moves_the_key_to_its_own_lease(bench: Bench) -> Outcome {
    let [first, second] = [bench.store.grant(PATIENCE).await?.id, bench.store.grant(PATIENCE).await?.id];
    let on = |tail: &str, lease| Op::put_leased(bench.key(tail), "", lease);
    bench.apply(vec![on("moved", first), on("freed", first), on("kept", first)]).await?;
    assert_eq!(bench.record("moved").await?.lease, first);
    bench.apply(vec![on("moved", second), on("freed", LeaseId::NONE)]).await?;
    assert_eq!(bench.record("moved").await?.lease, second);
    bench.store.revoke(first).await?;
    assert_eq!(bench.tails().await?, ["freed", "moved"]);
    bench.store.revoke(second).await?;
    assert_eq!(bench.tails().await?, ["freed"]);
    Ok(())
}

async fn a_deleted_key_leaves_its_lease(bench: Bench) -> Outcome {
    let lease = bench.store.grant(PATIENCE).await?.id;
    bench.apply(vec![Op::put_leased(bench.key("a"), "", lease)]).await?;
    bench.apply(vec![Op::delete(bench.key("a"))]).await?;
    bench.put("a", "").await?;
    bench.store.revoke(lease).await?;
    assert!(bench.exists("a").await?, "the new key has nothing to do with the lease");
    Ok(())
}

async fn the_time_to_live_is_never_shown_too_short(bench: Bench) -> Outcome {
    let before = Instant::now();
    let lease = bench.store.grant(Duration::from_secs(10)).await?;
    sleep(Duration::from_millis(1_100)).await;
    let left = bench.store.time_to_live(lease.id).await?.expect("it lives");
    assert!(left + before.elapsed() >= lease.ttl, "{left:?} of {lease:?}");
    assert!(left <= lease.ttl, "{left:?} of {lease:?}");
    let renewed = Instant::now();
    bench.store.keep_alive(lease.id).await?;
    let afresh = bench.store.time_to_live(lease.id).await?.expect("it lives");
    assert!(afresh + renewed.elapsed() >= lease.ttl, "{afresh:?} of {lease:?}");
    bench.store.revoke(lease.id).await?;
    assert_eq!(bench.store.time_to_live(lease.id).await?, None);
    Ok(())
}

async fn leases_have_different_ids(bench: Bench) -> Outcome {
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let lease = bench.store.grant(PATIENCE).await?;
        bench.store.revoke(lease.id).await?;
        assert!(ids.insert(lease.id), "{} was granted before", lease.id);
    }
    Ok(())
}
