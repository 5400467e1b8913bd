use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use kafka_assigner_store::conformance::{self, Subject};
use kafka_assigner_store::{Error, FileStore, Store};
use kafka_assigner_types::kv::{Compare, Must, Op, Revision, Txn, TxnOutcome};
use tempfile::TempDir;

#[derive(Debug)]
struct File(FileStore);

#[async_trait]
impl Subject for File {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.0.clone())
    }

    fn prefix(&self) -> Bytes {
        Bytes::from_static(b"/conformance/")
    }

    async fn compact(&self, oldest: Revision) {
        self.0.compact(oldest).await.expect("the file works");
    }
}

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store.redb");
    (folder, path)
}

async fn open(path: &PathBuf) -> FileStore {
    FileStore::open(path).await.expect("the file can be opened")
}

async fn apply(store: &FileStore, op: Op) -> TxnOutcome {
    store.txn(Txn::guarded(Vec::new(), vec![op])).await.expect("the file works")
}

#[tokio::test(start_paused = true)]
async fn the_file_store_keeps_every_promise() {
    let (_folder, path) = place();
    conformance::run(Arc::new(File(open(&path).await))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_file_store_keeps_every_promise_on_many_threads() {
    let (_folder, path) = place();
    conformance::run(Arc::new(File(open(&path).await))).await;
}

#[tokio::test]
async fn records_and_revisions_go_on_after_a_restart() {
    let (_folder, path) = place();
    let store = open(&path).await;
    apply(&store, Op::put("a", "1")).await;
    apply(&store, Op::put("b", "gone")).await;
    apply(&store, Op::delete("b")).await;
    let last = apply(&store, Op::put("a", "2")).await.revision;
    let before = store.range(b"").await.expect("it answers");
    store.close().await;
    let store = open(&path).await;
    assert_eq!(store.range(b"").await.expect("it answers"), before);
    assert_eq!(apply(&store, Op::put("c", "")).await.revision, last.next(), "no revision is used twice");
    let guard = Compare::new("a", Must::HaveModRevision(last));
    let outcome = store.txn(Txn::guarded(vec![guard], Vec::new())).await.expect("it answers");
    assert!(outcome.succeeded, "guards from before still hold");
}

#[tokio::test(start_paused = true)]
async fn leases_start_afresh_after_a_restart_and_keep_their_keys() {
    let (_folder, path) = place();
    let ttl = Duration::from_secs(10);
    let store = open(&path).await;
    let lease = store.grant(ttl).await.expect("it answers");
    let ended = store.grant(ttl).await.expect("it answers").id;
    store.revoke(ended).await.expect("it answers");
    apply(&store, Op::put_leased("a", "", lease.id)).await;
    tokio::time::sleep(ttl / 2).await;
    store.close().await;
    let store = open(&path).await;
    assert_eq!(store.time_to_live(lease.id).await.expect("it answers"), Some(ttl));
    assert_eq!(store.time_to_live(ended).await.expect("it answers"), None);
    assert!(store.grant(ttl).await.expect("it answers").id > ended, "no lease is granted twice");
    tokio::time::sleep(ttl).await;
    assert!(store.get(b"a").await.expect("it answers").0.is_none(), "the key went with its lease");
}

#[tokio::test]
async fn the_past_of_before_a_restart_is_reported_as_compacted() {
    let (_folder, path) = place();
    let store = open(&path).await;
    let first = apply(&store, Op::put("a", "")).await.revision;
    store.close().await;
    let store = open(&path).await;
    match store.watch(b"", first).await.map(drop) {
        Err(Error::Compacted { asked, oldest }) => assert_eq!((asked, oldest), (first, first.next())),
        other => panic!("the past is gone, not {other:?}"),
    }
    assert!(store.watch(b"", first.next()).await.is_ok());
}

/// A copy of the file, taken at any moment, is what a crash at that moment leaves.
#[tokio::test]
async fn what_was_acknowledged_survives_a_crash() {
    let (folder, path) = place();
    let store = open(&path).await;
    for n in 0..20 {
        let key = format!("{n:02}");
        let revision = apply(&store, Op::put(key.clone(), "")).await.revision;
        let copy = folder.path().join("crashed.redb");
        std::fs::copy(&path, &copy).expect("it can be copied");
        let crashed = open(&copy).await;
        let (record, at) = crashed.get(key.as_bytes()).await.expect("it answers");
        assert_eq!((record.map(|record| record.mod_revision), at), (Some(revision), revision));
        crashed.close().await;
        std::fs::remove_file(&copy).expect("it can be removed");
    }
}

#[tokio::test]
async fn a_second_opening_is_refused_and_names_the_file() {
    let (_folder, path) = place();
    let first = open(&path).await;
    let error = FileStore::open(&path).await.expect_err("one at a time").to_string();
    assert!(error.contains(&path.display().to_string()) && error.contains("in use"), "{error}");
    first.close().await;
    open(&path).await;
}

#[tokio::test]
async fn a_file_that_is_none_of_ours_is_refused_and_left_alone() {
    let (_folder, path) = place();
    std::fs::write(&path, "somebody's notes").expect("it can be written");
    let error = FileStore::open(&path).await.expect_err("it is no store").to_string();
    assert!(error.contains(&path.display().to_string()), "{error}");
    assert_eq!(std::fs::read(&path).expect("it is there"), b"somebody's notes");
}

#[tokio::test]
async fn a_file_in_a_folder_that_is_missing_is_refused() {
    let (folder, _) = place();
    let path = folder.path().join("missing").join("store.redb");
    let error = FileStore::open(&path).await.expect_err("there is no such folder").to_string();
    assert!(error.contains("missing"), "{error}");
}

#[tokio::test]
async fn the_file_does_not_grow_with_the_number_of_changes() {
    let (_folder, path) = place();
    let store = open(&path).await;
    let size = || std::fs::metadata(&path).expect("it is there").len();
    let rewrite = async |times: usize| {
        for n in 0..times {
            apply(&store, Op::put(format!("{}", n % 50), vec![0; 1_000])).await;
        }
    };
    rewrite(200).await;
    let before = size();
    rewrite(2_000).await;
    assert!(size() <= 2 * before, "{before} bytes became {}", size());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn callers_that_come_together_share_a_write() {
    let (_folder, path) = place();
    let store = open(&path).await;
    let puts = (0..2_000).map(|n| {
        let store = store.clone();
        tokio::spawn(async move { apply(&store, Op::put(format!("{n}"), "")).await.revision })
    });
    let mut revisions: Vec<_> = Vec::new();
    for put in puts.collect::<Vec<_>>() {
        revisions.push(put.await.expect("no panic"));
    }
    revisions.sort_unstable();
    revisions.dedup();
    assert_eq!(revisions.len(), 2_000, "each is a transaction of its own all the same");
    store.close().await;
    assert_eq!(open(&path).await.range(b"").await.expect("it answers").records.len(), 2_000);
}
