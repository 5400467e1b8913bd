//! The suite that every store has to pass.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use kafka_assigner_store::Store;
use kafka_assigner_store::conformance::{self, Subject};
use kafka_assigner_types::kv::Revision;

use super::{EtcdOptions, EtcdStore, private_etcd, store};

#[derive(Debug)]
struct Private(EtcdStore);

#[async_trait]
impl Subject for Private {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.0.clone())
    }

    fn prefix(&self) -> Bytes {
        Bytes::from_static(b"/conformance/")
    }

    async fn compact(&self, oldest: Revision) {
        self.0.compact(oldest).await.expect("etcd is there");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn etcd_keeps_every_promise() {
    let Some(etcd) = private_etcd() else { return };
    conformance::run(Arc::new(Private(store(&EtcdOptions::new([etcd.endpoint()]))))).await;
}
