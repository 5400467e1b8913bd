use std::time::Duration;

use async_trait::async_trait;
use kafka_assigner_store::{MemoryStore, Watch};
use kafka_assigner_types::kv::{Compare, Lease, LeaseId, Must, Op, Record, Snapshot, TxnOutcome};

use super::*;

/// A store that takes less than it says, as a server does whose limits were set lower than its clients'.
#[derive(Debug, Clone)]
struct Boastful(MemoryStore);

#[async_trait]
impl Store for Boastful {
    async fn range(&self, prefix: &[u8]) -> Result<Snapshot, Error> {
        self.0.range(prefix).await
    }

    async fn get(&self, key: &[u8]) -> Result<(Option<Record>, Revision), Error> {
        self.0.get(key).await
    }

    async fn txn(&self, txn: Txn) -> Result<TxnOutcome, Error> {
        self.0.txn(txn).await
    }

    async fn watch(&self, prefix: &[u8], from: Revision) -> Result<Watch, Error> {
        self.0.watch(prefix, from).await
    }

    async fn grant(&self, ttl: Duration) -> Result<Lease, Error> {
        self.0.grant(ttl).await
    }

    async fn keep_alive(&self, lease: LeaseId) -> Result<Duration, Error> {
        self.0.keep_alive(lease).await
    }

    async fn revoke(&self, lease: LeaseId) -> Result<(), Error> {
        self.0.revoke(lease).await
    }

    async fn time_to_live(&self, lease: LeaseId) -> Result<Option<Duration>, Error> {
        self.0.time_to_live(lease).await
    }

    fn limits(&self) -> Limits {
        Limits { operations: 1_000, ..self.0.limits() }
    }
}

/// A write of one key that has to be absent.
fn creating(n: usize) -> Write {
    let key = format!("k{n:03}");
    Write { guards: vec![Compare::new(key.clone(), Must::BeAbsent)], ops: vec![Op::put(key, "")] }
}

/// A leader, and its store.
async fn leading() -> (Executor, MemoryStore) {
    let memory = MemoryStore::new();
    let put =
        memory.txn(Txn::guarded(Vec::new(), vec![Op::put("leader", "")])).await.expect("memory answers");
    let fence = Fence::new(Compare::new("leader", Must::HaveCreateRevision(put.revision)));
    (Executor::new(Arc::new(Boastful(memory.clone())), fence), memory)
}

async fn written(memory: &MemoryStore) -> usize {
    memory.range(b"k").await.expect("memory answers").records.len()
}

// H76.
#[tokio::test(start_paused = true)]
async fn one_outdated_write_stands_in_nobodys_way() {
    let (executor, memory) = leading().await;
    memory.txn(Txn::guarded(Vec::new(), vec![Op::put("k050", "")])).await.expect("memory answers");
    let fates = executor.carry_out(&(0..100).map(creating).collect::<Vec<_>>()).await;
    let outdated = |fate: &WriteOutcome| matches!(fate, WriteOutcome::Outdated);
    assert_eq!(fates.iter().position(outdated), Some(50));
    assert_eq!(fates.iter().filter(|fate| matches!(fate, WriteOutcome::Applied(_))).count(), 99);
    assert_eq!(written(&memory).await, 100);
}

// H79.
#[tokio::test(start_paused = true)]
async fn a_chunk_that_the_store_finds_too_large_is_carried_out_one_by_one() {
    let (executor, memory) = leading().await;
    let fates = executor.carry_out(&(0..256).map(creating).collect::<Vec<_>>()).await;
    assert!(fates.iter().all(|fate| matches!(fate, WriteOutcome::Applied(_))), "{fates:?}");
    assert_eq!(written(&memory).await, 256);
}

// I7, also where a chunk falls apart.
#[tokio::test(start_paused = true)]
async fn nothing_of_a_chunk_applies_once_the_term_is_over() {
    let (executor, memory) = leading().await;
    memory.txn(Txn::guarded(Vec::new(), vec![Op::delete("leader")])).await.expect("memory answers");
    memory.txn(Txn::guarded(Vec::new(), vec![Op::put("leader", "")])).await.expect("memory answers");
    let fates = executor.carry_out(&(0..200).map(creating).collect::<Vec<_>>()).await;
    assert!(fates.iter().all(|fate| matches!(fate, WriteOutcome::Outdated)), "{fates:?}");
    assert_eq!(written(&memory).await, 0);
}
