use std::cell::Cell;
use std::collections::BTreeMap;

use bytes::Bytes;
use kafka_assigner_types::kv::{Change, Op, Record, Txn};
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::*;
use crate::embedded::MemoryStore;
use crate::faulty::{FaultyStore, Outage, Rates};
use crate::pace::CheckPace;
use crate::view::listener::Notice;

/// The plainest copy: the records themselves. It touches the keys that changed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Copy {
    records: BTreeMap<Bytes, Record>,
    revision: Revision,
}

impl Materialized for Copy {
    type Touched = Vec<Bytes>;

    fn apply(&mut self, changes: &[Change], revision: Revision) -> Vec<Bytes> {
        self.revision = revision;
        for change in changes {
            match change {
                Change::Put(record) => self.records.insert(record.key.clone(), record.clone()),
                Change::Delete { key, .. } => self.records.remove(key),
            };
        }
        changes.iter().map(|change| change.key().clone()).collect()
    }
}

const SOON: Duration = Duration::from_secs(5);

struct Bench {
    store: FaultyStore<MemoryStore>,
    view: View<Copy>,
    stop: CancellationToken,
    _stop_at_the_end: DropGuard,
}

impl Bench {
    fn start(options: Options) -> Self {
        let store = FaultyStore::new(MemoryStore::new(), 1);
        let (view, keeper) = View::new(Arc::new(store.clone()), options, Copy::default());
        let stop = CancellationToken::new();
        tokio::spawn(keeper.run(stop.clone()));
        Self { store, view, stop: stop.clone(), _stop_at_the_end: stop.drop_guard() }
    }

    async fn apply(&self, op: Op) -> Revision {
        let txn = Txn::guarded(Vec::new(), vec![op]);
        self.store.inner().txn(txn).await.expect("memory takes it").revision
    }

    async fn put(&self, key: &'static str) -> Revision {
        self.apply(Op::put(key, "")).await
    }

    /// Waits until the view has everything and compares it with the store.
    async fn assert_equal(&self) {
        let snapshot = self.store.inner().range(b"a/").await.expect("memory answers");
        self.view.wait_until(snapshot.revision, SOON).await.expect("the view gets there");
        self.view.read(|copy, revision| {
            assert_eq!(copy.records.values().cloned().collect::<Vec<_>>(), snapshot.records);
            assert_eq!((copy.revision, revision >= snapshot.revision), (revision, true));
        });
    }

    /// Waits until the view's health is as asked.
    async fn until(&self, mut healthy: impl FnMut(&ViewHealth) -> bool) -> ViewHealth {
        let seen = self.view.health.wait_for(|health| healthy(health).then(|| health.clone()));
        timeout(Duration::from_secs(300), seen).await.expect("it comes to that")
    }
}

fn options() -> Options {
    Options::new("a/")
}

fn touched(notice: Option<Notice<Vec<Bytes>>>) -> Vec<Bytes> {
    match notice {
        Some(Notice::Touched(keys)) => keys.to_vec(),
        other => panic!("an update, not {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_view_shows_what_was_there_and_what_follows() {
    let bench = Bench::start(options());
    bench.put("a/1").await;
    bench.put("b").await;
    bench.assert_equal().await;
    bench.put("a/2").await;
    bench.apply(Op::delete("a/1")).await;
    bench.assert_equal().await;
    let health = bench.view.health();
    assert!(health.connected && health.listings == 1 && health.last_error.is_none(), "{health:?}");
}

#[tokio::test(start_paused = true)]
async fn a_view_reaches_revisions_that_do_not_concern_it() {
    let bench = Bench::start(options());
    let elsewhere = bench.put("b").await;
    bench.view.wait_until(elsewhere, SOON).await.expect("it gets there");
    assert_eq!(bench.view.revision(), elsewhere);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_leaves_a_request_for_progress_unanswered_is_asked_again() {
    let asked = Cell::new(0);
    asking(|| asked.set(asked.get() + 1), sleep(3 * ASK_EVERY + Duration::from_millis(1))).await;
    assert_eq!(asked.get(), 4);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_view_that_lags_ends() {
    let bench = Bench::start(options());
    bench.assert_equal().await;
    bench.until(|health| health.connected).await;
    bench.store.hold_watches();
    let asked = bench.put("a/1").await;
    let error = bench.view.wait_until(asked, SOON).await.expect_err("it can't");
    assert_eq!(error, Error::Behind { asked, stands_at: bench.view.revision(), within: SOON });
    bench.store.release_watches();
    bench.assert_equal().await;
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_or_listens_learns_that_the_view_has_stopped() {
    let bench = Bench::start(options());
    let mut listener = bench.view.subscribe();
    bench.stop.cancel();
    assert_eq!(bench.view.wait_until(Revision(9), SOON).await, Err(Error::Stopped));
    while listener.next().await.is_some() {}
    assert!(bench.view.subscribe().next().await.is_none());
    assert!(!bench.view.health().connected);
}

#[tokio::test(start_paused = true)]
async fn listeners_are_told_what_was_touched_once_it_can_be_read() {
    let bench = Bench::start(options());
    bench.assert_equal().await;
    bench.until(|health| health.connected).await;
    let mut listeners = [bench.view.subscribe(), bench.view.subscribe()];
    bench.put("a/1").await;
    for listener in &mut listeners {
        assert_eq!(touched(listener.next().await), ["a/1"]);
        assert!(bench.view.read(|copy, _| copy.records.contains_key(&b"a/1"[..])));
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_watch_is_made_good_by_the_difference() {
    let bench = Bench::start(options());
    for key in ["a/kept", "a/changed", "a/gone"] {
        bench.put(key).await;
    }
    bench.assert_equal().await;
    bench.until(|health| health.connected).await;
    let mut listener = bench.view.subscribe();
    bench.store.begin_outage(Outage::Refusing);
    bench.until(|health| !health.connected).await;
    bench.put("a/changed").await;
    bench.apply(Op::delete("a/gone")).await;
    bench.put("a/new").await;
    bench.store.end_outage();
    assert_eq!(touched(listener.next().await), ["a/gone", "a/changed", "a/new"]);
    bench.assert_equal().await;
    assert_eq!(bench.view.health().drifted, 0, "an outage is no drift");
}

#[tokio::test(start_paused = true)]
async fn a_compaction_under_a_lagging_watch_costs_a_listing() {
    let bench = Bench::start(options());
    bench.put("a/1").await;
    bench.assert_equal().await;
    bench.until(|health| health.connected).await;
    bench.store.hold_watches();
    bench.put("a/2").await;
    bench.store.compact_under_watches().await.expect("memory compacts");
    bench.store.release_watches();
    bench.assert_equal().await;
    let health = bench.view.health();
    assert_eq!(health.listings, 2);
    assert!(health.last_error.expect("it is told").contains("compacted"));
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_falls_behind_is_told_that_anything_may_have_changed() {
    let bench = Bench::start(Options { backlog: 4, ..options() });
    bench.assert_equal().await;
    bench.until(|health| health.connected).await;
    let mut listener = bench.view.subscribe();
    for _ in 0..10 {
        bench.put("a/1").await;
        bench.assert_equal().await;
    }
    assert_eq!(listener.next().await, Some(Notice::Everything));
    bench.put("a/2").await;
    assert_eq!(touched(listener.next().await), ["a/2"], "nothing of the past comes after it");
}

#[tokio::test(start_paused = true)]
async fn drift_is_healed_told_and_counted() {
    let bench = Bench::start(options());
    bench.put("a/1").await;
    bench.assert_equal().await;
    bench.until(|health| health.connected).await;
    bench.store.swallow_batches(1);
    bench.put("a/lost").await;
    while bench.store.counts().batches_swallowed == 0 {
        tokio::task::yield_now().await;
    }
    let after = bench.put("b").await;
    bench.view.wait_until(after, SOON).await.expect("it has passed the lost change");
    assert!(bench.view.read(|copy, _| !copy.records.contains_key(&b"a/lost"[..])));
    let mut listener = bench.view.subscribe();
    assert_eq!(touched(listener.next().await), ["a/lost"]);
    bench.assert_equal().await;
    assert_eq!(bench.until(|health| health.checks == 1).await.drifted, 1);
}

// `etcdutl snapshot restore --bump-revision` without `--mark-compacted`: nothing ends the watch.
#[tokio::test(start_paused = true)]
async fn a_check_does_not_follow_a_store_that_was_put_back_under_a_raised_revision() {
    let bench = Bench::start(options());
    bench.put("a/1").await;
    let backup = bench.store.inner().back_up();
    let later = bench.put("a/1").await;
    bench.assert_equal().await;
    bench.until(|health| health.connected).await;
    bench.store.inner().put_back(&backup);
    while bench.put("b").await <= later.next() {}
    let health = bench.until(|health| health.went_back || health.checks > 0).await;
    assert!(health.went_back && health.drifted == 0, "{health:?}");
    assert!(bench.view.read(|copy, _| copy.records[&b"a/1"[..]].mod_revision == later), "it is not followed");
}

#[tokio::test(start_paused = true)]
async fn a_view_among_many_is_checked_less_often_for_as_long_as_there_are_many() {
    let pace = CheckPace::new(Duration::from_secs(60));
    pace.share(1_000);
    let bench = Bench::start(Options { check_every: pace.clone(), ..options() });
    let minutes = async |minutes: u64| {
        let before = bench.view.health().checks;
        sleep(Duration::from_secs(60 * minutes)).await;
        bench.view.health().checks - before
    };
    assert!(matches!(minutes(10).await, 2..=4));
    pace.share(1);
    minutes(5).await; // The wait under way.
    assert!(matches!(minutes(10).await, 10..=20));
}

#[tokio::test(start_paused = true)]
async fn what_changes_during_a_check_is_no_drift() {
    let bench =
        Bench::start(Options { check_every: CheckPace::new(Duration::from_millis(100)), ..options() });
    let slow = Duration::from_millis(40);
    bench.store.set_rates(Rates { delay: slow, watch_delay: slow, ..Rates::default() });
    let keys = ["a/0", "a/1", "a/2", "a/3", "a/4"];
    for n in 0..3_000 {
        let key = keys[n % keys.len()];
        bench.apply(if n % 3 == 0 { Op::delete(key) } else { Op::put(key, "") }).await;
        sleep(Duration::from_millis(7)).await;
    }
    bench.assert_equal().await;
    let health = bench.view.health();
    assert!(health.checks > 50, "{health:?}");
    assert_eq!((health.drifted, health.listings), (0, 1), "{health:?}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_says_nothing_is_replaced() {
    let bench = Bench::start(options());
    bench.assert_equal().await;
    bench.until(|health| health.connected).await;
    bench.store.hold_watches();
    bench.put("a/1").await;
    let health = bench.until(|health| health.listings == 2).await;
    assert!(health.last_error.expect("it is told").contains("watch"));
    assert!(bench.view.read(|copy, _| copy.records.contains_key(&b"a/1"[..])));
}

/// Everything goes wrong for a while, and then nothing does.
async fn heals(seed: u64) {
    let store = FaultyStore::new(MemoryStore::new(), seed);
    let options = Options { check_every: CheckPace::new(Duration::from_secs(1)), ..options() };
    let (view, keeper) = View::new(Arc::new(store.clone()), options, Copy::default());
    let stop = CancellationToken::new();
    let task = tokio::spawn(keeper.run(stop.clone()));
    store.set_rates(Rates {
        refuse: 0.2,
        lose_answer: 0.2,
        delay: Duration::from_millis(30),
        cut_watch: 0.1,
        watch_delay: Duration::from_millis(50),
        ..Rates::default()
    });
    for n in 0..300_u64 {
        let key = format!("a/{}", (n * seed.wrapping_add(7)) % 11);
        let op = if n % 4 == 0 { Op::delete(key) } else { Op::put(key, n.to_string()) };
        store.inner().txn(Txn::guarded(Vec::new(), vec![op])).await.expect("memory takes it");
        match n % 60 {
            20 => store.begin_outage(Outage::Silent),
            30 => store.compact_under_watches().await.expect("memory compacts"),
            40 => store.end_outage(),
            _ => sleep(Duration::from_millis(20)).await,
        }
    }
    store.set_rates(Rates::default());
    let snapshot = store.inner().range(b"a/").await.expect("memory answers");
    view.wait_until(snapshot.revision, Duration::from_secs(30)).await.expect("it heals");
    view.read(|copy, _| assert!(copy.records.values().eq(&snapshot.records), "seed {seed}"));
    assert_eq!(view.health().drifted, 0, "seed {seed}: a watch that may fail still may not lie");
    stop.cancel();
    task.await.expect("the keeper ends");
}

#[tokio::test(start_paused = true)]
async fn a_view_is_equal_to_the_store_again_after_any_faults() {
    for seed in 0..40 {
        heals(seed).await;
    }
}
