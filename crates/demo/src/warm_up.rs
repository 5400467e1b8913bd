//! The warm-up of a partition: it takes as long as loading a state of some size does.

use std::time::Duration;

use async_trait::async_trait;
use kafka_assigner_client::{
    HandlerError, Offset, OwnedContext, PartitionHandler, ReservedContext, TopicPartition, WarmContext,
};
use tokio::time::sleep;

/// The time that a new owner takes to load the state before it reads the log. A move can then be seen, and the leader
/// killed during it; the old owner processes all the time.
const LOADING: Duration = Duration::from_millis(1_500);

/// The loading times of neighbouring partitions differ by this, so that they do not switch all at once.
const STAGGER: Duration = Duration::from_millis(150);

/// Partitions whose loading times differ; the next one begins again with the shortest.
const STAGGERED: u32 = 8;

/// Waits for the loading time of the partition. Returns at once for one that nobody processes meanwhile: after a crash the
/// measured gap is the wait for the session's end alone.
///
/// Cancel safe.
pub(crate) async fn load(partition: &TopicPartition, current_owner: Option<&str>) {
    if current_owner.is_some() {
        sleep(LOADING + STAGGER * (partition.partition % STAGGERED)).await;
    }
}

/// A handler whose warm-ups take the loading time as well.
#[derive(Debug)]
pub(crate) struct SlowWarmUp<H>(pub(crate) H);

#[async_trait]
impl<H: PartitionHandler> PartitionHandler for SlowWarmUp<H> {
    async fn warm(&self, context: &WarmContext) -> Result<(), HandlerError> {
        tokio::select! {
            biased;
            // The partition does not come.
            () = context.cancelled() => {}
            // The state is loaded.
            () = load(context.partition(), context.current_owner()) => {}
        }
        self.0.warm(context).await
    }

    async fn reserved(&self, context: &ReservedContext) -> Result<(), HandlerError> {
        self.0.reserved(context).await
    }

    async fn assigned(&self, context: &OwnedContext) -> Result<(), HandlerError> {
        self.0.assigned(context).await
    }

    async fn drain(&self, context: &OwnedContext) -> Result<Option<Offset>, HandlerError> {
        self.0.drain(context).await
    }

    async fn release(&self, partition: &TopicPartition) -> Result<(), HandlerError> {
        self.0.release(partition).await
    }

    async fn lost(&self, context: &OwnedContext) {
        self.0.lost(context).await;
    }

    fn forgotten(&self, partition: &TopicPartition) {
        self.0.forgotten(partition);
    }

    fn is_stuck(&self, bound: Duration) -> bool {
        self.0.is_stuck(bound)
    }

    fn most_partitions(&self) -> Option<u32> {
        self.0.most_partitions()
    }
}
