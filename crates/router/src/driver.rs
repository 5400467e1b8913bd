//! The I/O around the pure machines: it performs their actions and reports the results.
//!
//! One task owns the session, the routes and the drains. The forwarder runs beside it, so that a slow owner never
//! delays a heartbeat. This task checks the forwarder's progress, so that no heartbeat is sent for a stalled router.

mod acks;
mod draining;
mod service;
mod stall;
mod stopping;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use draining::{DrainEnd, Failures};
use kafka_assigner_client::session::{Event, Session, SessionAction, SessionOptions};
use kafka_assigner_client::session_io::{CommandSource, joined};
use kafka_assigner_client::{Dice, RetryDelay, SessionStatus};
use kafka_assigner_proto::v1::RouteCommand;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;
use service::RouterReply;
use stall::StallDetector;
use stopping::{RouterEnd, RouterStage};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::cutover::Cutover;
use crate::dialect::{RouteUpdate, RouterDialect};
use crate::drains::Drains;
use crate::route_map::{RouteMap, RouteStep};
use crate::router::{Router, RouterError, RouterStopped};
use crate::transport::RoutingTransport;

/// The longest sleep of the loop: it checks the progress of the forwarder at least that often.
const WATCH: Duration = Duration::from_millis(500);

/// A switch waits for each acknowledgement, so a lost one is repeated soon.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const LONGEST_RETRY: Duration = Duration::from_secs(2);

/// An event that the loop waited for.
enum RouterEvent {
    Reply(RouterReply),
    Stream(Event<RouteCommand>),
    Drain(DrainEnd),
    SideTask(SideTask),
    Shutdown,
    Timer,
}

/// A task beside the session that ended.
#[derive(Debug, Clone, Copy)]
enum SideTask {
    Work,
    Finish,
}

pub(crate) struct Driver<C, T> {
    router: Router<C, T>,
    session: Session<RouterDialect>,
    dice: Dice,
    /// This session has delivered a table.
    has_table: bool,
    drains: Drains,
    draining: JoinSet<DrainEnd>,
    drain_tasks: BTreeMap<TopicPartition, AbortHandle>,
    failures: Failures,
    ack_under_way: bool,
    ack_retry: RetryDelay,
    commands: CommandSource<RouteCommand>,
    replies: JoinSet<RouterReply>,
    side_tasks: JoinSet<SideTask>,
    /// Tells if this loop ran without a pause, so that it can judge the forwarder.
    stall: StallDetector,
    group: Arc<str>,
    stage: RouterStage,
    end: RouterEnd,
}

impl<C: Cutover, T: RoutingTransport> Driver<C, T> {
    pub(crate) fn new(router: Router<C, T>) -> Self {
        let seed = router.options.seed.unwrap_or_else(rand::random);
        // The claim of a router has no grace: with owners that stop by their own clocks, nothing is gained by sending.
        let (endpoints, outage_grace) = (router.options.endpoints.clone(), Duration::ZERO);
        Self {
            session: Session::new(SessionOptions { endpoints, outage_grace, seed }),
            // Another seed than the session's, or both would draw the same numbers.
            dice: Dice::new(seed.wrapping_add(1)),
            has_table: false,
            drains: Drains::default(),
            draining: JoinSet::new(),
            drain_tasks: BTreeMap::new(),
            failures: Failures::new(),
            ack_under_way: false,
            ack_retry: RetryDelay::new(FIRST_RETRY, LONGEST_RETRY),
            commands: CommandSource::default(),
            replies: JoinSet::new(),
            side_tasks: JoinSet::new(),
            stall: StallDetector::new(router.table.clock().now()),
            group: router.options.group.as_str().into(),
            stage: RouterStage::Running,
            end: RouterEnd::default(),
            router,
        }
    }

    pub(crate) async fn run(mut self, shutdown: CancellationToken) -> Result<RouterStopped, RouterError> {
        let cutover = self.router.cutover.clone();
        self.side_tasks.spawn(async move {
            cutover.work().await;
            SideTask::Work
        });
        self.session_event(Event::Start);
        while !self.is_done() {
            let event = self.next_event(&shutdown).await;
            self.handle(event);
            self.after_event();
        }
        self.result()
    }

    fn now(&self) -> Moment {
        self.router.table.clock().now()
    }

    async fn next_event(&mut self, shutdown: &CancellationToken) -> RouterEvent {
        let now = self.now();
        let acks = self.drains.next_wake().filter(|_| !self.ack_under_way);
        let wakes = [self.session.next_wake(), acks, self.stage.deadline(), self.claim_end()];
        let wake = wakes.into_iter().flatten().min().unwrap_or(now + WATCH).min(now + WATCH);
        tokio::select! {
            biased;
            // Answers first: a confirmed heartbeat keeps everything else valid.
            Some(reply) = self.replies.join_next() => joined(reply).map_or(RouterEvent::Timer, RouterEvent::Reply),
            // The commands of the service, in order.
            event = self.commands.next() => RouterEvent::Stream(event),
            // Drains that ended.
            end = next_drain(&mut self.draining) => RouterEvent::Drain(end),
            // A task that must not end has ended, or panicked; or all requests are answered before the stop.
            Some(end) = self.side_tasks.join_next() => RouterEvent::SideTask(end.unwrap_or(SideTask::Work)),
            // The request to stop, once.
            () = shutdown.cancelled(), if self.stage.is_running() => RouterEvent::Shutdown,
            // Deadlines; they are also checked after every other event, so nothing above can starve them.
            () = self.router.table.clock().sleep_until(wake) => RouterEvent::Timer,
        }
    }

    fn handle(&mut self, event: RouterEvent) {
        match event {
            RouterEvent::Reply(reply) => self.reply(reply),
            RouterEvent::Stream(event) => self.session_event(event),
            RouterEvent::Drain(end) => self.drain_ended(end),
            RouterEvent::SideTask(SideTask::Work) => self.fail(RouterError::Stuck),
            RouterEvent::SideTask(SideTask::Finish) => self.finished_requests(),
            RouterEvent::Shutdown => self.begin_to_stop(),
            RouterEvent::Timer => {}
        }
    }

    /// Does all that is due by now; runs after every event.
    fn after_event(&mut self) {
        let now = self.now();
        if self.session.next_wake().is_some_and(|at| at <= now) {
            self.session_event(Event::Timer);
        }
        if self.claim_end().is_some_and(|at| at <= now) {
            warn!(group = &*self.group, router = self.router.options.name, "table closed: not confirmed");
            self.close();
        }
        let bound = self.router.options.stuck_after;
        if self.stall.has_run_for(now, bound) && self.router.cutover.is_stuck(bound) {
            self.fail(RouterError::Stuck);
        }
        self.advance_stop();
        self.send_acks();
        self.publish_status();
    }

    /// The moment at which an open table closes, unless the session is confirmed before.
    fn claim_end(&self) -> Option<Moment> {
        let has_routes = self.router.table.change(|routes| routes.is_open());
        has_routes.then(|| self.router.table.open_until().unwrap_or_default())
    }

    fn session_event(&mut self, event: Event<RouteCommand>) {
        for action in self.session.step(self.now(), event) {
            self.perform(action);
        }
    }

    fn perform(&mut self, action: SessionAction<RouteUpdate>) {
        match action {
            SessionAction::OpenStream(open) => self.open_stream(open),
            SessionAction::CloseStream => self.commands.close(),
            SessionAction::SendHeartbeat(heartbeat) => self.send_heartbeat(heartbeat),
            SessionAction::SendDeregister { endpoint, incarnation, .. } => {
                self.send_detach(endpoint, incarnation);
            }
            SessionAction::Claim(term) => self.claim(term.map(|term| term.strict)),
            SessionAction::Opened { incarnation, lease } => self.opened(incarnation, lease),
            SessionAction::News(update) => self.update(update),
            // No other process waits for the claim of a router.
            SessionAction::SayStopped { .. } => {}
            SessionAction::Lost(loss) => {
                warn!(group = &*self.group, router = self.router.options.name, ?loss, "session lost");
                self.router.status.send_modify(|status| status.sessions_lost += 1);
                self.forget();
            }
            SessionAction::Finished(ending) => self.finished(ending),
        }
    }

    fn claim(&mut self, until: Option<Moment>) {
        if self.stage.is_closed() {
            return;
        }
        self.router.table.claim(until);
        self.open_if_confirmed();
    }

    /// Opens the table once it has routes and a session that was confirmed lately.
    fn open_if_confirmed(&mut self) {
        let is_confirmed = self.router.table.open_until().is_some_and(|until| self.now() < until);
        if is_confirmed && self.has_table && !self.router.table.is_open() {
            let steps = self.router.table.change(RouteMap::open);
            self.perform_steps(steps);
        }
    }

    fn opened(&self, incarnation: String, lease: i64) {
        let router = &self.router.options.name;
        info!(group = &*self.group, router, incarnation, lease, "session opened");
        let session = Some(SessionStatus { incarnation, lease });
        self.router.status.send_modify(|status| status.session = session);
    }

    fn update(&mut self, update: RouteUpdate) {
        if self.stage.is_closed() {
            return;
        }
        let is_whole = matches!(update, RouteUpdate::All { .. });
        let steps = self.router.table.change(|routes| routes.apply(update));
        self.perform_steps(steps);
        if is_whole {
            self.has_table = true;
            self.drains.repeat_all(self.now());
            self.open_if_confirmed();
        }
    }

    fn close(&mut self) {
        let steps = self.router.table.change(RouteMap::close);
        self.perform_steps(steps);
    }

    /// The session is over: its table is not valid any more.
    fn forget(&mut self) {
        self.router.table.claim(None);
        self.has_table = false;
        let steps = self.router.table.change(RouteMap::forget);
        self.perform_steps(steps);
        self.abandon_drains();
    }

    fn perform_steps(&mut self, steps: Vec<RouteStep>) {
        for step in steps {
            match step {
                RouteStep::Stop(at) => {
                    self.end_drain(&at);
                    self.router.cutover.stop(&at);
                }
                RouteStep::Drain(at, handoff) => self.begin_drain(at, handoff),
                RouteStep::Switch(at, target) => {
                    self.end_drain(&at);
                    self.router.cutover.switch(&at, &target);
                }
                RouteStep::Remove(at) => {
                    self.end_drain(&at);
                    self.router.cutover.remove(&at);
                }
            }
        }
    }

    fn publish_status(&self) {
        let (is_open, held) = (self.router.table.is_open(), self.drains.len());
        let has_session = self.session.incarnation().is_some();
        self.router.status.send_if_modified(|status| {
            let changed =
                status.is_open != is_open || status.held != held || status.session.is_some() && !has_session;
            (status.is_open, status.held) = (is_open, held);
            status.session.take_if(|_| !has_session);
            changed
        });
    }
}

/// The next drain that ended by itself; those that were aborted are passed over. Pends for ever without one.
///
/// Cancel safe, since an end is only taken when it is returned.
async fn next_drain(draining: &mut JoinSet<DrainEnd>) -> DrainEnd {
    loop {
        match draining.join_next().await {
            Some(Ok(end)) => return end,
            // Panics are caught within, so it was aborted.
            Some(Err(_)) => {}
            None => std::future::pending().await,
        }
    }
}

/// If the future is dropped, the session is not renewed any more: no request may be sent by its table.
impl<C, T> Drop for Driver<C, T> {
    fn drop(&mut self) {
        self.router.table.claim(None);
    }
}
