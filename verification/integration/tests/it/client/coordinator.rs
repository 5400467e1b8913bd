//! The broker that keeps a group's committed offsets is lost while the group's partition moves.

use kafka_assigner_proto::v1::Snapshot;
use kafka_assigner_rig::{KafkaCluster, KafkaClusterConfig};
use tokio::task::block_in_place;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::broker::Broker;
use super::strict::assign;
use super::summing::Did;
use super::switching::keep_producing;
use super::{PATIENCE, Running};
use crate::fake::Asked;
use crate::kafka::secured::Authority;

/// The broker that is lost.
const COORDINATOR: usize = 1;

/// A broker that is gone is replaced after 2 s in place of 9 s.
const IMPATIENT: [&str; 2] = ["broker.session.timeout.ms=2000", "broker.heartbeat.interval.ms=500"];

/// Starts brokers of which the first one alone is a controller, so that all others can be killed.
pub(super) fn start(config: KafkaClusterConfig) -> KafkaCluster {
    let properties = IMPATIENT.map(str::to_owned).into();
    let config = KafkaClusterConfig { controllers: 1, properties, ..config };
    block_in_place(|| KafkaCluster::start(&config)).expect("brokers start")
}

/// What an old owner has handled is committed at the next coordinator, a preparation that begins meanwhile goes on, and the
/// move ends at its first attempt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_while_the_coordinator_moves_loses_nothing_and_needs_no_second_attempt() {
    let authority = Authority::new();
    let Some(config) = authority.config(2, false) else { return };
    let mut brokers = start(config);
    let broker = Broker::beside_a_coordinator(&brokers).await;
    let (old, new) = (
        Running::start(&broker, broker.strictly_granted()).await,
        Running::start(&broker, Snapshot::default()).await,
    );
    let stop = CancellationToken::new();
    let producing = keep_producing(&broker, 1, stop.clone());
    old.handler.wait_for(|done| done.len() > 200).await;
    assert_eq!(broker.coordinator().await, i32::try_from(COORDINATOR).ok());
    brokers.kill(COORDINATOR);
    new.fake.push(broker.warm("h"));
    old.fake.push(broker.drain("h"));
    let start = old.drained("h").await;
    assert_eq!(broker.committed().await.map(|(offset, _)| offset), start, "its last commit was lost");
    assert_eq!(broker.coordinator().await, Some(0), "the coordinator never moved");
    new.asked(Asked::Ready("h".into())).await;
    new.fake.push(assign(&broker, 9, start, "h"));
    new.asked(Asked::Taken("h".into())).await;
    stop.cancel();
    let last = timeout(PATIENCE, producing).await.expect("in time").expect("no panic");
    let by_new = new.handler.wait_for_number(last).await;
    assert_eq!(by_new.last(), Some(&Did::Processed(last, last * (last + 1) / 2)), "the state missed some");
    let all = [old.handler.processed(), new.handler.processed()].concat();
    assert_eq!(all, (1..=last).collect::<Vec<_>>(), "each once, in order");
    let failed = |asked: &Asked| matches!(asked, Asked::WarmFailed(..));
    assert!(!new.fake.asked().iter().any(failed), "the preparation was given up: {:?}", new.fake.asked());
    old.stop().await;
    new.stop().await;
    let committed = broker.committed().await.expect("it was committed");
    assert_eq!(committed, (i64::try_from(last).expect("few"), "epoch=9".into()));
}
