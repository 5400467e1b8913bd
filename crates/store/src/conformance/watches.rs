//! Watches: order, batches, the past, and compaction.

use kafka_assigner_types::kv::{Change, Op, Revision};

use super::bench::{Bench, Outcome, PATIENCE, changes, list_cases, replay};

list_cases![
    a_watch_delivers_what_happens_after_a_listing,
    a_watch_from_the_past_replays_it,
    a_watch_from_ahead_begins_there,
    a_transaction_is_delivered_in_one_batch,
    a_watch_sees_its_prefix_only,
    a_watch_of_a_key_that_is_a_prefix_sees_both,
    revisions_never_go_back_within_a_watch,
    progress_is_told_without_changes,
    watches_do_not_disturb_each_other,
    a_listing_and_a_watch_make_a_copy,
];

async fn a_watch_delivers_what_happens_after_a_listing(bench: Bench) -> Outcome {
    bench.put("before", "").await?;
    let listed = bench.list().await?;
    let mut watch = bench.watch(listed.revision.next()).await?;
    bench.put("a", "1").await?;
    let last = bench.apply(vec![Op::delete(bench.key("before"))]).await?.revision;
    let seen = changes(&bench.read_to(&mut watch, last).await?);
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!(seen[0], Change::Put(bench.record("a").await?));
    assert_eq!(seen[1], Change::Delete { key: bench.key("before"), revision: last });
    Ok(())
}

async fn a_watch_from_the_past_replays_it(bench: Bench) -> Outcome {
    let first = bench.put("a", "1").await?;
    bench.put("a", "2").await?;
    bench.apply(vec![Op::delete(bench.key("a"))]).await?;
    let last = bench.put("a", "3").await?;
    let mut watch = bench.watch(first.next()).await?;
    let seen = changes(&bench.read_to(&mut watch, last).await?);
    let values: Vec<_> = seen.iter().map(value).collect();
    assert_eq!(values, [Some(&b"2"[..]), None, Some(&b"3"[..])], "not the first, and all of the others");
    Ok(())
}

fn value(change: &Change) -> Option<&[u8]> {
    match change {
        Change::Put(record) => Some(&record.value),
        Change::Delete { .. } => None,
    }
}

async fn a_watch_from_ahead_begins_there(bench: Bench) -> Outcome {
    let now = bench.put("a", "0").await?;
    let mut watch = bench.watch(Revision(now.0 + 2)).await?;
    let mut last = now;
    let mut written = Vec::new();
    while written.len() < 4 {
        last = bench.put("a", &written.len().to_string()).await?;
        written.push(last);
    }
    let seen = changes(&bench.read_to(&mut watch, last).await?);
    let revisions: Vec<_> = seen.iter().map(Change::revision).collect();
    let expected: Vec<_> = written.into_iter().filter(|revision| revision.0 >= now.0 + 2).collect();
    assert_eq!(revisions, expected);
    Ok(())
}

async fn a_transaction_is_delivered_in_one_batch(bench: Bench) -> Outcome {
    let start = bench.put("start", "").await?;
    let mut watch = bench.watch(start.next()).await?;
    let mut last = start;
    for round in 0..20 {
        let put = |n: usize| Op::put(bench.key(format!("{n:03}")), format!("{round}"));
        last = bench.apply((0..bench.store.limits().operations).map(put).collect()).await?.revision;
    }
    let batches = bench.read_to(&mut watch, last).await?;
    for batch in batches.iter().filter(|batch| !batch.changes.is_empty()) {
        assert_eq!(batch.changes.len() % bench.store.limits().operations, 0, "none is split");
        assert!(batch.changes.iter().all(|change| change.revision() <= batch.revision));
    }
    assert_eq!(changes(&batches).len(), 20 * bench.store.limits().operations);
    Ok(())
}

async fn a_watch_sees_its_prefix_only(bench: Bench) -> Outcome {
    let start = bench.put("start", "").await?;
    let mut watch = bench.store.watch(&bench.key("a/"), start.next()).await?;
    let tails = ["a", "a/", "a/1", "a0", "b"];
    let last = bench.apply(tails.iter().map(|tail| Op::put(bench.key(tail), "")).collect()).await?.revision;
    let seen = changes(&bench.read_to(&mut watch, last).await?);
    let keys: Vec<_> = seen.iter().map(|change| change.key().clone()).collect();
    assert_eq!(keys, [bench.key("a/"), bench.key("a/1")]);
    Ok(())
}

async fn a_watch_of_a_key_that_is_a_prefix_sees_both(bench: Bench) -> Outcome {
    let start = bench.put("start", "").await?;
    let mut watch = bench.store.watch(&bench.key(b"k\xff"), start.next()).await?;
    let tails: [&[u8]; 4] = [b"k", b"k\xff", b"k\xff\xff", b"l"];
    let last = bench.apply(tails.iter().map(|tail| Op::put(bench.key(tail), "")).collect()).await?.revision;
    let seen = changes(&bench.read_to(&mut watch, last).await?);
    let keys: Vec<_> = seen.iter().map(|change| change.key().clone()).collect();
    assert_eq!(keys, [bench.key(b"k\xff"), bench.key(b"k\xff\xff")]);
    Ok(())
}

async fn revisions_never_go_back_within_a_watch(bench: Bench) -> Outcome {
    let start = bench.put("start", "").await?;
    let mut watch = bench.watch(start.next()).await?;
    let mut last = start;
    for n in 0..300 {
        last = bench.put(&format!("{}", n % 7), "").await?;
    }
    let batches = bench.read_to(&mut watch, last).await?;
    assert!(batches.is_sorted_by_key(|batch| batch.revision));
    let seen = changes(&batches);
    assert_eq!(seen.len(), 300);
    assert!(seen.is_sorted_by(|a, b| a.revision() < b.revision()), "each is one transaction here");
    Ok(())
}

async fn progress_is_told_without_changes(bench: Bench) -> Outcome {
    let start = bench.put("watched/a", "").await?;
    let mut watch = bench.store.watch(&bench.key("watched/"), start.next()).await?;
    let elsewhere = bench.put("other", "").await?;
    let batches = bench.read_to(&mut watch, elsewhere).await?;
    assert!(changes(&batches).is_empty());
    Ok(())
}

async fn watches_do_not_disturb_each_other(bench: Bench) -> Outcome {
    let start = bench.put("start", "").await?;
    let mut kept = bench.watch(start.next()).await?;
    let unread = bench.watch(start.next()).await?;
    let dropped = bench.watch(start.next()).await?;
    drop(dropped);
    let mut last = start;
    for n in 0..500 {
        last = bench.put("a", &n.to_string()).await?;
    }
    assert_eq!(changes(&bench.read_to(&mut kept, last).await?).len(), 500);
    drop(unread);
    Ok(())
}

/// The way in which every view works, under changes of all kinds.
async fn a_listing_and_a_watch_make_a_copy(bench: Bench) -> Outcome {
    let start = bench.put("start", "").await?;
    let mut watch = bench.watch(start).await?;
    let mut last = start;
    for round in 0..60_usize {
        let lease = bench.store.grant(PATIENCE).await?.id;
        let (a, b) = (format!("{}", round % 5), format!("{}", 5 + round % 7));
        bench.apply(vec![Op::put_leased(bench.key(&a), "", lease), Op::put(bench.key(&b), "x")]).await?;
        match round % 3 {
            0 => bench.store.revoke(lease).await?,
            1 => drop(bench.apply(vec![Op::delete(bench.key(&b))]).await?),
            _ => {}
        }
        last = bench.put("end", "").await?;
    }
    let copy = replay(&changes(&bench.read_to(&mut watch, last).await?));
    let listed = bench.list().await?;
    assert_eq!(copy.into_values().collect::<Vec<_>>(), listed.records);
    Ok(())
}
