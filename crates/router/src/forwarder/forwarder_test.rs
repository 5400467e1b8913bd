//! Requests in the moment between the table and its lanes.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, OnceLock};

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

pub(super) fn target() -> RouteTarget {
    let owner = PartitionOwner { name: "o".into(), incarnation: "i".into(), endpoint: "".into() };
    RouteTarget { owner, epoch: Epoch(1) }
}

pub(super) fn partition(number: u32) -> TopicPartition {
    TopicPartition::try_from(("t", number)).expect("a valid name")
}

/// A table that is open, and has one partition.
fn table(at: &TopicPartition) -> RoutingTable {
    table_of(std::slice::from_ref(at))
}

pub(super) fn table_of(partitions: &[TopicPartition]) -> RoutingTable {
    let table = RoutingTable::new();
    table.claim(Some(Moment(Duration::from_secs(3_600))));
    let routes = partitions.iter().map(|at| (at.clone(), PartitionRoute::Open(target()))).collect();
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

/// Keeps the thread of a request until it is released, and notes the order of first polls.
#[derive(Default)]
struct Blocking {
    released: Mutex<bool>,
    release: Condvar,
    began: Mutex<Vec<Bytes>>,
    /// The table whose claim a request ends.
    closes: OnceLock<RoutingTable>,
}

impl Blocking {
    /// Blocks, for so long at most that a test that is red ends.
    fn block(&self) {
        let released = self.released.lock().expect("no panic");
        let bound = Duration::from_secs(10);
        drop(self.release.wait_timeout_while(released, bound, |released| !*released).expect("no panic"));
    }

    fn release(&self) {
        *self.released.lock().expect("no panic") = true;
        self.release.notify_all();
    }
}

#[async_trait]
impl Forward for Arc<Blocking> {
    type Response = Bytes;

    async fn send(&self, _: &RouteTarget, at: &TopicPartition, request: Bytes) -> Result<Bytes, SendError> {
        self.began.lock().expect("no panic").push(request.clone());
        if at.kafka_number() == 0 && request == "blocks" {
            self.block();
            self.began.lock().expect("no panic").push("released".into());
        }
        if request == "closes" {
            self.closes.get().expect("set before").claim(None);
        }
        tokio::task::yield_now().await;
        assert!(request != "panics", "as it was asked to");
        Ok(request)
    }
}

/// A forwarder with two partitions whose requests are sent, and the task that does it.
fn blocking() -> (Arc<Blocking>, Arc<Forwarder<Arc<Blocking>>>, tokio::task::JoinHandle<()>) {
    let parts = [partition(0), partition(1)];
    let (forward, limits) = (Arc::new(Blocking::default()), StashLimits::default());
    let table = table_of(&parts);
    let forwarder = Arc::new(Forwarder::new(Arc::clone(&forward), table, limits, Duration::from_secs(60)));
    parts.iter().for_each(|at| forwarder.switch(at, &target()));
    let work = tokio::spawn({
        let forwarder = Arc::clone(&forwarder);
        async move { forwarder.work().await }
    });
    (forward, forwarder, work)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_transport_that_blocks_its_thread_holds_up_its_own_partition_alone() {
    let (forward, forwarder, work) = blocking();
    // An owner that has admitted a request gets several at once.
    let first = forwarder.request(&partition(0), "first".into()).await;
    assert_eq!(first.expect("it is sent"), "first");
    let blocks = forwarder.request(&partition(0), "blocks".into());
    let behind = forwarder.request(&partition(0), "behind".into());
    for _ in 0..200 {
        let other = forwarder.request(&partition(1), "other".into()).await;
        assert_eq!(other.expect("it is sent"), "other");
    }
    assert!(!forward.began.lock().expect("no panic").contains(&Bytes::from("released")));
    while !forwarder.is_stuck(Duration::from_millis(20)) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    forward.release();
    assert_eq!(blocks.await.expect("it is sent"), "blocks");
    assert_eq!(behind.await.expect("it is sent"), "behind");
    let mut began = std::mem::take(&mut *forward.began.lock().expect("no panic"));
    began.retain(|request| request != "other");
    assert_eq!(began, ["first", "blocks", "released", "behind"]);
    work.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_transport_that_panics_fails_its_own_request_alone_and_the_order_stays() {
    let (forward, forwarder, work) = blocking();
    forwarder.request(&partition(1), "first".into()).await.expect("it is sent");
    let requests: Vec<_> =
        (0..60).map(|n| if n % 7 == 3 { "panics".into() } else { Bytes::from(n.to_string()) }).collect();
    let answers: Vec<_> =
        requests.iter().map(|request| forwarder.request(&partition(1), request.clone())).collect();
    for (request, answer) in requests.iter().zip(answers) {
        match answer.await {
            Ok(answer) => assert_eq!(answer, request),
            Err(error) => assert!(request == "panics" && !error.is_safe_to_repeat(), "{error}"),
        }
    }
    assert_eq!(forward.began.lock().expect("no panic")[1..], requests);
    assert_eq!(forwarder.counts(), (0, 0));
    work.abort();
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_ends_before_a_request_is_polled_keeps_the_request_in_its_place() {
    let (forward, forwarder, work) = blocking();
    let ask = |request: &'static str| forwarder.request(&partition(1), request.into());
    ask("first").await.expect("it is sent");
    forward.closes.set(forwarder.0.table.clone()).expect("set once");
    // The loop starts all of them at once; the first poll of the first one ends the claim.
    let answers = ["closes", "a", "b"].map(ask);
    let answered = async {
        while forwarder.counts() != (2, 0) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(1), answered).await.expect("both wait again");
    assert_eq!(*forward.began.lock().expect("no panic"), ["first", "closes"]);
    forwarder.0.table.claim(Some(Moment(Duration::from_secs(3_600))));
    for answer in answers {
        answer.await.expect("it is sent");
    }
    assert_eq!(*forward.began.lock().expect("no panic"), ["first", "closes", "a", "b"]);
    work.abort();
}
