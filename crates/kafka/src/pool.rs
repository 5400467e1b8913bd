//! Links to the brokers of a cluster.

mod reconnect;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use crate::address::BrokerAddress;
use crate::connection::{BrokerLink, Connector};
use crate::error::Error;
use crate::wire::ApiRequest;
pub use reconnect::Reconnect;

/// The connections to one broker. It takes up the requests of a connection one by one, and one that it holds back holds
/// back all behind it: so what must not wait has a connection of its own, as in Kafka's Java client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BrokerLane {
    /// Requests that are answered at once: metadata, offsets.
    Requests,
    /// The group: heartbeats, commits, and the joining during which there are neither.
    Group,
    /// Fetches, which are held back until there are records.
    Polls,
}

/// Links to brokers: one for each broker and lane, opened when it is first used, and again after it has ended.
///
/// A broker that could not be reached is left alone for a wait that grows; who asks meanwhile waits with it, or is told
/// so where its patience is shorter. Where a broker ends sessions (KIP-368), a link is replaced before its session ends:
/// the new one logs in anew, and requests under way on the old one are still answered.
#[derive(Debug)]
pub struct BrokerPool {
    connector: Connector,
    slots: Mutex<BTreeMap<(BrokerAddress, BrokerLane), Arc<LinkSlot>>>,
}

/// The place of one link. Its lock is held while a link is opened, so that many who ask open one.
#[derive(Debug, Default)]
struct LinkSlot(tokio::sync::Mutex<LinkSlotState>);

#[derive(Debug, Default)]
struct LinkSlotState {
    link: Option<BrokerLink>,
    reconnect: Reconnect,
}

impl BrokerPool {
    /// A pool without a link.
    #[must_use]
    pub const fn new(connector: Connector) -> Self {
        Self { connector, slots: Mutex::new(BTreeMap::new()) }
    }

    /// Asks `broker`; see [`BrokerLink::ask`]. `patience` counts from now: waits and the opening of a link are within it.
    /// Cancel safe but for the request, which may have been sent.
    ///
    /// # Errors
    /// [`Error`], by variant.
    pub async fn ask<R: ApiRequest>(
        &self,
        broker: &BrokerAddress,
        lane: BrokerLane,
        make: impl FnOnce(i16) -> R,
        patience: Duration,
    ) -> Result<(R::Answer, i16), Error> {
        let deadline = Instant::now() + patience;
        let slot = Arc::clone(self.slots().entry((broker.clone(), lane)).or_default());
        let late = |_| Error::NoAnswer { broker: broker.clone(), asked: "a connection", within: patience };
        let link =
            timeout_at(deadline, slot.link(&self.connector, broker, deadline)).await.map_err(late)??;
        link.ask(make, deadline.saturating_duration_since(Instant::now())).await
    }

    /// Forgets brokers that are not among `brokers`: those that have left the cluster. Requests under way are answered.
    pub fn retain(&self, brokers: &[BrokerAddress]) {
        self.slots().retain(|(broker, _), _| brokers.contains(broker));
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<(BrokerAddress, BrokerLane), Arc<LinkSlot>>> {
        // Nothing that can panic is done while it is held.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LinkSlot {
    /// The link, or a new one.
    async fn link(
        &self,
        connector: &Connector,
        broker: &BrokerAddress,
        deadline: Instant,
    ) -> Result<BrokerLink, Error> {
        let mut state = self.0.lock().await;
        if let Some(link) = state.link.as_ref().filter(|link| link.is_usable()) {
            return Ok(link.clone());
        }
        state.link = None;
        let wait = state.reconnect.wait(Instant::now().into_std());
        if Instant::now() + wait >= deadline {
            return Err(Error::Resting { broker: broker.clone(), wait });
        }
        sleep(wait).await;
        // Counted first: a try that is dropped on the way has not succeeded.
        state.reconnect.failed(Instant::now().into_std(), chance());
        let link = connector.open(broker).await?.into_link();
        state.reconnect.opened();
        Ok(state.link.insert(link).clone())
    }
}

/// A number from 0 to 1 by chance. Where the system has none, everybody waits the longest.
fn chance() -> f64 {
    let mut byte = [u8::MAX];
    let _none = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut byte);
    f64::from(byte[0]) / f64::from(u8::MAX)
}

#[cfg(test)]
#[path = "pool/pool_test.rs"]
mod pool_test;
