//! Requests in the moment between the table and its lanes.

use std::collections::BTreeSet;

use kafka_assigner_types::id::Epoch;
use kafka_assigner_types::moment::Moment;

use super::*;
use crate::dialect::RouteUpdate;
use crate::forward::SendError;
use crate::route::{PartitionOwner, PartitionRoute};

struct Echo;

#[async_trait]
impl Forward for Echo {
    type Response = Bytes;

    async fn send(&self, _: &RouteTarget, _: &TopicPartition, request: Bytes) -> Result<Bytes, SendError> {
        Ok(request)
    }
}

fn target() -> RouteTarget {
    let owner = PartitionOwner { name: "o".into(), incarnation: "i".into(), endpoint: "".into() };
    RouteTarget { owner, epoch: Epoch(1) }
}

/// A table that is open, and has one partition.
fn table(at: &TopicPartition) -> RoutingTable {
    let table = RoutingTable::new();
    table.claim(Some(Moment(Duration::from_secs(3_600))));
    let routes = vec![(at.clone(), PartitionRoute::Open(target()))];
    let update = RouteUpdate::All { routes, undecided: BTreeSet::new() };
    table.change(|map| map.apply(update).len() + map.open().len());
    table
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_for_the_first_switch_of_a_partition_that_the_table_has() {
    let at = TopicPartition::try_from(("t", 0)).expect("a valid name");
    let unknown = TopicPartition::try_from(("t", 7)).expect("a valid name");
    let limits = StashLimits::default();
    let forwarder = Arc::new(Forwarder::new(Echo, table(&at), limits, Duration::from_secs(5)));
    let refused = forwarder.request(&unknown, "lost".into()).await;
    assert!(matches!(refused, Err(RequestError::Unsent(Unsent::NoPartition))), "{refused:?}");
    let early = forwarder.request(&at, "early".into());
    assert_eq!(forwarder.counts(), (1, 0));
    forwarder.switch(&at, &target());
    let answer = tokio::select! {
        () = forwarder.work() => None,
        answer = early => Some(answer),
    };
    assert!(matches!(&answer, Some(Ok(answer)) if answer == "early"), "{answer:?}");
}
