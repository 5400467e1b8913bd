//! The clients of a world: they give requests to routers, a few for one partition at once, and wait for the answers.
//!
//! A request that was not sent is tried again, at whichever router: nothing of it was executed. One of which nobody knows
//! is not.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use kafka_assigner_core::state::{GroupState, SharedMap};
use kafka_assigner_router::Forwarder;
use kafka_assigner_types::id::TopicPartition;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{RouterProcess, World};
use crate::call::Call;
use crate::history::{Answer, History, What};
use crate::ice::Ice;
use crate::network::Carrier;

/// The chance that requests are given, at a look at the world: a few in a second.
const OFTEN: f64 = 0.25;

/// The share of them that are for a partition that is being handed over, where one is.
const MOVING: f64 = 0.6;

/// A look at the world comes about that often; requests are given at any time in between.
const SPREAD_MS: u64 = 99;

/// The most requests that are given at once.
const MOST_AT_ONCE: usize = 4;

/// The time for which a client waits before it tries again what was not sent.
const AGAIN: Duration = Duration::from_millis(700);

/// The most requests that are to be tried again: what comes beyond is given up by its client.
const MOST_AGAIN: usize = 32;

/// All clients together.
#[derive(Debug)]
pub(crate) struct Clients {
    dice: StdRng,
    history: History,
    requests: u64,
    calls: u64,
    waiting: Arc<AtomicUsize>,
    again: Arc<Mutex<Vec<Unsent>>>,
}

/// A request that is to be tried again, and its partition.
type Unsent = (u64, TopicPartition);

/// A router as its clients reach it.
struct Door {
    router: u32,
    name: Arc<str>,
    requests: Arc<Forwarder<Carrier>>,
    ice: Ice,
    gone: CancellationToken,
}

/// Requests for one partition that are given to one router at once.
struct Batch {
    door: Door,
    history: History,
    of: TopicPartition,
    calls: Vec<Call>,
    waiting: Arc<AtomicUsize>,
    again: Arc<Mutex<Vec<Unsent>>>,
}

impl Clients {
    pub(super) fn new(seed: u64, history: History) -> Self {
        let (dice, waiting, again) = (StdRng::seed_from_u64(seed), Arc::default(), Arc::default());
        Self { dice, history, requests: 0, calls: 0, waiting, again }
    }

    /// The number of calls that have no answer.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    fn give(&mut self, door: Door, of: TopicPartition, requests: Vec<u64>) {
        let calls = requests.into_iter().map(|request| self.call(request)).collect();
        let (waiting, again) = (Arc::clone(&self.waiting), Arc::clone(&self.again));
        let batch = Batch { door, history: self.history.clone(), of, calls, waiting, again };
        let after = Duration::from_millis(self.dice.random_range(0..=SPREAD_MS));
        tokio::spawn(async move {
            sleep(after).await;
            batch.run().await;
        });
    }

    fn call(&mut self, request: u64) -> Call {
        self.calls += 1;
        Call { request, number: self.calls }
    }

    fn new_requests(&mut self) -> Vec<u64> {
        let first = self.requests + 1;
        self.requests += self.dice.random_range(1..=MOST_AT_ONCE) as u64;
        (first..=self.requests).collect()
    }

    fn some_partition(&mut self, state: &GroupState) -> Option<TopicPartition> {
        let moving = self.dice.random_bool(MOVING).then(|| any(&mut self.dice, state.handoffs()));
        moving.flatten().or_else(|| any(&mut self.dice, state.assignments()))
    }

    /// The request that waits longest to be tried again.
    fn next_again(&self) -> Option<Unsent> {
        let mut again = self.again.lock().unwrap_or_else(PoisonError::into_inner);
        (!again.is_empty()).then(|| again.remove(0))
    }
}

fn any<T>(dice: &mut StdRng, records: &SharedMap<TopicPartition, T>) -> Option<TopicPartition> {
    let chosen = dice.random_range(0..records.len().max(1));
    records.keys().nth(chosen).cloned()
}

impl Batch {
    async fn run(self) {
        tokio::select! {
            biased;
            // Nobody was asked: the router died before.
            () = self.door.gone.cancelled() => return,
            // A router that stands still takes nothing in.
            () = self.door.ice.run(std::future::ready(())) => {}
        }
        let answers = join_all(self.calls.iter().map(|call| self.ask(*call))).await;
        let is_unsent = |(call, answer): (&Call, Answer)| {
            matches!(answer, Answer::Unsent(_)).then(|| (call.request, self.of.clone()))
        };
        let unsent: Vec<Unsent> = self.calls.iter().zip(answers).filter_map(is_unsent).collect();
        if !unsent.is_empty() {
            sleep(AGAIN).await;
            let mut again = self.again.lock().unwrap_or_else(PoisonError::into_inner);
            let room = MOST_AGAIN.saturating_sub(again.len());
            again.extend(unsent.into_iter().take(room));
        }
    }

    async fn ask(&self, call: Call) -> Answer {
        let Door { router, name, requests, gone, .. } = &self.door;
        let asked = What::Asked { call, router: *router, name: Arc::clone(name), of: self.of.clone() };
        self.history.note(asked);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let answer = tokio::select! {
            biased;
            // Nothing is heard of it any more.
            () = gone.cancelled() => Answer::Died,
            answer = requests.request(&self.of, call.write()) => answer.into(),
        };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        self.history.note(What::Answered { call: call.number, answer });
        answer
    }
}

impl World {
    /// Lets clients give requests to routers, if they feel like it.
    pub(crate) fn ask(&mut self) {
        if let Some(door) = self.some_door()
            && let Some((request, of)) = self.clients.next_again()
        {
            self.clients.give(door, of, vec![request]);
        }
        if !self.clients.dice.random_bool(OFTEN) {
            return;
        }
        let Some(door) = self.some_door() else { return };
        let (observer, clients) = (&self.observer, &mut self.clients);
        if let Some(of) = observer.read(|state| clients.some_partition(state)) {
            let requests = clients.new_requests();
            clients.give(door, of, requests);
        }
    }

    /// A router that takes requests, as far as clients know.
    fn some_door(&mut self) -> Option<Door> {
        let open: Vec<u32> =
            self.routers.iter().filter(|(_, process)| !process.leaves).map(|(number, _)| *number).collect();
        let chosen = self.clients.dice.random_range(0..open.len().max(1));
        let router = *open.get(chosen)?;
        let RouterProcess { name, requests, ice, gone, .. } = &self.routers[&router];
        let (name, requests) = (Arc::clone(name), Arc::clone(requests));
        Some(Door { router, name, requests, ice: ice.clone(), gone: gone.clone() })
    }
}
