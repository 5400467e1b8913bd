//! The shell around the pure machines: carries their actions out and reports back.
//!
//! One task owns the session, the routes and the drains. The traffic runs beside it, so that a slow owner never delays a
//! heartbeat; that it runs is watched from here, so that no heartbeat is sent for a router that stands still.

mod acks;
mod draining;
mod service;
mod stopping;
mod witness;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use draining::{DrainEnd, Failures};
use kafka_assigner_client::session::{Action, Event, Session, SessionOptions};
use kafka_assigner_client::shell::{Commands, joined};
use kafka_assigner_client::{Backoff, Dice, Moment, SessionStatus, TopicPartition};
use kafka_assigner_proto::v1::RouteCommand;
use service::Reply;
use stopping::{Stage, Verdict};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use witness::Witness;

use crate::cutover::Cutover;
use crate::dialect::{News, RouterDialect};
use crate::drains::Drains;
use crate::router::{Router, RouterError, RouterStopped};
use crate::routes::{Routes, Step};
use crate::transport::RoutingTransport;

/// How often the loop looks at what has no deadline of its own: whether the traffic gets on.
const WATCH: Duration = Duration::from_millis(500);

/// An acknowledgement lies on the path of a switch, so a lost one is repeated soon.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const LONGEST_RETRY: Duration = Duration::from_secs(2);

/// What the loop waited for.
enum Turn {
    Reply(Reply),
    Stream(Event<RouteCommand>),
    Drain(DrainEnd),
    Beside(Beside),
    Shutdown,
    Timer,
}

/// What runs beside the session and came to its end.
#[derive(Debug, Clone, Copy)]
enum Beside {
    Work,
    Finish,
}

pub(crate) struct Driver<C, T> {
    router: Router<C, T>,
    session: Session<RouterDialect>,
    dice: Dice,
    /// Whether this session has delivered a table.
    has_table: bool,
    drains: Drains,
    draining: JoinSet<DrainEnd>,
    drain_tasks: BTreeMap<TopicPartition, AbortHandle>,
    failures: Failures,
    ack_under_way: bool,
    ack_retry: Backoff,
    commands: Commands<RouteCommand>,
    replies: JoinSet<Reply>,
    beside: JoinSet<Beside>,
    /// Since when this loop itself can tell whether the traffic gets on.
    witness: Witness,
    group: Arc<str>,
    stage: Stage,
    verdict: Verdict,
}

impl<C: Cutover, T: RoutingTransport> Driver<C, T> {
    pub(crate) fn new(router: Router<C, T>) -> Self {
        let seed = router.options.seed.unwrap_or_else(rand::random);
        // The claim of a router has no grace: with owners that stop by their own clocks, nothing is gained by sending.
        let (endpoints, outage_grace) = (router.options.endpoints.clone(), Duration::ZERO);
        Self {
            session: Session::new(SessionOptions { endpoints, outage_grace, seed }),
            // Another seed than the session's, or both would roll the same numbers.
            dice: Dice::new(seed.wrapping_add(1)),
            has_table: false,
            drains: Drains::default(),
            draining: JoinSet::new(),
            drain_tasks: BTreeMap::new(),
            failures: Failures::new(),
            ack_under_way: false,
            ack_retry: Backoff::new(FIRST_RETRY, LONGEST_RETRY),
            commands: Commands::default(),
            replies: JoinSet::new(),
            beside: JoinSet::new(),
            witness: Witness::new(router.table.clock().now()),
            group: router.options.group.as_str().into(),
            stage: Stage::Running,
            verdict: Verdict::default(),
            router,
        }
    }

    pub(crate) async fn run(mut self, shutdown: CancellationToken) -> Result<RouterStopped, RouterError> {
        let cutover = self.router.cutover.clone();
        self.beside.spawn(async move {
            cutover.work().await;
            Beside::Work
        });
        self.session_event(Event::Start);
        while !self.is_done() {
            let turn = self.turn(&shutdown).await;
            self.take_in(turn);
            self.settle();
        }
        self.result()
    }

    fn now(&self) -> Moment {
        self.router.table.clock().now()
    }

    async fn turn(&mut self, shutdown: &CancellationToken) -> Turn {
        let now = self.now();
        let acks = self.drains.next_wake().filter(|_| !self.ack_under_way);
        let wakes = [self.session.next_wake(), acks, self.stage.deadline(), self.claim_end()];
        let wake = wakes.into_iter().flatten().min().unwrap_or(now + WATCH).min(now + WATCH);
        tokio::select! {
            biased;
            // Answers first: a confirmed heartbeat keeps everything else valid.
            Some(reply) = self.replies.join_next() => joined(reply).map_or(Turn::Timer, Turn::Reply),
            // What the service wants, in order.
            event = self.commands.next() => Turn::Stream(event),
            // What is not on its way any more.
            end = next_drain(&mut self.draining) => Turn::Drain(end),
            // What must not end by itself has ended, or panicked; or everything is answered before the stop.
            Some(end) = self.beside.join_next() => Turn::Beside(end.unwrap_or(Beside::Work)),
            // The wish to stop, once.
            () = shutdown.cancelled(), if self.stage.is_running() => Turn::Shutdown,
            // Deadlines; they are also looked at after every other turn, so nothing above can starve them.
            () = self.router.table.clock().sleep_until(wake) => Turn::Timer,
        }
    }

    fn take_in(&mut self, turn: Turn) {
        match turn {
            Turn::Reply(reply) => self.reply(reply),
            Turn::Stream(event) => self.session_event(event),
            Turn::Drain(end) => self.drain_ended(end),
            Turn::Beside(Beside::Work) => self.fail(RouterError::Stuck),
            Turn::Beside(Beside::Finish) => self.finished_requests(),
            Turn::Shutdown => self.begin_to_stop(),
            Turn::Timer => {}
        }
    }

    /// After every turn: whatever is due by now.
    fn settle(&mut self) {
        let now = self.now();
        if self.session.next_wake().is_some_and(|at| at <= now) {
            self.session_event(Event::Timer);
        }
        if self.claim_end().is_some_and(|at| at <= now) {
            warn!(group = &*self.group, router = self.router.options.name, "table closed: not confirmed");
            self.close();
        }
        let bound = self.router.options.stuck_after;
        if self.witness.has_watched(now, bound) && self.router.cutover.is_stuck(bound) {
            self.fail(RouterError::Stuck);
        }
        self.advance_stop();
        self.send_acks();
        self.show();
    }

    /// When an open table closes unless the session is confirmed before.
    fn claim_end(&self) -> Option<Moment> {
        let has_routes = self.router.table.change(|routes| routes.is_open());
        has_routes.then(|| self.router.table.open_until().unwrap_or_default())
    }

    fn session_event(&mut self, event: Event<RouteCommand>) {
        for action in self.session.step(self.now(), event) {
            self.perform(action);
        }
    }

    fn perform(&mut self, action: Action<News>) {
        match action {
            Action::OpenStream(open) => self.open_stream(open),
            Action::CloseStream => self.commands.close(),
            Action::SendHeartbeat(heartbeat) => self.send_heartbeat(heartbeat),
            Action::SendDeregister { endpoint, incarnation, .. } => self.send_detach(endpoint, incarnation),
            Action::Claim(term) => self.claim(term.map(|term| term.strict)),
            Action::Opened { incarnation, lease } => self.opened(incarnation, lease),
            Action::News(news) => self.news(news),
            // Nobody waits for the claim of a router.
            Action::SayStopped { .. } => {}
            Action::Lost(loss) => {
                warn!(group = &*self.group, router = self.router.options.name, ?loss, "session lost");
                self.router.status.send_modify(|status| status.sessions_lost += 1);
                self.forget();
            }
            Action::Finished(ending) => self.finished(ending),
        }
    }

    fn claim(&mut self, until: Option<Moment>) {
        if self.stage.is_closed() {
            return;
        }
        self.router.table.claim(until);
        self.open_if_confirmed();
    }

    /// Opens the table once both are there: its routes, and a session that was confirmed lately.
    fn open_if_confirmed(&mut self) {
        let is_confirmed = self.router.table.open_until().is_some_and(|until| self.now() < until);
        if is_confirmed && self.has_table && !self.router.table.is_open() {
            let steps = self.router.table.change(Routes::open);
            self.carry_out(steps);
        }
    }

    fn opened(&self, incarnation: String, lease: i64) {
        let router = &self.router.options.name;
        info!(group = &*self.group, router, incarnation, lease, "session opened");
        let session = Some(SessionStatus { incarnation, lease });
        self.router.status.send_modify(|status| status.session = session);
    }

    fn news(&mut self, news: News) {
        if self.stage.is_closed() {
            return;
        }
        let is_whole = matches!(news, News::All { .. });
        let steps = self.router.table.change(|routes| routes.apply(news));
        self.carry_out(steps);
        if is_whole {
            self.has_table = true;
            self.drains.repeat_all(self.now());
            self.open_if_confirmed();
        }
    }

    fn close(&mut self) {
        let steps = self.router.table.change(Routes::close);
        self.carry_out(steps);
    }

    /// The session is over: nothing of its table counts any more.
    fn forget(&mut self) {
        self.router.table.claim(None);
        self.has_table = false;
        let steps = self.router.table.change(Routes::forget);
        self.carry_out(steps);
        self.abandon_drains();
    }

    fn carry_out(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Stop(at) => {
                    self.end_drain(&at);
                    self.router.cutover.stop(&at);
                }
                Step::Drain(at, handoff) => self.begin_drain(at, handoff),
                Step::Switch(at, target) => {
                    self.end_drain(&at);
                    self.router.cutover.switch(&at, &target);
                }
                Step::Remove(at) => {
                    self.end_drain(&at);
                    self.router.cutover.remove(&at);
                }
            }
        }
    }

    fn show(&self) {
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

/// Dropped halfway, the router is no member any more: nothing must go out by its table.
impl<C, T> Drop for Driver<C, T> {
    fn drop(&mut self) {
        self.router.table.claim(None);
    }
}
