//! One watch for many, over a link that breaks, falls silent, and forgets.

use kafka_assigner_types::kv::{Change, Op};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::embedded::MemoryStore;
use crate::faulty::{FaultyStore, Outage};
use crate::pace::CheckPace;
use crate::view::{self, Materialized, View};

type Link = FaultyStore<MemoryStore>;

const SOON: Duration = Duration::from_secs(1);

/// A link, the store in front of it, and a reader of everything from now on.
async fn bench() -> (Link, SharedWatch, Watch) {
    let link = FaultyStore::new(MemoryStore::new(), 1);
    let first = put(&link, "a/0").await;
    let (shared, keeper) = SharedWatch::new(Arc::new(link.clone()), "a/", Backoff::default());
    tokio::spawn(keeper.run(CancellationToken::new()));
    let watch = shared.watch(b"a/", first.next()).await.expect("it begins");
    (link, shared, watch)
}

async fn put(link: &Link, key: &'static str) -> Revision {
    let txn = Txn::guarded(Vec::new(), vec![Op::put(key, "")]);
    link.inner().txn(txn).await.expect("memory takes it").revision
}

/// The keys that a watch tells within `patience`.
async fn keys(watch: &mut Watch, count: usize, patience: Duration) -> Vec<String> {
    let mut keys = Vec::new();
    let reading = async {
        while keys.len() < count {
            let batch = watch.next().await.expect("it goes on").expect("without an error");
            keys.extend(batch.changes.iter().map(Change::key).map(|key| key.escape_ascii().to_string()));
        }
    };
    timeout(patience, reading).await.unwrap_or_else(|_| panic!("{count} changes"));
    keys
}

#[tokio::test(start_paused = true)]
async fn a_reader_does_not_notice_that_the_watch_broke() {
    let (link, shared, mut watch) = bench().await;
    put(&link, "a/1").await;
    assert_eq!(keys(&mut watch, 1, SOON).await, ["a/1"]);
    link.begin_outage(Outage::Refusing);
    put(&link, "a/2").await;
    sleep(SOON).await;
    let health = shared.health();
    assert!(health.broken_since.is_some() && health.last_error.is_some(), "{health:?}");
    link.end_outage();
    put(&link, "a/3").await;
    assert_eq!(keys(&mut watch, 2, 3 * SOON).await, ["a/2", "a/3"]);
    assert_eq!(shared.health().broken_since, None);
}

#[tokio::test(start_paused = true)]
async fn a_watch_in_a_quiet_store_is_known_to_be_whole_again() {
    let (link, shared, _watch) = bench().await;
    link.cut_watches();
    sleep(Duration::from_millis(1)).await;
    assert!(shared.health().broken_since.is_some());
    sleep(SOON).await;
    assert_eq!(shared.health().broken_since, None);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_says_nothing_is_replaced_within_ten_seconds() {
    let (link, shared, mut watch) = bench().await;
    sleep(10 * SOON).await;
    assert_eq!(shared.health(), WatchHealth::default(), "silence is peace");
    link.silence_watches();
    put(&link, "a/1").await;
    assert_eq!(keys(&mut watch, 1, 10 * SOON).await, ["a/1"]);
    assert!(shared.health().last_error.expect("it is told").contains("watch"));
    assert_eq!(shared.health().broken_since, None);
}

/// As etcd's watches do, this one stays open while the store is away.
#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_puts_its_watch_in_doubt_and_ends_no_reader() {
    let (link, shared, mut watch) = bench().await;
    sleep(SOON).await;
    link.begin_outage(Outage::Silent);
    sleep(6 * SOON).await;
    let health = shared.health();
    assert!(health.broken_since.is_some() && health.last_error.is_some(), "{health:?}");
    link.end_outage();
    sleep(3 * SOON).await;
    assert_eq!(shared.health().broken_since, None, "the store says that nothing has happened");
    put(&link, "a/1").await;
    assert_eq!(keys(&mut watch, 1, SOON).await, ["a/1"]);
    assert_eq!(link.counts().watches_cut, 0);
}

#[tokio::test(start_paused = true)]
async fn what_the_store_has_forgotten_ends_the_readers() {
    let (link, shared, mut watch) = bench().await;
    sleep(SOON).await;
    link.hold_watches();
    put(&link, "a/1").await;
    link.compact_under_watches().await.expect("memory compacts");
    link.release_watches();
    let ended = timeout(SOON, watch.next()).await.expect("it ends").expect("with a word");
    assert!(matches!(ended, Err(Error::Compacted { .. })), "{ended:?}");
    assert!(watch.next().await.is_none());
    assert_eq!(shared.position(), Revision::default(), "it has not begun anew yet");
    let listed = shared.range(b"a/").await.expect("memory answers").revision;
    let mut anew = shared.watch(b"a/", listed.next()).await.expect("it waits until it has");
    put(&link, "a/2").await;
    assert_eq!(keys(&mut anew, 1, SOON).await, ["a/2"]);
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_a_revision_elsewhere_is_told_at_once() {
    let (link, shared, mut watch) = bench().await;
    let elsewhere = put(&link, "b").await;
    // Every batch of memory's watch tells how far it is; the reader is told when it asks.
    sleep(Duration::from_millis(1)).await;
    shared.request_progress(b"a/", elsewhere);
    let told = timeout(Duration::ZERO, watch.next()).await.expect("at once");
    assert_eq!(told.expect("it goes on").expect("without an error").revision, elsewhere);
}

/// A copy of nothing: its keeper is what is looked at.
#[derive(Debug, Default)]
struct Nothing;

impl Materialized for Nothing {
    type Touched = ();

    fn apply(&mut self, _changes: &[Change], _revision: Revision) {}
}

/// All readers are told once a second how far the watch is; a check that waited for that would be done as seldom.
#[tokio::test(start_paused = true)]
async fn the_check_of_a_quiet_view_does_not_wait_where_others_write() {
    let (link, shared, _watch) = bench().await;
    let mut options = view::Options::new("a/1/");
    options.check_every = CheckPace::new(SOON / 10);
    let (view, keeper) = View::new(Arc::new(shared), options, Nothing);
    tokio::spawn(keeper.run(CancellationToken::new()));
    for _ in 0..1_000 {
        put(&link, "b").await;
        sleep(SOON / 100).await;
    }
    let health = view.health();
    assert!(health.checks > 60, "{health:?}");
}

#[tokio::test(start_paused = true)]
async fn a_store_with_thousands_of_readers_has_one_watch() {
    let (link, shared, mut watch) = bench().await;
    let mut watches = Vec::new();
    for number in 0..2_000 {
        let prefix = format!("a/{number}/");
        watches.push(shared.watch(prefix.as_bytes(), shared.position().next()).await.expect("it begins"));
    }
    let calls = link.counts();
    put(&link, "a/1999/k").await;
    assert_eq!(keys(&mut watches[1_999], 1, SOON).await, ["a/1999/k"]);
    assert_eq!(keys(&mut watch, 1, SOON).await, ["a/1999/k"]);
    link.cut_watches();
    sleep(SOON).await;
    assert_eq!(link.counts().watches_cut, calls.watches_cut + 1);
}

#[tokio::test(start_paused = true)]
async fn a_reader_waits_for_a_store_that_is_away_and_no_longer_than_it_may() {
    let link = FaultyStore::new(MemoryStore::new(), 1);
    put(&link, "a/0").await;
    link.begin_outage(Outage::Refusing);
    let (shared, keeper) = SharedWatch::new(Arc::new(link.clone()), "a/", Backoff::default());
    tokio::spawn(keeper.run(CancellationToken::new()));
    let start = Instant::now();
    let error = shared.watch(b"a/", Revision(1)).await.err().expect("it has not begun");
    assert!(matches!(error, Error::Unavailable { source: Some(_), .. }), "{error:?}");
    assert_eq!(start.elapsed(), BEGINS_WITHIN);
    link.end_outage();
    let listed = shared.range(b"a/").await.expect("memory answers").revision;
    assert!(shared.watch(b"a/", listed.next()).await.is_ok());
}
