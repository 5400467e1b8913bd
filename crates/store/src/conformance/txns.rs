//! Transactions: guards, atomicity, limits.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::join_all;
use kafka_assigner_types::kv::{Compare, LeaseId, Must, Op, Revision, Txn};

use super::bench::{Bench, Outcome, PATIENCE, list_cases};
use crate::error::Error;

list_cases![
    every_kind_of_compare_holds_and_fails_where_it_should,
    on_an_absent_key_only_absence_holds,
    a_guard_over_a_range_looks_at_every_key_of_it,
    a_failed_guard_applies_the_other_branch_alone,
    one_failed_compare_of_many_fails_the_guard,
    a_transaction_is_one_revision,
    reads_see_what_their_branch_did_before_them,
    deleting_a_prefix_leaves_its_neighbours,
    a_transaction_at_the_limits_is_taken,
    a_transaction_over_a_limit_is_refused_by_name,
    a_key_is_changed_once_in_a_branch,
    an_empty_key_is_refused,
    a_put_on_an_unknown_lease_applies_nothing,
    exactly_one_of_many_guarded_writers_wins,
    no_increment_under_a_guard_is_lost,
];

async fn guard(bench: &Bench, tail: &str, must: Must) -> Result<bool, Error> {
    let txn = Txn::guarded(vec![Compare::new(bench.key(tail), must)], Vec::new());
    Ok(bench.store.txn(txn).await?.succeeded)
}

async fn every_kind_of_compare_holds_and_fails_where_it_should(bench: Bench) -> Outcome {
    let lease = bench.store.grant(PATIENCE).await?.id;
    let created = bench.apply(vec![Op::put_leased(bench.key("a"), "old", lease)]).await?.revision;
    let changed = bench.apply(vec![Op::put_leased(bench.key("a"), "new", lease)]).await?.revision;
    let table = [
        (Must::Exist, true),
        (Must::BeAbsent, false),
        (Must::HaveCreateRevision(created), true),
        (Must::HaveCreateRevision(changed), false),
        (Must::HaveModRevision(changed), true),
        (Must::HaveModRevision(created), false),
        (Must::HaveLease(lease), true),
        (Must::HaveLease(LeaseId::NONE), false),
        (Must::HaveValue("new".into()), true),
        (Must::HaveValue("old".into()), false),
        (Must::HaveValue("newer".into()), false),
    ];
    for (must, holds) in table {
        assert_eq!(guard(&bench, "a", must.clone()).await?, holds, "{must:?}");
    }
    bench.put("a", "new").await?;
    assert!(guard(&bench, "a", Must::HaveLease(LeaseId::NONE)).await?, "it hangs on no lease");
    Ok(bench.store.revoke(lease).await?)
}

async fn a_guard_over_a_range_looks_at_every_key_of_it(bench: Bench) -> Outcome {
    let before = bench.put("neighbour", "").await?;
    assert!(guard(&bench, "d/", Must::HaveNoKeys).await?, "there is none");
    assert!(guard(&bench, "d/", Must::HaveNoChangesSince(Revision(1))).await?, "there is none");
    let first = bench.put("d/a", "").await?;
    let second = bench.put("d/b", "").await?;
    bench.put("e", "").await?;
    assert!(!guard(&bench, "d/", Must::HaveNoKeys).await?);
    for (since, holds) in [(before, false), (first, false), (second, true)] {
        assert_eq!(guard(&bench, "d/", Must::HaveNoChangesSince(since)).await?, holds, "{since}");
    }
    bench.apply(vec![Op::delete(bench.key("d/b"))]).await?;
    assert!(guard(&bench, "d/", Must::HaveNoChangesSince(first)).await?, "what is gone does not count");
    Ok(())
}

async fn on_an_absent_key_only_absence_holds(bench: Bench) -> Outcome {
    bench.put("a", "").await?;
    bench.apply(vec![Op::delete(bench.key("a"))]).await?;
    for tail in ["a", "never"] {
        assert!(guard(&bench, tail, Must::BeAbsent).await?);
        let others = [
            Must::Exist,
            Must::HaveModRevision(Revision(0)),
            Must::HaveCreateRevision(Revision(0)),
            Must::HaveLease(LeaseId::NONE),
            Must::HaveValue(Bytes::new()),
        ];
        for must in others {
            assert!(!guard(&bench, tail, must.clone()).await?, "{must:?} on the absent {tail}");
        }
    }
    Ok(())
}

async fn a_failed_guard_applies_the_other_branch_alone(bench: Bench) -> Outcome {
    let txn = Txn {
        compares: vec![Compare::new(bench.key("guard"), Must::Exist)],
        then: vec![Op::put(bench.key("then"), "")],
        or_else: vec![Op::put(bench.key("else/1"), ""), Op::put(bench.key("else/2"), "")],
    };
    let outcome = bench.store.txn(txn.clone()).await?;
    assert!(!outcome.succeeded);
    let listed = bench.list().await?;
    assert_eq!(bench.tails().await?, ["else/1", "else/2"]);
    assert!(listed.records.iter().all(|record| record.mod_revision == outcome.revision));
    bench.put("guard", "").await?;
    assert!(bench.store.txn(txn).await?.succeeded);
    assert!(bench.exists("then").await?);
    assert_eq!(
        bench.record("else/1").await?.mod_revision,
        outcome.revision,
        "untouched by the branch not taken"
    );
    Ok(())
}

async fn one_failed_compare_of_many_fails_the_guard(bench: Bench) -> Outcome {
    bench.put("a", "").await?;
    let compares = vec![Compare::new(bench.key("a"), Must::Exist), Compare::new(bench.key("b"), Must::Exist)];
    let outcome = bench.store.txn(Txn::guarded(compares, vec![Op::put(bench.key("c"), "")])).await?;
    assert!(!outcome.succeeded && !bench.exists("c").await?);
    Ok(())
}

async fn a_transaction_is_one_revision(bench: Bench) -> Outcome {
    bench.put("old", "").await?;
    let ops = vec![Op::put(bench.key("a"), "1"), Op::delete(bench.key("old")), Op::put(bench.key("b"), "2")];
    let outcome = bench.apply(ops).await?;
    let listed = bench.list().await?;
    assert_eq!(bench.tails().await?, ["a", "b"]);
    assert!(listed.records.iter().all(|record| record.mod_revision == outcome.revision));
    Ok(())
}

async fn reads_see_what_their_branch_did_before_them(bench: Bench) -> Outcome {
    bench.put("a", "old").await?;
    let read = Op::Get { key: bench.key("a") };
    let absent = Op::Get { key: bench.key("b") };
    let ops = vec![read.clone(), Op::put(bench.key("a"), "new"), absent, read];
    let outcome = bench.apply(ops).await?;
    let values: Vec<_> =
        outcome.reads.iter().map(|read| read.as_ref().map(|record| &record.value[..])).collect();
    assert_eq!(values, [Some(&b"old"[..]), None, Some(&b"new"[..])]);
    let last = outcome.reads[2].as_ref().expect("it exists");
    assert_eq!(last.mod_revision, outcome.revision);
    Ok(())
}

async fn deleting_a_prefix_leaves_its_neighbours(bench: Bench) -> Outcome {
    let tails = ["a", "a/1", "a/2", "a0", "b"];
    bench.apply(tails.iter().map(|tail| Op::put(bench.key(tail), "")).collect()).await?;
    bench.apply(vec![Op::DeletePrefix { prefix: bench.key("a/") }]).await?;
    assert_eq!(bench.tails().await?, ["a", "a0", "b"]);
    Ok(())
}

/// A transaction with so many compares and so many operations.
fn sized(bench: &Bench, compares: usize, operations: usize) -> Txn {
    let tail = |n: usize| bench.key(format!("{n:04}"));
    Txn::guarded(
        (0..compares).map(|n| Compare::new(tail(n), Must::BeAbsent)).collect(),
        (0..operations).map(|n| Op::put(tail(n), "")).collect(),
    )
}

async fn a_transaction_at_the_limits_is_taken(bench: Bench) -> Outcome {
    let limits = bench.store.limits();
    let outcome = bench.store.txn(sized(&bench, limits.operations, limits.operations)).await?;
    assert!(outcome.succeeded);
    assert_eq!(bench.list().await?.records.len(), limits.operations);
    let mut txn = Txn::guarded(Vec::new(), vec![Op::put(bench.key("large"), "")]);
    let value = vec![b'x'; limits.bytes - txn.bytes()];
    txn.then = vec![Op::put(bench.key("large"), value)];
    assert_eq!(txn.bytes(), limits.bytes);
    assert!(bench.store.txn(txn).await?.succeeded);
    Ok(())
}

async fn a_transaction_over_a_limit_is_refused_by_name(bench: Bench) -> Outcome {
    let limits = bench.store.limits();
    let many = limits.operations + 1;
    let over_in_else = Txn { or_else: sized(&bench, 0, many).then, ..Txn::default() };
    let large = Txn::guarded(Vec::new(), vec![Op::put(bench.key("large"), vec![0; limits.bytes])]);
    let table = [
        (sized(&bench, many, 1), "compares", many, limits.operations),
        (sized(&bench, 1, many), "operations", many, limits.operations),
        (over_in_else, "operations", many, limits.operations),
        (large.clone(), "bytes", large.bytes(), limits.bytes),
    ];
    for (txn, what, size, limit) in table {
        match bench.store.txn(txn).await {
            Err(Error::TooLarge { what: w, size: s, limit: l }) => assert_eq!((w, s, l), (what, size, limit)),
            other => panic!("too many {what} are refused, not {other:?}"),
        }
    }
    assert!(bench.list().await?.records.is_empty(), "nothing was applied");
    Ok(())
}

async fn a_key_is_changed_once_in_a_branch(bench: Bench) -> Outcome {
    let put = || Op::put(bench.key("a/1"), "");
    let branches = [
        vec![put(), put()],
        vec![put(), Op::delete(bench.key("a/1"))],
        vec![Op::DeletePrefix { prefix: bench.key("a/") }, put()],
    ];
    for branch in branches {
        let refused = bench.apply(branch.clone()).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{branch:?}: {refused:?}");
    }
    assert!(bench.list().await?.records.is_empty(), "nothing was applied");
    let deletions = vec![Op::delete(bench.key("a/1")), Op::DeletePrefix { prefix: bench.key("a/") }];
    assert!(bench.apply(deletions).await?.succeeded, "overlapping deletions do no harm");
    Ok(())
}

async fn an_empty_key_is_refused(bench: Bench) -> Outcome {
    let empty = [Op::put("", "x"), Op::delete(""), Op::DeletePrefix { prefix: Bytes::new() }];
    for op in empty {
        let refused = bench.apply(vec![op.clone()]).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{op:?}: {refused:?}");
    }
    Ok(())
}

async fn a_put_on_an_unknown_lease_applies_nothing(bench: Bench) -> Outcome {
    let lease = bench.store.grant(PATIENCE).await?.id;
    bench.store.revoke(lease).await?;
    let ops = vec![Op::put(bench.key("a"), ""), Op::put_leased(bench.key("b"), "", lease)];
    match bench.apply(ops).await {
        Err(Error::LeaseNotFound(named)) => assert_eq!(named, lease),
        other => panic!("the ended lease is named, not {other:?}"),
    }
    assert!(bench.list().await?.records.is_empty());
    Ok(())
}

async fn exactly_one_of_many_guarded_writers_wins(bench: Bench) -> Outcome {
    let key = bench.key("prize");
    let writers = (0..16).map(|n| {
        let store = Arc::clone(&bench.store);
        let absent = vec![Compare::new(key.clone(), Must::BeAbsent)];
        let txn = Txn::guarded(absent, vec![Op::put(key.clone(), format!("{n}"))]);
        async move { tokio::spawn(async move { store.txn(txn).await }).await.expect("no panic") }
    });
    let outcomes: Vec<_> = join_all(writers).await.into_iter().collect::<Result<_, _>>()?;
    let winners: Vec<_> = (0..16).filter(|n| outcomes[*n].succeeded).collect();
    assert_eq!(winners.len(), 1);
    assert_eq!(bench.record("prize").await?.value, winners[0].to_string());
    Ok(())
}

async fn no_increment_under_a_guard_is_lost(bench: Bench) -> Outcome {
    bench.put("count", "0").await?;
    let tries = join_all((0..8).map(|_| increments(&bench, 20))).await;
    let done: u32 = tries.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().sum();
    assert_eq!(bench.record("count").await?.value, done.to_string());
    assert!(done >= 20, "somebody always wins");
    Ok(())
}

/// Tries to add one so many times and returns how often it did.
async fn increments(bench: &Bench, tries: u32) -> Result<u32, Error> {
    let mut done = 0;
    for _ in 0..tries {
        let record = bench.record("count").await?;
        let count: u32 =
            std::str::from_utf8(&record.value).ok().and_then(|it| it.parse().ok()).expect("a number");
        let read = Compare::new(bench.key("count"), Must::HaveModRevision(record.mod_revision));
        let add = Op::put(bench.key("count"), (count + 1).to_string());
        done += u32::from(bench.store.txn(Txn::guarded(vec![read], vec![add])).await?.succeeded);
        tokio::task::yield_now().await;
    }
    Ok(done)
}
