use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use kafka_assigner_store::conformance::{self, Subject};
use kafka_assigner_store::{MemoryStore, Store};
use kafka_assigner_types::kv::Revision;

#[derive(Debug)]
struct Memory(MemoryStore);

#[async_trait]
impl Subject for Memory {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.0.clone())
    }

    fn prefix(&self) -> Bytes {
        Bytes::from_static(b"/conformance/")
    }

    async fn compact(&self, oldest: Revision) {
        self.0.compact(oldest).await.expect("memory can't fail");
    }
}

#[tokio::test(start_paused = true)]
async fn the_memory_store_keeps_every_promise() {
    conformance::run(Arc::new(Memory(MemoryStore::new()))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_memory_store_keeps_every_promise_on_many_threads() {
    conformance::run(Arc::new(Memory(MemoryStore::new()))).await;
}
