//! Requests on their way from routers to owners.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use kafka_assigner_client::TopicPartition;
use kafka_assigner_router::{Forward, RouteTarget, SendError};
use kafka_assigner_types::id::Epoch;
use tokio::time::{Instant, sleep, sleep_until};

use super::{Fate, Network};
use crate::call::Call;
use crate::desk::{Desk, Served, process_at};
use crate::history::What;
use crate::hole::Hole;
use crate::ice::Ice;

/// The time between two requests that arrive over one connection: the clock's resolution, so that their order is kept.
const NEXT: Duration = Duration::from_millis(1);

/// The connections of one router's process to owners. What is put onto one of them arrives in order, if it does.
#[derive(Debug, Clone)]
pub(crate) struct Carrier {
    pub(crate) network: Arc<Network>,
    pub(crate) router: u32,
    pub(crate) desk: Desk,
    /// A request is a task of its own, of which a frozen process makes no step either.
    pub(crate) ice: Ice,
}

/// A request on its way to an owner.
struct Journey {
    carrier: Carrier,
    owner: u32,
    at: TopicPartition,
    epoch: Epoch,
    call: Call,
    fate: Fate,
    arrival: Instant,
}

/// Notes when the router does not count a request as on its way any more, whatever ended that.
struct OnItsWay<'a> {
    network: &'a Network,
    call: u64,
    refused: bool,
}

impl Drop for OnItsWay<'_> {
    fn drop(&mut self) {
        self.network.history.note(What::Back { call: self.call, refused: self.refused });
    }
}

impl Journey {
    /// There, served, and back; whoever waits for it may be gone meanwhile.
    async fn run(self) -> Served {
        sleep_until(self.arrival).await;
        if self.fate.loses_request {
            return self.lost();
        }
        let desk = &self.carrier.desk;
        let served = desk.serve(self.owner, &self.at, self.epoch, self.call).await;
        sleep(self.fate.back).await;
        if self.fate.loses_answer { self.lost() } else { served }
    }

    fn lost(&self) -> Served {
        self.carrier.network.history.note(What::Lost { call: self.call.number });
        if self.fate.breaks { Served::Broken } else { Served::Never }
    }
}

impl Carrier {
    /// The outcome as the router takes it.
    fn answer(&self, served: Served) -> Result<(), SendError> {
        let hole = self.network.hole;
        match served {
            Served::Refused(_) if hole == Some(Hole::RefusalAnswered) => Ok(()),
            Served::Broken if hole == Some(Hole::BrokenIsRefused) => Err(SendError::Refused("broken".into())),
            Served::Done => Ok(()),
            Served::Refused(why) => Err(SendError::Refused(why)),
            Served::Broken | Served::Never => Err(SendError::Failed("the connection broke".into())),
        }
    }
}

#[async_trait]
impl Forward for Carrier {
    type Response = ();

    async fn send(&self, to: &RouteTarget, at: &TopicPartition, request: Bytes) -> Result<(), SendError> {
        self.ice.run(self.carry(to, at, request)).await
    }
}

impl Carrier {
    async fn carry(&self, to: &RouteTarget, at: &TopicPartition, request: Bytes) -> Result<(), SendError> {
        let (call, owner) = (Call::read(&request), process_at(&to.owner.endpoint));
        let (fate, arrival) = self.network.put(self.router, owner);
        let (of, epoch) = (at.clone(), to.epoch);
        let sent = What::Sent { call: call.number, router: self.router, of: of.clone(), to: owner, epoch };
        self.network.history.note(sent);
        let mut on_its_way = OnItsWay { network: &self.network, call: call.number, refused: false };
        let journey = Journey { carrier: self.clone(), owner, at: of, epoch, call, fate, arrival };
        let served = tokio::spawn(journey.run()).await.expect("no owner panics");
        if matches!(served, Served::Never) {
            std::future::pending::<()>().await;
        }
        let answer = self.answer(served);
        on_its_way.refused = matches!(answer, Err(SendError::Refused(_)));
        answer
    }
}

impl Network {
    /// Puts a request onto a connection. Who is cut off from the instances still reaches owners.
    fn put(&self, router: u32, owner: u32) -> (Fate, Instant) {
        let mut state = self.state();
        let fate = state.throw(self.latency, None);
        let arrival = Instant::now() + fate.there;
        let last = state.arrivals.entry((router, owner)).or_insert(arrival);
        *last = arrival.max(*last + NEXT);
        (fate, *last)
    }
}
