//! The loop: one event after the other, the machines' actions after each, and then all that is due by now.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_proto::v1::{DeregisterMode, DeregisterResponse, RouteCommand};
use kafka_assigner_session::{
    CommandSource, Dice, Ending, Event, Session, SessionAction, SessionOptions, SessionStatus,
};
use kafka_assigner_types::id::{HandoffId, Incarnation, TopicPartition};
use kafka_assigner_types::kv::LeaseId;
use kafka_assigner_types::moment::Moment;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};

use super::acks::{DrainAcks, RouteAckFailed, RouteAckReply};
use super::drain_failures::{DrainFailures, TooManyFailures};
use super::drain_tasks::{DrainEnd, DrainTasks};
use super::parts::RouterParts;
use super::service_calls::{RouterCalls, RouterReply};
use super::stall::{StallDetector, WATCH};
use super::stopping::{Detach, RouterStopping};
use crate::cutover::{Cutover, CutoverError};
use crate::dialect::{RouteUpdate, RouterDialect};
use crate::options::RouterOptions;
use crate::route_map::{RouteMap, RouteStep};
use crate::status::RouterStatus;
use crate::stopped::{RouterError, RouterStopped};
use crate::table::RoutingTable;
use crate::transport::RoutingTransport;

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
    options: RouterOptions,
    group: Arc<str>,
    table: RoutingTable,
    cutover: Arc<C>,
    status: watch::Sender<RouterStatus>,
    session: Session<RouterDialect>,
    dice: Dice,
    /// This session has delivered a table.
    has_table: bool,
    acks: DrainAcks,
    failures: DrainFailures,
    /// Tells if this loop ran without a pause, so that it can judge the forwarder.
    stall: StallDetector,
    stopping: RouterStopping,
    commands: CommandSource<RouteCommand>,
    drain_tasks: DrainTasks<C>,
    side_tasks: JoinSet<SideTask>,
    service: RouterCalls<T>,
}

impl<C: Cutover, T: RoutingTransport> Driver<C, T> {
    pub(crate) fn new(parts: RouterParts<C, T>) -> Self {
        let RouterParts { options, table, cutover, transport, status } = parts;
        let seed = options.seed.unwrap_or_else(rand::random);
        // The claim of a router has no grace: with owners that stop by their own clocks, nothing is gained by sending.
        let (endpoints, outage_grace) = (options.endpoints.clone(), Duration::ZERO);
        Self {
            session: Session::new(SessionOptions { endpoints, outage_grace, seed }),
            // Another seed than the session's, or both would draw the same numbers.
            dice: Dice::new(seed.wrapping_add(1)),
            has_table: false,
            acks: DrainAcks::new(),
            failures: DrainFailures::new(),
            stall: StallDetector::new(table.clock().now()),
            stopping: RouterStopping::new(),
            commands: CommandSource::default(),
            drain_tasks: DrainTasks::new(cutover.clone()),
            side_tasks: JoinSet::new(),
            service: RouterCalls::new(transport, options.group.clone(), options.name.clone()),
            group: options.group.as_str().into(),
            options,
            table,
            cutover,
            status,
        }
    }

    pub(crate) async fn run(mut self, shutdown: CancellationToken) -> Result<RouterStopped, RouterError> {
        let cutover = self.cutover.clone();
        self.side_tasks.spawn(async move {
            cutover.work().await;
            SideTask::Work
        });
        self.session_event(Event::Start);
        while !self.stopping.is_done() {
            let event = self.next_event(&shutdown).await;
            self.handle(event);
            self.after_event();
        }
        self.stopping.result()
    }

    fn now(&self) -> Moment {
        self.table.clock().now()
    }

    async fn next_event(&mut self, shutdown: &CancellationToken) -> RouterEvent {
        let now = self.now();
        let wakes =
            [self.session.next_wake(), self.acks.next_wake(), self.stopping.deadline(), self.claim_end()];
        let wake = wakes.into_iter().flatten().min().unwrap_or(now + WATCH).min(now + WATCH);
        tokio::select! {
            biased;
            // Answers first: a confirmed heartbeat keeps everything else valid.
            Some(reply) = self.service.next_reply() => RouterEvent::Reply(reply),
            // The commands of the service, in order.
            event = self.commands.next() => RouterEvent::Stream(event),
            // Drains that ended.
            end = self.drain_tasks.next_end() => RouterEvent::Drain(end),
            // A task that must not end has ended, or panicked; or all requests are answered before the stop.
            Some(end) = self.side_tasks.join_next() => RouterEvent::SideTask(end.unwrap_or(SideTask::Work)),
            // The request to stop, once.
            () = shutdown.cancelled(), if self.stopping.is_running() => RouterEvent::Shutdown,
            // Deadlines; they are also checked after every other event, so nothing above can starve them.
            () = self.table.clock().sleep_until(wake) => RouterEvent::Timer,
        }
    }

    fn handle(&mut self, event: RouterEvent) {
        match event {
            RouterEvent::Reply(reply) => self.reply(reply),
            RouterEvent::Stream(event) => self.session_event(event),
            RouterEvent::Drain(end) => self.drain_ended(end),
            RouterEvent::SideTask(SideTask::Work) => self.fail(RouterError::Stuck),
            RouterEvent::SideTask(SideTask::Finish) => {
                let detach = self.stopping.requests_finished(self.now());
                self.perform_stop(detach);
            }
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
            warn!(group = &*self.group, router = self.options.name, "table closed: not confirmed");
            self.change_routes(RouteMap::close);
        }
        let bound = self.options.stuck_after;
        if self.stall.has_run_for(now, bound) && self.cutover.is_stuck(bound) {
            self.fail(RouterError::Stuck);
        }
        let detach = self.stopping.advance(self.now());
        self.perform_stop(detach);
        self.send_acks();
        self.publish_status();
    }

    /// The moment at which an open table closes, unless the session is confirmed before.
    fn claim_end(&self) -> Option<Moment> {
        let has_routes = self.table.change(|routes| routes.is_open());
        has_routes.then(|| self.table.open_until().unwrap_or_default())
    }

    fn reply(&mut self, reply: RouterReply) {
        match reply {
            RouterReply::Heartbeat { number, result: Ok(response) } => {
                self.session_event(Event::HeartbeatAnswered { number, response });
            }
            RouterReply::Heartbeat { number, result: Err(status) } => {
                debug!(code = ?status.code(), message = status.message(), "heartbeat failed");
                self.session_event(Event::HeartbeatFailed { number });
            }
            RouterReply::Detach(result) => {
                let result = result.map(|()| DeregisterResponse::default());
                self.session_event(Event::LeaveAnswered { mode: DeregisterMode::Now, result });
            }
            RouterReply::Acks(reply) => self.acks_answered(reply),
        }
    }

    fn session_event(&mut self, event: Event<RouteCommand>) {
        for action in self.session.step(self.now(), event) {
            self.perform(action);
        }
    }

    fn perform(&mut self, action: SessionAction<RouteUpdate>) {
        match action {
            SessionAction::OpenStream(open) => {
                let attempt = open.attempt;
                self.commands.open(attempt, self.service.attach(open, self.options.attach_request()));
            }
            SessionAction::CloseStream => self.commands.close(),
            SessionAction::SendHeartbeat(heartbeat) => self.service.heartbeat(heartbeat),
            SessionAction::SendDeregister { endpoint, incarnation, .. } => {
                self.service.detach(endpoint, &incarnation);
            }
            SessionAction::Claim(term) => self.claim(term.map(|term| term.strict)),
            SessionAction::Opened { incarnation, lease } => self.opened(incarnation, lease),
            SessionAction::News(update) => self.update(update),
            // No other process waits for the claim of a router, or takes anything from it.
            SessionAction::SayStopped { .. } | SessionAction::NobodyTakes | SessionAction::Fenced(_) => {}
            SessionAction::Lost(loss) => {
                warn!(group = &*self.group, router = self.options.name, ?loss, "session lost");
                self.status.send_modify(|status| status.sessions_lost += 1);
                self.forget();
            }
            SessionAction::Finished(ending) => self.finished(ending),
        }
    }

    fn claim(&mut self, until: Option<Moment>) {
        if self.stopping.is_closed() {
            return;
        }
        self.table.claim(until);
        self.open_if_confirmed();
    }

    /// Opens the table once it has routes and a session that was confirmed lately.
    fn open_if_confirmed(&mut self) {
        let is_confirmed = self.table.open_until().is_some_and(|until| self.now() < until);
        if is_confirmed && self.has_table && !self.table.is_open() {
            self.change_routes(RouteMap::open);
        }
    }

    fn opened(&self, incarnation: Incarnation, lease: LeaseId) {
        info!(group = &*self.group, router = self.options.name, %incarnation, %lease, "session opened");
        let session = Some(SessionStatus { incarnation, lease });
        self.status.send_modify(|status| status.session = session);
    }

    fn update(&mut self, update: RouteUpdate) {
        if self.stopping.is_closed() {
            return;
        }
        let is_whole = matches!(update, RouteUpdate::All { .. });
        self.change_routes(|routes| routes.apply(update));
        if is_whole {
            self.has_table = true;
            self.acks.drains.repeat_all(self.now());
            self.open_if_confirmed();
        }
    }

    /// The session is over: its table is not valid any more.
    fn forget(&mut self) {
        self.table.claim(None);
        self.has_table = false;
        self.change_routes(RouteMap::forget);
        self.acks.drains.clear();
        self.drain_tasks.abort_all();
    }

    fn change_routes(&mut self, change: impl FnOnce(&mut RouteMap) -> Vec<RouteStep>) {
        for step in self.table.change(change) {
            self.perform_step(step);
        }
    }

    fn perform_step(&mut self, step: RouteStep) {
        match step {
            RouteStep::Stop(at) => {
                self.end_drain(&at);
                self.cutover.stop(&at);
            }
            RouteStep::Drain(at, handoff) => {
                self.acks.drains.begin(at.clone(), handoff.clone());
                self.drain_tasks.start(at, handoff, Duration::ZERO);
            }
            RouteStep::Switch(at, target) => {
                self.end_drain(&at);
                self.cutover.switch(&at, &target);
            }
            RouteStep::Remove(at) => {
                self.end_drain(&at);
                self.cutover.remove(&at);
            }
        }
    }

    /// The partition is not to be drained any more.
    fn end_drain(&mut self, at: &TopicPartition) {
        self.acks.drains.end(at);
        self.drain_tasks.abort(at);
    }

    fn drain_ended(&mut self, end: DrainEnd) {
        let DrainEnd { at, handoff, result } = end;
        match result {
            Ok(()) => {
                self.failures.reset();
                self.acks.drains.drained(self.now(), &at, &handoff);
            }
            Err(error) => self.drain_failed(at, handoff, error),
        }
    }

    fn drain_failed(&mut self, at: TopicPartition, handoff: HandoffId, last: CutoverError) {
        warn!(group = &*self.group, partition = %at, %handoff, error = &*last, "drain failed");
        if let Err(TooManyFailures(failures)) = self.failures.count_one() {
            return self.fail(RouterError::Drains { failures, last });
        }
        if self.acks.drains.holds(&at, &handoff) {
            let wait = self.failures.next_wait(&mut self.dice);
            self.drain_tasks.start(at, handoff, wait);
        }
    }

    fn send_acks(&mut self) {
        let Some(incarnation) = self.session.incarnation() else { return };
        let due = self.acks.take_due(self.table.clock().now());
        if !due.is_empty() {
            self.service.acknowledge(self.session.endpoint().to_owned(), incarnation, due);
        }
    }

    fn acks_answered(&mut self, reply: RouteAckReply) {
        match self.acks.answered(self.table.clock().now(), reply, &mut self.dice) {
            Ok(0) => {}
            Ok(applied) => self.status.send_modify(|status| status.acknowledged += applied),
            Err(RouteAckFailed) => self.session_event(Event::CallFailed),
        }
    }

    fn begin_to_stop(&mut self) {
        info!(group = &*self.group, router = self.options.name, "stopping");
        self.stopping.begin(self.now(), self.options.close_timeout);
        let cutover = self.cutover.clone();
        self.side_tasks.spawn(async move {
            cutover.finish().await;
            SideTask::Finish
        });
    }

    fn fail(&mut self, failure: RouterError) {
        if !self.stopping.is_closed() {
            let (router, error) = (&self.options.name, &failure as &dyn std::error::Error);
            error!(group = &*self.group, router, error);
        }
        let detach = self.stopping.fail(self.now(), failure);
        self.perform_stop(detach);
    }

    fn perform_stop(&mut self, detach: Option<Detach>) {
        if let Some(Detach) = detach {
            self.forget();
            self.session_event(Event::Leave(DeregisterMode::Now));
        }
    }

    /// The session has ended, for any reason.
    fn finished(&mut self, ending: Ending) {
        info!(group = &*self.group, router = self.options.name, ?ending, "session ended");
        self.forget();
        self.stopping.session_ended(ending);
    }

    fn publish_status(&self) {
        let (is_open, held) = (self.table.is_open(), self.acks.drains.len());
        let has_session = self.session.incarnation().is_some();
        self.status.send_if_modified(|status| {
            let changed =
                status.is_open != is_open || status.held != held || status.session.is_some() && !has_session;
            (status.is_open, status.held) = (is_open, held);
            status.session.take_if(|_| !has_session);
            changed
        });
    }
}

/// If the future is dropped, the session is not renewed any more: no request may be sent by its table.
impl<C, T> Drop for Driver<C, T> {
    fn drop(&mut self) {
        self.table.claim(None);
    }
}
