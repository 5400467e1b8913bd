//! The right to act in a test.

use std::pin::Pin;
use std::sync::Arc;

use kafka_assigner_types::id::{Epoch, TopicPartition};
use tokio::sync::watch;

use crate::context::{Ownership, PartitionContext};

/// A right to act that a test gives and takes.
#[derive(Debug)]
pub struct SimulatedRight {
    epoch: Epoch,
    ended: watch::Sender<bool>,
}

impl SimulatedRight {
    /// A valid right under `epoch`.
    #[must_use]
    pub fn new(epoch: Epoch) -> Arc<Self> {
        Arc::new(Self { epoch, ended: watch::Sender::new(false) })
    }

    /// A context for a test that calls a handler by itself.
    #[must_use]
    pub fn context(self: &Arc<Self>, partition: TopicPartition) -> PartitionContext {
        PartitionContext::new(partition, None, self.clone())
    }

    /// Ends it for good.
    pub fn end(&self) {
        self.ended.send_replace(true);
    }
}

impl Ownership for SimulatedRight {
    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn may_act(&self) -> bool {
        !*self.ended.borrow()
    }

    fn ended(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let mut ended = self.ended.subscribe();
            // The sender lives as long as this call.
            let _ = ended.wait_for(|ended| *ended).await;
        })
    }
}
