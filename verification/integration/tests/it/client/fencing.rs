//! Writes that the broker fences.

use kafka_assigner_client::kafka::rdkafka::producer::FutureRecord;
use kafka_assigner_client::kafka::{FencedProducers, PartitionContext, WriteError};
use kafka_assigner_proto::v1::{FenceReason, Snapshot};

use super::Running;
use super::broker::Broker;
use super::summing::Fate;
use crate::fake::Asked;

on_brokers! {
    an_owner_writes_in_transactions
    nothing_is_written_without_a_claim
}

async fn write(
    broker: &Broker,
    producers: &FencedProducers,
    owned: &PartitionContext,
    payload: &str,
) -> Result<(), WriteError> {
    let record = FutureRecord::to(&broker.topic).partition(1).payload(payload.as_bytes());
    producers.write_for(owned, vec![record]).await
}

async fn an_owner_writes_in_transactions(broker: &Broker) {
    let (running, producers) = Running::start_fenced(broker, broker.strictly_granted()).await;
    let owned = running.handler.grant().await;
    for payload in ["a", "b"] {
        write(broker, &producers, &owned, payload).await.expect("it has the fence");
    }
    assert_eq!(broker.read_committed().await, ["a", "b"]);
    running.stop().await;
}

async fn nothing_is_written_without_a_claim(broker: &Broker) {
    let (running, producers) = Running::start_fenced(broker, broker.strictly_granted()).await;
    let owned = running.handler.grant().await;
    running.handle.clone().wait_for(|status| status.partitions.owned == 1).await.expect("it runs");
    running.fake.show(Snapshot::default());
    running.fake.fence(FenceReason::Expired);
    running.handler.wait_for_fate(Fate::Lost).await;
    let refused = write(broker, &producers, &owned, "late").await;
    assert!(matches!(refused, Err(WriteError::NoClaim(_))), "{refused:?}");
    assert!(broker.read_committed().await.is_empty());
    running.stop().await;
}

/// The embedded broker fences nobody. A zombie is refused, though it believes in its claim (M4, M5); and whoever has
/// lost the fence to a zombie takes it again (F41).
#[tokio::test]
async fn the_one_that_took_the_fence_last_writes_and_the_other_takes_it_again() {
    let Some(broker) = Broker::real().await else { return };
    let (old, old_producers) = Running::start_fenced(&broker, broker.strictly_granted()).await;
    let zombie = old.handler.grant().await;
    write(&broker, &old_producers, &zombie, "old").await.expect("it has the fence");
    let snapshot = Snapshot { assigned: vec![broker.strict_grant(9, None, "")], ..Snapshot::default() };
    let (new, new_producers) = Running::start_fenced(&broker, snapshot).await;
    let owned = new.handler.grant().await;
    new.handle.clone().wait_for(|status| status.partitions.owned == 1).await.expect("it runs");
    let refused = write(&broker, &old_producers, &zombie, "late").await;
    assert!(matches!(refused, Err(WriteError::Fenced(_))), "{refused:?}");
    write(&broker, &new_producers, &owned, "new").await.expect("it has the fence");
    write(&broker, &old_producers, &zombie, "again")
        .await
        .expect("its claim is valid, so it takes the fence again");
    assert_eq!(broker.read_committed().await, ["old", "new", "again"]);
    old.stop().await;
    new.stop().await;
}

/// The fence comes before the read: what a zombie wrote before it was shut out is read, and later it writes nothing.
#[tokio::test]
async fn a_new_owner_has_its_fence_before_it_reads_the_rest() {
    let Some(broker) = Broker::real().await else { return };
    let (old, old_producers) = Running::start_fenced(&broker, broker.strictly_granted()).await;
    let zombie = old.handler.grant().await;
    let (new, _new_producers) = Running::start_fenced(&broker, Snapshot::default()).await;
    new.fake.push(broker.warm("h"));
    new.asked(Asked::Ready("h".into())).await;
    write(&broker, &old_producers, &zombie, "before").await.expect("nobody has taken the fence");
    new.fake.push(broker.catch_up("h", None));
    new.asked(Asked::CaughtUp("h".into())).await;
    let refused = write(&broker, &old_producers, &zombie, "late").await;
    assert!(matches!(refused, Err(WriteError::Fenced(_))), "{refused:?}");
    old.stop().await;
    new.stop().await;
}
