//! Scripted owners: they record the requests that reach them, and answer, wait or refuse.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use bytes::Bytes;
use kafka_assigner_router::{
    Forward, Forwarder, RouteTarget, Router, RouterError, RouterOptions, RouterStatus, RouterStopped,
    RoutingTable, SendError, TopicPartition,
};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::fake::{Fake, at};

/// A request that reached an owner: the owner's name, the epoch, the partition and the request.
pub(crate) type Arrived = (String, u64, i32, String);

#[derive(Debug, Default)]
struct State {
    /// The epochs that owners admit; one that is not named admits any.
    admits: BTreeMap<String, u64>,
    broken: BTreeSet<String>,
}

/// All owners; clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct Owners {
    state: Arc<Mutex<State>>,
    arrived: watch::Sender<Vec<Arrived>>,
    /// Answers are given for so many requests; without a bound unless it was taken.
    answers: Arc<Semaphore>,
}

impl Owners {
    pub(crate) fn new() -> Self {
        let (state, arrived) = (Arc::default(), watch::Sender::default());
        Self { state, arrived, answers: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS / 2)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panics while it holds this")
    }

    /// Answers nothing from now on, until [`answer`](Self::answer).
    pub(crate) fn hold_answers(&self) {
        self.answers.forget_permits(Semaphore::MAX_PERMITS);
    }

    /// Answers so many requests.
    pub(crate) fn answer(&self, requests: usize) {
        self.answers.add_permits(requests);
    }

    /// The owner refuses every epoch but this one.
    pub(crate) fn admit_only(&self, owner: &str, epoch: u64) {
        self.state().admits.insert(owner.into(), epoch);
    }

    /// Requests to this owner fail in flight.
    pub(crate) fn cut(&self, owner: &str) {
        self.state().broken.insert(owner.into());
    }

    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.arrived.borrow().clone()
    }

    /// The requests that reached anybody, in order.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.arrived().into_iter().map(|(_, _, _, request)| request).collect()
    }

    pub(crate) async fn wait_for(&self, requests: usize) {
        let mut arrived = self.arrived.subscribe();
        arrived.wait_for(|arrived| arrived.len() >= requests).await.expect("the sender lives");
    }
}

#[async_trait]
impl Forward for Owners {
    type Response = String;

    async fn send(&self, to: &RouteTarget, at: &TopicPartition, request: Bytes) -> Result<String, SendError> {
        let owner = to.owner.name.to_string();
        let admits = self.state().admits.get(&owner).copied();
        if admits.is_some_and(|epoch| epoch != to.epoch.0) {
            return Err(SendError::Refused("another epoch".into()));
        }
        if self.state().broken.contains(&owner) {
            return Err(SendError::Failed("the connection broke".into()));
        }
        let request = String::from_utf8(request.to_vec()).expect("tests send text");
        let arrived = (owner.clone(), to.epoch.0, at.kafka_number(), request);
        self.arrived.send_modify(|log| log.push(arrived));
        self.answers.acquire().await.expect("never closed").forget();
        Ok(owner)
    }
}

/// A running router in front of the owners.
pub(crate) struct Running {
    pub(crate) requests: Arc<Forwarder<Owners>>,
    pub(crate) table: RoutingTable,
    pub(crate) status: watch::Receiver<RouterStatus>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) run: JoinHandle<Result<RouterStopped, RouterError>>,
}

pub(crate) fn options() -> RouterOptions {
    RouterOptions { seed: Some(3), ..RouterOptions::new("r", ["http://a", "http://b"]) }
}

/// Starts a router and waits until its table is open.
pub(crate) async fn start(service: &Fake, owners: &Owners) -> Running {
    let router = Router::forwarding_over(options(), owners.clone(), service.clone()).expect("valid");
    let (requests, table, mut status) = (router.cutover(), router.table(), router.status());
    let shutdown = CancellationToken::new();
    let run = tokio::spawn(router.run(shutdown.clone()));
    status.wait_for(|status| status.is_open).await.expect("it runs");
    Running { requests, table, status, shutdown, run }
}

impl Running {
    /// Makes a request for a partition; its place is that of this call.
    pub(crate) fn ask(&self, partition: i32, request: &str) -> JoinHandle<Result<String, String>> {
        let request = Bytes::from(request.to_owned());
        let answer = self.requests.request(&at(partition), request);
        tokio::spawn(async move { answer.await.map_err(|error| error.to_string()) })
    }
}

/// The answer to a request.
pub(crate) async fn answer(asked: JoinHandle<Result<String, String>>) -> Result<String, String> {
    asked.await.expect("no panic")
}
