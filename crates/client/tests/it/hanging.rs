//! Preparations that hang.

use std::time::Duration;

use async_trait::async_trait;
use kafka_assigner_client::{
    Consumer, ConsumerOptions, HandlerError, OwnedContext, PartitionHandler, WarmContext,
};
use kafka_assigner_proto::v1::Snapshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::consumer::{grant, options};
use crate::fake::Fake;

/// Prepares the last partition only.
struct HangsBefore(u32);

#[async_trait]
impl PartitionHandler for HangsBefore {
    async fn warm(&self, context: &WarmContext) -> Result<(), HandlerError> {
        if context.partition().partition < self.0 {
            context.cancelled().await;
        }
        Ok(())
    }

    async fn assigned(&self, _: &OwnedContext) -> Result<(), HandlerError> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_partition_begins_beside_as_many_preparations_that_hang_as_there_are_places() {
    let (fake, stop) = (Fake::new(), CancellationToken::new());
    let assigned = (0..5).map(|number| grant(number, 5, "")).collect();
    fake.show(Snapshot { assigned, ..Snapshot::default() });
    let options = ConsumerOptions { max_warming: 4, ..options() };
    let consumer = Consumer::over(options, fake).expect("valid options");
    let mut handle = consumer.handle();
    let end = tokio::spawn(consumer.run_in_place(HangsBefore(4), stop.clone()));
    let begins = timeout(Duration::from_secs(40), handle.wait_for(|status| status.partitions.owned == 1));
    let status = begins.await.expect("in time").expect("it runs");
    assert_eq!((status.partitions.warming, status.partitions.stalled), (4, 4));
    stop.cancel();
    end.await.expect("no panic").expect("it leaves in good order");
}
