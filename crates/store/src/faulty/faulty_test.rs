use futures::StreamExt;
use kafka_assigner_types::kv::{Compare, Must, Op};
use tokio::time::{Instant, timeout};

use super::*;

fn put(value: &str) -> Txn {
    Txn::guarded(Vec::new(), vec![Op::put("key", value.to_owned())])
}

fn link(seed: u64) -> FaultyStore<MemoryStore> {
    FaultyStore::new(MemoryStore::new(), seed)
}

async fn stored(store: &FaultyStore<MemoryStore>) -> Option<String> {
    let (record, _) = store.inner().get(b"key").await.expect("memory answers");
    record.map(|record| String::from_utf8_lossy(&record.value).into_owned())
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_does_nothing_and_says_so() {
    let store = link(0);
    store.script([Some(Fault::Refuse), None]);
    assert!(matches!(store.txn(put("a")).await, Err(Error::Unavailable { operation: "txn", .. })));
    assert_eq!(stored(&store).await, None);
    assert!(store.txn(put("a")).await.is_ok(), "the script lets the second pass");
    assert_eq!(store.counts(), Counts { refused: 1, ..Counts::default() });
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_may_be_either() {
    let store = link(0);
    store.script([Some(Fault::LoseRequest), Some(Fault::LoseAnswer)]);
    assert!(matches!(store.txn(put("a")).await, Err(Error::Unknown { .. })));
    assert_eq!(stored(&store).await, None);
    assert!(matches!(store.txn(put("a")).await, Err(Error::Unknown { .. })));
    assert_eq!(stored(&store).await.as_deref(), Some("a"));
    assert_eq!((store.counts().requests_lost, store.counts().answers_lost), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_late_call_lands_after_its_caller_has_read() {
    let store = link(0);
    store.script([Some(Fault::ApplyLate(Duration::from_secs(2)))]);
    assert!(matches!(store.txn(put("late")).await, Err(Error::Unknown { .. })));
    let (record, revision) = store.get(b"key").await.expect("the link works again");
    assert!(record.is_none());
    let mut watch = store.watch(b"key", revision.next()).await.expect("it begins");
    let batch = watch.next().await.expect("it goes on").expect("it works");
    assert_eq!(batch.changes.len(), 1, "and then it lands");
}

#[tokio::test(start_paused = true)]
async fn outages_differ_in_what_gets_through() {
    let store = link(0);
    let start = Instant::now();
    store.begin_outage(Outage::Refusing);
    assert!(matches!(store.txn(put("a")).await, Err(Error::Unavailable { .. })));
    assert_eq!(start.elapsed(), Duration::ZERO);
    store.begin_outage(Outage::Silent);
    assert!(matches!(store.txn(put("a")).await, Err(Error::Unknown { .. })));
    assert_eq!((start.elapsed(), stored(&store).await), (CALL_DEADLINE, None));
    store.begin_outage(Outage::Deaf);
    assert!(matches!(store.txn(put("a")).await, Err(Error::Unknown { .. })));
    assert_eq!(stored(&store).await.as_deref(), Some("a"));
    store.end_outage();
    assert!(store.txn(put("b")).await.is_ok());
    assert_eq!((store.counts().outages, store.counts().met_outage), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn one_instance_is_cut_off_alone() {
    let memory = MemoryStore::new();
    let [a, b] = [1, 2].map(|seed| FaultyStore::new(memory.clone(), seed));
    a.begin_outage(Outage::Refusing);
    assert!(a.txn(put("a")).await.is_err());
    assert!(b.txn(put("b")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_outage_silences_watches_or_ends_them() {
    let store = link(0);
    let mut watch = store.watch(b"key", Revision(1)).await.expect("it begins");
    store.begin_outage(Outage::Silent);
    store.inner().txn(put("a")).await.expect("memory takes it");
    assert!(timeout(Duration::from_secs(60), watch.next()).await.is_err(), "not a word");
    store.end_outage();
    assert!(watch.next().await.expect("it goes on").is_ok());
    store.begin_outage(Outage::Refusing);
    assert!(watch.next().await.expect("it ends with an error").is_err());
    assert!(watch.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_held_back_loses_its_place_in_a_compaction() {
    let store = link(0);
    let mut watch = store.watch(b"key", Revision(1)).await.expect("it begins");
    store.hold_watches();
    store.txn(put("a")).await.expect("calls pass");
    assert!(timeout(Duration::from_secs(1), watch.next()).await.is_err());
    store.compact_under_watches().await.expect("memory compacts");
    store.release_watches();
    assert!(matches!(watch.next().await, Some(Err(Error::Compacted { .. }))));
}

/// The visible results of a run, with every kind of fault.
async fn run(seed: u64) -> (Vec<String>, Counts, Duration) {
    let store = link(seed);
    store.set_rates(Rates {
        refuse: 0.1,
        lose_request: 0.1,
        lose_answer: 0.1,
        apply_late: 0.1,
        latest: Duration::from_secs(1),
        delay: Duration::from_millis(20),
        cut_watch: 0.1,
        watch_delay: Duration::from_millis(50),
    });
    let start = Instant::now();
    let mut seen = Vec::new();
    for n in 0..100 {
        let absent = vec![Compare::new("key", Must::BeAbsent)];
        let txn = Txn { compares: absent, then: put(&n.to_string()).then, or_else: vec![Op::delete("key")] };
        seen.push(format!("{:?}", store.txn(txn).await.map_err(|error| error.to_string())));
    }
    (seen, store.counts(), start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn equal_seeds_give_equal_runs() {
    let first = run(7).await;
    assert_eq!(first, run(7).await);
    assert_ne!(first, run(8).await);
    let counts = first.1;
    let each =
        [counts.refused, counts.requests_lost, counts.answers_lost, counts.applied_late, counts.delayed];
    assert!(each.iter().all(|count| *count > 0), "every kind happened: {counts:?}");
}
