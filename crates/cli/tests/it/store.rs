//! `store` on the file of one node, without an instance.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use kafka_assigner_core::key::{ClusterLayout, DEFAULT_PREFIX, Key, Layout};
use kafka_assigner_core::record::{
    Assignment, ClusterRecord, GroupConfig, HistoryNote, Source, Topic, decode, encode,
};
use kafka_assigner_store::{FileStore, Store as _};
use kafka_assigner_types::id::{Epoch, TopicPartition};
use kafka_assigner_types::kv::{Op, Txn};
use kafka_assigner_types::mode::Mode;
use serde_json::Value;
use tempfile::TempDir;

/// The file of a store in a directory of its own.
struct File {
    directory: TempDir,
}

fn layout() -> Layout {
    Layout::new(DEFAULT_PREFIX, "orders".parse().unwrap())
}

fn partition() -> TopicPartition {
    TopicPartition::new("t".parse().unwrap(), 0)
}

impl File {
    /// A file that is not there yet.
    fn missing() -> Self {
        Self { directory: TempDir::new().unwrap() }
    }

    /// A store with one group, whose partition has the epoch 541.
    async fn with_a_group() -> Self {
        let file = Self::missing();
        let (cluster, layout) = (ClusterLayout::new(DEFAULT_PREFIX), layout());
        let config = GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() };
        let assignment = Assignment::without_owner(Mode::Exclusive, Epoch(541));
        let puts = vec![
            Op::put(cluster.cluster(), encode(&ClusterRecord::new("first"))),
            Op::put(cluster.group(layout.group()), "{}"),
            Op::put(layout.encode(&Key::GroupConfig), encode(&config)),
            Op::put(layout.encode(&Key::History), encode(&HistoryNote::new("first"))),
            Op::put(layout.encode(&Key::Topic("t".parse().unwrap())), encode(&Topic::new(3, Source::Static))),
            Op::put(layout.encode(&Key::Assignment(partition())), encode(&assignment)),
        ];
        let store = FileStore::open(&file.path()).await.unwrap();
        store.txn(Txn::guarded(Vec::new(), puts)).await.unwrap();
        store.close().await;
        file
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("store.redb")
    }

    fn run(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_kafka-assigner"))
            .arg("store")
            .args(arguments)
            .env("KAFKA_ASSIGNER_DATA", self.path())
            .env("COLUMNS", "80")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that reads nothing may be over by now.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }

    /// The answer of a command that works.
    fn answer(&self, arguments: &[&str], input: &[u8]) -> String {
        let output = self.run(arguments, input);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The exit code and the words of a command that fails.
    fn refusal(&self, arguments: &[&str], input: &[u8]) -> (i32, String) {
        let output = self.run(arguments, input);
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    async fn stored<T: serde::de::DeserializeOwned>(&self, key: &[u8]) -> Option<T> {
        let store = FileStore::open(&self.path()).await.unwrap();
        let record = store.get(key).await.unwrap().0;
        store.close().await;
        record.map(|record| decode(&record.value).unwrap())
    }

    async fn identity(&self) -> Option<ClusterRecord> {
        self.stored(&ClusterLayout::new(DEFAULT_PREFIX).cluster()).await
    }
}

#[tokio::test]
async fn a_restored_store_gets_another_cluster_id_and_higher_epochs() {
    let file = File::with_a_group().await;
    let told: Value = serde_json::from_str(&file.answer(&["restored", "--yes", "-o", "json"], b"")).unwrap();
    assert_eq!(told["earlier_cluster_id"], "first");
    let first = file.identity().await.unwrap();
    assert_eq!((&told["cluster_id"], &told["epoch_offset"]), (&first.id.into(), &first.epoch_offset.into()));
    assert!(first.epoch_offset >= 1 << 32, "{}", first.epoch_offset);
    let table = file.answer(&["restored", "--yes"], b"");
    let second = file.identity().await.unwrap().epoch_offset;
    assert!(second >= first.epoch_offset + (1 << 32), "{second}");
    assert!(table.contains(&format!("epoch offset        {second}")), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
}

#[tokio::test]
async fn nobody_ends_all_sessions_unasked() {
    let file = File::with_a_group().await;
    let (code, words) = file.refusal(&["restored"], b"");
    assert!(
        code == 2 && words.contains("--yes is needed to end every session of the restored store"),
        "{words}"
    );
    assert_eq!(file.identity().await.unwrap().id, "first");
}

#[tokio::test]
async fn a_store_without_a_cluster_id_gets_none() {
    let file = File::missing();
    let (code, words) = file.refusal(&["restored", "--yes"], b"");
    assert!(code == 2 && words.contains("can't read data"), "{words}");
    assert!(!file.path().exists(), "a wrong path creates no store");
    FileStore::open(&file.path()).await.unwrap().close().await;
    let (code, words) = file.refusal(&["restored", "--yes"], b"");
    assert!(code == 1 && words.contains("no cluster id under /kafka-assigner/"), "{words}");
    assert!(words.contains("hint: `kafka-assigner serve --print-config`"), "{words}");
    assert_eq!(file.identity().await, None);
}

#[tokio::test]
async fn groups_move_to_another_store_with_their_epochs_and_without_owners() {
    let (from, to) = (File::with_a_group().await, File::missing());
    let export = from.answer(&["export"], b"");
    let kinds: Vec<String> = export
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["kind"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["store", "group", "topic", "assignment"]);
    let table = to.answer(&["import", "--yes"], export.as_bytes());
    assert!(table.lines().any(|line| line.split_whitespace().eq(["orders", "1", "1"])), "{table}");
    let config: GroupConfig = to.stored(&layout().encode(&Key::GroupConfig)).await.unwrap();
    assert_eq!(config.mode, Mode::Exclusive);
    let assignment: Assignment = to.stored(&layout().encode(&Key::Assignment(partition()))).await.unwrap();
    assert_eq!((assignment.owner.clone(), assignment.highest_epoch()), (None, Epoch(541)));
    assert_eq!(to.stored::<HistoryNote>(&layout().encode(&Key::History)).await, None, "strict grants wait");
    let identity = to.identity().await.unwrap();
    assert!(
        identity.epoch_offset >= 1 << 32,
        "also partitions that are not in the export go on above theirs"
    );
    let (code, words) = to.refusal(&["import", "--yes"], export.as_bytes());
    assert!(code == 1 && words.contains("group orders exists in the store: nothing was imported"), "{words}");
    assert_eq!(to.identity().await.unwrap(), identity);
}

#[tokio::test]
async fn an_export_names_what_is_wrong() {
    let file = File::with_a_group().await;
    let (code, words) = file.refusal(&["export", "payments"], b"");
    assert!(code == 1 && words.contains("group payments is not in the store"), "{words}");
    let (code, words) = File::missing().refusal(&["import", "--yes"], b"{\"kind\":\"group\"}\n");
    assert!(code == 2 && words.contains("line 1 of the export is refused"), "{words}");
    let newer = br#"{"kind":"store","version":2,"cluster_id":"a","epoch_offset":0,"revision":1}"#;
    let (code, words) = File::missing().refusal(&["import", "--yes"], newer);
    assert!(code == 2 && words.contains("version 2, this program reads 1 to 1"), "{words}");
}
