//! The routers of a world: each process runs the router library as it is.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_router::{
    Forwarder, Router, RouterError, RouterOptions, RouterStopped, RoutingTable, StashLimits,
};
use kafka_assigner_session::Clock;
use rand::RngExt as _;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{GROUP, World};
use crate::harness::Harness;
use crate::history::What;
use crate::ice::Ice;
use crate::network::Carrier;

/// The time for which a router that starts may have no table.
const STARTS_IN: Duration = Duration::from_secs(3);

/// The time for which a router that leaves answers what it holds.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// One router's process.
#[derive(Debug)]
pub(crate) struct RouterProcess {
    pub(crate) name: Arc<str>,
    pub(crate) ice: Ice,
    /// True if it was told to stop.
    pub(crate) leaves: bool,
    pub(super) requests: Arc<Forwarder<Carrier>>,
    /// Nobody hears of it any more.
    pub(super) gone: CancellationToken,
    table: RoutingTable,
    shutdown: CancellationToken,
    task: JoinHandle<Result<RouterStopped, RouterError>>,
    frozen_at: Option<Instant>,
}

impl World {
    /// A router joins under a name that nobody had so far.
    pub(crate) fn join_router(&mut self) -> Arc<str> {
        let name: Arc<str> = format!("r{}", self.next_router).into();
        self.next_router += 1;
        self.spawn_router(&name);
        name
    }

    /// Starts a router's process under `name`, whoever else runs under that name.
    pub(crate) fn spawn_router(&mut self, name: &Arc<str>) -> u32 {
        self.next_process += 1;
        let number = self.next_process;
        let process = self.router_process(number, name);
        self.history.excuse(name, STARTS_IN);
        self.routers.insert(number, process);
        number
    }

    fn router_process(&mut self, number: u32, name: &Arc<str>) -> RouterProcess {
        let clock = Clock::drifting(self.shape.drift_of(number as usize));
        let (ice, table) = (Ice::default(), RoutingTable::on_clock(clock));
        let (network, desk) = (Arc::clone(&self.network), self.desk.clone());
        let carrier = Carrier { network, router: number, desk, ice: ice.clone() };
        let (limits, patience): (StashLimits, Duration) = (self.shape.stash, self.shape.send_timeout);
        let requests = Arc::new(Forwarder::new(carrier, table.clone(), limits, patience));
        let harness = Harness { requests: Arc::clone(&requests), ice: ice.clone(), hole: self.hole };
        let (options, wire) = (self.router_options(name), self.wire(number, name, &ice));
        let router = Router::over(options, table.clone(), Arc::new(harness), wire).expect("good options");
        let (gone, shutdown) = (CancellationToken::new(), CancellationToken::new());
        let task = tokio::spawn({
            let (ice, shutdown) = (ice.clone(), shutdown.clone());
            async move { ice.run(router.run(shutdown)).await }
        });
        let name = Arc::clone(name);
        RouterProcess { name, ice, leaves: false, requests, gone, table, shutdown, task, frozen_at: None }
    }

    fn router_options(&mut self, name: &str) -> RouterOptions {
        RouterOptions {
            group: GROUP.to_owned(),
            stash: self.shape.stash,
            send_timeout: self.shape.send_timeout,
            close_timeout: CLOSE_TIMEOUT,
            seed: Some(self.dice.random()),
            ..RouterOptions::new(name, self.endpoints())
        }
    }

    /// Ends a router's process without a word.
    pub(crate) fn kill_router(&mut self, number: u32) -> Option<Arc<str>> {
        let process = self.routers.remove(&number)?;
        process.gone.cancel();
        process.task.abort();
        Some(process.name)
    }

    /// Tells a router to stop in good order.
    pub(crate) fn shut_router_down(&mut self, number: u32) {
        if let Some(process) = self.routers.get_mut(&number) {
            process.leaves = true;
            process.shutdown.cancel();
            self.history.note(What::RouterStops { router: number });
        }
    }

    /// From now on a router's process makes no step.
    pub(crate) fn freeze_router(&mut self, number: u32) {
        if let Some(process) = self.routers.get_mut(&number) {
            process.ice.freeze();
            process.frozen_at = Some(Instant::now());
        }
    }

    /// A frozen router goes on.
    pub(crate) fn thaw_router(&mut self, number: u32) {
        let ttl = self.shape.ttl();
        if let Some(process) = self.routers.get_mut(&number)
            && let Some(since) = process.frozen_at.take()
        {
            let (frozen, claims) = (since.elapsed(), process.table.is_open());
            let consumer = Arc::clone(&process.name);
            process.ice.thaw();
            self.history.note(What::Thawed { consumer, frozen, ttl, claims });
        }
    }

    /// Forgets routers that have ended by themselves; returns the names under which nobody runs and somebody should.
    pub(crate) fn bury_routers(&mut self) -> Vec<Arc<str>> {
        let ended = self.routers.iter().filter(|(_, process)| process.task.is_finished());
        let ended: Vec<u32> = ended.map(|(number, _)| *number).collect();
        let ended: Vec<RouterProcess> =
            ended.into_iter().filter_map(|number| self.routers.remove(&number)).collect();
        let is_missed = |process: &RouterProcess| {
            !process.leaves && self.routers.values().all(|other| other.name != process.name)
        };
        ended.into_iter().filter(is_missed).map(|process| process.name).collect()
    }

    /// The routers that are up, not frozen, and stay.
    pub(crate) fn staying_routers(&self) -> Vec<u32> {
        let stays = |process: &RouterProcess| !process.leaves && !process.ice.is_frozen();
        self.routers.iter().filter(|(_, process)| stays(process)).map(|(number, _)| *number).collect()
    }

    /// A router that should have a table and has none.
    pub(crate) fn closed_router(&self) -> Option<&Arc<str>> {
        let closed = |process: &&RouterProcess| !process.leaves && !process.table.is_open();
        self.routers.values().find(closed).map(|process| &process.name)
    }
}
