//! Keys, their order, and listings.

use kafka_assigner_types::kv::{Op, Revision};

use super::bench::{Bench, Outcome, list_cases};
use crate::error::Error;

list_cases![
    a_record_carries_what_was_written,
    a_rewrite_keeps_the_create_revision,
    a_key_that_is_created_again_has_a_new_create_revision,
    an_absent_key_is_no_error,
    a_listing_is_in_the_order_of_the_keys,
    a_prefix_that_is_a_key_is_listed_with_what_is_under_it,
    a_prefix_of_highest_bytes_has_an_end,
    values_and_keys_may_hold_any_bytes,
    an_empty_prefix_is_the_whole_store,
    a_large_listing_shows_one_revision,
];

async fn a_record_carries_what_was_written(bench: Bench) -> Outcome {
    let revision = bench.put("a", "one").await?;
    let (record, read_at) = bench.store.get(&bench.key("a")).await?;
    let record = record.expect("it was written");
    assert_eq!((&record.key, &record.value[..]), (&bench.key("a"), &b"one"[..]));
    assert_eq!((record.create_revision, record.mod_revision), (revision, revision));
    assert!(read_at >= revision, "a read sees what was written before it");
    Ok(())
}

async fn a_rewrite_keeps_the_create_revision(bench: Bench) -> Outcome {
    let created = bench.put("a", "one").await?;
    let rewritten = bench.put("a", "two").await?;
    let record = bench.record("a").await?;
    assert!(rewritten > created, "revisions rise");
    assert_eq!((record.create_revision, record.mod_revision), (created, rewritten));
    Ok(())
}

async fn a_key_that_is_created_again_has_a_new_create_revision(bench: Bench) -> Outcome {
    let first = bench.put("a", "one").await?;
    bench.apply(vec![Op::delete(bench.key("a"))]).await?;
    let second = bench.put("a", "one").await?;
    assert!(second > first);
    assert_eq!(bench.record("a").await?.create_revision, second);
    Ok(())
}

async fn an_absent_key_is_no_error(bench: Bench) -> Outcome {
    let written = bench.put("a", "").await?;
    let (record, revision) = bench.store.get(&bench.key("b")).await?;
    assert!(record.is_none() && revision >= written);
    bench.apply(vec![Op::delete(bench.key("b"))]).await?;
    assert!(bench.store.range(&bench.key("b")).await?.records.is_empty());
    Ok(())
}

async fn a_listing_is_in_the_order_of_the_keys(bench: Bench) -> Outcome {
    for tail in ["b", "a/2", "a", "a/10", "c"] {
        bench.put(tail, "").await?;
    }
    assert_eq!(bench.tails().await?, ["a", "a/10", "a/2", "b", "c"]);
    Ok(())
}

async fn a_prefix_that_is_a_key_is_listed_with_what_is_under_it(bench: Bench) -> Outcome {
    for tail in ["ab", "ab/x", "abc", "ac", "aa"] {
        bench.put(tail, "").await?;
    }
    let listed = bench.store.range(&bench.key("ab")).await?;
    let keys: Vec<_> = listed.records.into_iter().map(|record| record.key).collect();
    assert_eq!(keys, [bench.key("ab"), bench.key("ab/x"), bench.key("abc")]);
    Ok(())
}

async fn a_prefix_of_highest_bytes_has_an_end(bench: Bench) -> Outcome {
    let tails: [&[u8]; 4] = [b"\xfe\xff", b"\xff", b"\xff\xff", b"\xff\xff\x00"];
    bench.apply(tails.iter().map(|tail| Op::put(bench.key(tail), "")).collect()).await?;
    let listed = bench.store.range(&bench.key(b"\xff\xff")).await?;
    let keys: Vec<_> = listed.records.into_iter().map(|record| record.key).collect();
    assert_eq!(keys, [bench.key(b"\xff\xff"), bench.key(b"\xff\xff\x00")]);
    // A deletion finds the same end.
    bench.apply(vec![Op::DeletePrefix { prefix: bench.key(b"\xff") }]).await?;
    assert_eq!(bench.tails().await?, [r"\xfe\xff"]);
    Ok(())
}

async fn values_and_keys_may_hold_any_bytes(bench: Bench) -> Outcome {
    let every: Vec<u8> = (0..=255).collect();
    bench.apply(vec![Op::put(bench.key(&every), every.clone())]).await?;
    let (record, _) = bench.store.get(&bench.key(&every)).await?;
    assert_eq!(record.expect("it was written").value, every);
    Ok(())
}

async fn an_empty_prefix_is_the_whole_store(bench: Bench) -> Outcome {
    bench.put("a", "").await?;
    let all = bench.store.range(b"").await?;
    assert!(all.records.iter().any(|record| record.key == bench.key("a")));
    assert!(all.records.is_sorted_by(|a, b| a.key < b.key));
    Ok(())
}

/// More records than a page holds, while another writes the first and the last of them together.
async fn a_large_listing_shows_one_revision(bench: Bench) -> Outcome {
    const RECORDS: usize = 12_000;
    let tails: Vec<_> = (0..RECORDS).map(|n| format!("{n:05}")).collect();
    for chunk in tails.chunks(bench.store.limits().operations) {
        bench.apply(chunk.iter().map(|tail| Op::put(bench.key(tail), "value")).collect()).await?;
    }
    let both = [bench.key(&tails[0]), bench.key(&tails[RECORDS - 1])];
    let write = |n: usize| bench.apply(both.iter().map(|key| Op::put(key.clone(), format!("{n}"))).collect());
    // Before the first listing, or it would see them as their chunks left them.
    write(0).await?;
    let writing = async {
        for n in 1..200 {
            write(n).await?;
            tokio::task::yield_now().await;
        }
        Ok(())
    };
    let listing = async {
        let mut before = Revision::default();
        for _ in 0..5 {
            before = listed_at_one_revision(&bench, RECORDS, before).await?;
            tokio::task::yield_now().await;
        }
        Ok(())
    };
    let done: Result<_, Box<dyn std::error::Error + Send + Sync>> = futures::try_join!(writing, listing);
    done.map(|((), ())| ())
}

async fn listed_at_one_revision(bench: &Bench, records: usize, before: Revision) -> Result<Revision, Error> {
    let listed = bench.list().await?;
    let [first, .., last] = &listed.records[..] else { panic!("many records") };
    assert_eq!(listed.records.len(), records);
    assert_eq!((&first.value, first.mod_revision), (&last.value, last.mod_revision), "written together");
    assert!(listed.records.iter().all(|record| record.mod_revision <= listed.revision));
    assert!(listed.revision >= before, "a later listing is not older");
    Ok(listed.revision)
}
