//! The loop: one event after the other, the machines' actions after each, and then all that is due by now.

use std::sync::Arc;
use std::time::Duration;

use ::metrics::counter;
use kafka_assigner_proto::v1::{AssignmentCommand, DeregisterMode, FencedPartition};
use kafka_assigner_session::{
    ClaimTerm, Clock, CommandSource, Dice, Ending, Event, SendHeartbeat, Session, SessionAction,
    SessionOptions, SessionStatus, Transport, causes::of_status, named,
};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::acks::{AckCallFailed, AckReply, PendingAcks};
use super::contexts::HeldPartitions;
use super::farewell::StoppedNotice;
use super::handler_calls::{CallEnd, HandlerCalls};
use super::parts::ConsumerParts;
use super::progress::PollProgress;
use super::reports::{HandlerReport, HeartbeatReport, Reports};
use super::service_calls::{Reply, ServiceCalls};
use super::service_watch::ServiceWatch;
use super::stopping::{StopStep, Stopping};
use crate::claim::SessionClaim;
use crate::dialect::ConsumerDialect;
use crate::handler::PartitionHandler;
use crate::metrics::{CLAIMS_LAPSED, Metric, SESSIONS_LOST, describe_metrics};
use crate::options::ConsumerOptions;
use crate::roles::{CallFailure, RoleAction, RoleChange, RoleEvent, Roles};
use crate::status::ConsumerStatus;
use crate::stopped::{ConsumerError, Stopped};
use kafka_assigner_types::id::{Epoch, Incarnation};
use kafka_assigner_types::kv::LeaseId;
use kafka_assigner_types::moment::Moment;

/// The longest sleep of the loop. Deadlines wake it; what the handler tells of itself wakes nobody, and is seen after as long at
/// the latest, about when the log has it.
const LOOK: Duration = Duration::from_secs(5);

/// An event that the loop waited for.
enum Turn {
    Reply(Reply),
    Stream(Event<AssignmentCommand>),
    Call(CallEnd),
    Alarm,
    Shutdown,
    Timer,
}

pub(crate) struct Driver<T, H> {
    options: ConsumerOptions,
    group: Arc<str>,
    clock: Clock,
    claim: SessionClaim,
    status: watch::Sender<ConsumerStatus>,
    session: Session<ConsumerDialect>,
    roles: Roles,
    acks: PendingAcks,
    progress: PollProgress,
    reports: Reports,
    stopping: Stopping,
    farewell: StoppedNotice,
    /// The time at which the claim of the stricter modes runs out; `None` = it has, and the roles know it.
    lapses_at: Option<Moment>,
    held: HeldPartitions,
    alarms: Arc<Notify>,
    commands: CommandSource<AssignmentCommand>,
    calls: HandlerCalls<H>,
    service: ServiceCalls<T>,
    watch: ServiceWatch,
}

impl<T: Transport, H: PartitionHandler> Driver<T, H> {
    /// `handlers` is the runtime on which the handler is called.
    pub(crate) fn new(parts: ConsumerParts<T>, handler: Arc<H>, handlers: Handle) -> Self {
        let ConsumerParts { options, transport, clock, claim, status } = parts;
        let seed = options.seed.unwrap_or_else(rand::random);
        let (endpoints, outage_grace) = (options.endpoints.clone(), options.outage_grace);
        let group: Arc<str> = options.group.as_str().into();
        let held = HeldPartitions::new(group.clone(), clock.clone());
        Self {
            session: Session::new(SessionOptions { endpoints, outage_grace, seed }),
            roles: Roles::new(options.max_warming),
            // Another seed than the session's, or both would roll the same numbers.
            acks: PendingAcks::new(Dice::new(seed.wrapping_add(1))),
            progress: PollProgress::since(clock.now()),
            reports: Reports::since(clock.now()),
            stopping: Stopping::new(options.close_timeout),
            farewell: StoppedNotice::Settled,
            lapses_at: None,
            alarms: held.alarms(),
            held,
            commands: CommandSource::default(),
            calls: HandlerCalls::new(handler, claim.clone(), handlers),
            service: ServiceCalls::new(transport, options.group.clone(), options.name.clone()),
            watch: ServiceWatch::new(group.clone(), clock.now()),
            options,
            group,
            clock,
            claim,
            status,
        }
    }

    pub(crate) async fn run(mut self, shutdown: CancellationToken) -> Result<Stopped, ConsumerError> {
        describe_metrics();
        if let Some(stop) = self.options.unusual_stop() {
            info!(
                group = &*self.group,
                ?stop,
                "a stop may take longer than the 30 s that supervisors usually grant"
            );
        }
        self.session_event(Event::Start);
        while !self.is_done() {
            let turn = self.turn(&shutdown).await;
            self.take_in(turn);
            self.settle();
        }
        match self.calls.fatal() {
            Some(reason) => Err(ConsumerError::Fatal(reason)),
            None => self.stopping.result(self.roles.counts().held),
        }
    }

    fn is_done(&self) -> bool {
        self.stopping.is_done(self.now(), || self.roles.is_idle() && self.farewell.is_settled())
    }

    fn now(&self) -> Moment {
        self.clock.now()
    }

    async fn turn(&mut self, shutdown: &CancellationToken) -> Turn {
        let now = self.now();
        let wakes = [
            self.session.next_wake(),
            self.roles.next_wake(),
            self.acks.next_wake(),
            self.reports.next_wake(now, || {
                !self.calls.stopped().is_empty() || HeartbeatReport::has_any(&self.roles, &self.held)
            }),
            self.lapses_at,
            self.stopping.deadline(),
        ];
        let wake = wakes.into_iter().flatten().fold(now + LOOK, Moment::min);
        tokio::select! {
            biased;
            // Answers first: a confirmed heartbeat keeps everything else valid.
            Some(reply) = self.service.next_reply() => Turn::Reply(reply),
            // The commands of the service, in order.
            event = self.commands.next() => Turn::Stream(event),
            // Calls of the handler that ended.
            Some(end) = self.calls.next_end() => Turn::Call(end),
            // Alarms of handlers that can't go on, and gates that are empty now.
            () = self.alarms.notified() => Turn::Alarm,
            // The intent to stop, once.
            () = shutdown.cancelled(), if self.stopping.is_running() => Turn::Shutdown,
            // Deadlines; they are also looked at after every other turn, so nothing above can starve them.
            () = self.clock.sleep_until(wake) => Turn::Timer,
        }
    }

    fn take_in(&mut self, turn: Turn) {
        // An answer may still confirm the claim. Nothing else begins under a claim that is over: after a suspension,
        // the first message that is read may be a grant that another member has by now.
        if !matches!(turn, Turn::Reply(_)) {
            self.lapse();
        }
        match turn {
            Turn::Reply(reply) => self.reply(reply),
            Turn::Stream(event) => {
                self.watch.hear(self.now(), &event);
                self.session_event(event);
            }
            Turn::Call(end) => self.call_ended(end),
            Turn::Alarm => self.alarmed(),
            Turn::Shutdown => self.begin_to_stop(),
            Turn::Timer => {}
        }
    }

    /// After every turn: whatever is due by now.
    fn settle(&mut self) {
        self.lapse();
        let now = self.now();
        if self.session.next_wake().is_some_and(|at| at <= now) {
            self.session_event(Event::Timer);
        }
        if self.roles.next_wake().is_some_and(|at| at <= now) {
            self.role_event(RoleEvent::PreparationsSeen(self.held.done()));
        }
        if self.stopping.is_running() && self.calls.fatal().is_some() {
            self.begin_to_stop();
        }
        self.advance_stop();
        self.say_farewell();
        self.send_acks();
        if self.reports.may_be_due(now) {
            self.held.see_progress(now);
            let report =
                self.report(HandlerReport { stopped: self.calls.stopped(), ..HandlerReport::default() });
            if self.reports.is_due(now, &report) {
                self.session_event(Event::ReportDue);
            }
        }
        self.show();
    }

    fn lapse(&mut self) {
        let now = self.now();
        if self.lapses_at.take_if(|at| *at <= now).is_some() {
            warn!(group = &*self.group, consumer = self.options.name, "claim lapsed");
            self.count(&CLAIMS_LAPSED);
            self.role_event(RoleEvent::ClaimLapsed);
        }
    }

    fn count(&self, metric: &Metric) {
        let labels = [("group", self.options.group.clone()), ("consumer", self.options.name.clone())];
        counter!(metric.name, &labels).increment(1);
    }

    fn reply(&mut self, reply: Reply) {
        match reply {
            Reply::Heartbeat { number, result: Ok(response) } => {
                self.watch.answered(self.now());
                self.session_event(Event::HeartbeatAnswered { number, response });
            }
            Reply::Heartbeat { number, result: Err(status) } => {
                debug!(error = of_status(&status), "heartbeat failed");
                self.watch.failed(self.now(), &status);
                self.session_event(Event::HeartbeatFailed { number });
            }
            Reply::Deregister { mode, result } => self.session_event(Event::LeaveAnswered { mode, result }),
            Reply::Acks(reply) => self.acks_answered(reply),
            Reply::Farewell { incarnation } => self.farewell.said(incarnation),
        }
    }

    fn session_event(&mut self, event: Event<AssignmentCommand>) {
        for action in self.session.step(self.now(), event) {
            self.perform(action);
        }
    }

    fn perform(&mut self, action: SessionAction<RoleChange>) {
        match action {
            SessionAction::OpenStream(open) => {
                let attempt = open.attempt;
                self.commands.open(attempt, self.service.register(open, self.options.register_request()));
            }
            SessionAction::CloseStream => self.commands.close(),
            SessionAction::SendHeartbeat(heartbeat) => self.send_heartbeat(heartbeat),
            SessionAction::SendDeregister { endpoint, incarnation, mode } => {
                self.service.deregister(endpoint, &incarnation, mode);
            }
            SessionAction::NobodyTakes => {
                info!(group = &*self.group, "nobody is there who may take the partitions; leaving at once");
                self.stopping.nobody_takes(self.now());
            }
            SessionAction::Fenced(told) => self.fenced_in_part(&told),
            SessionAction::Claim(term) => self.set_claim(term),
            SessionAction::Opened { incarnation, lease } => self.opened(incarnation, lease),
            SessionAction::News(change) => self.role_event(RoleEvent::Changed(change)),
            SessionAction::SayStopped { incarnation } => self.farewell = StoppedNotice::Owed { incarnation },
            SessionAction::Lost(loss) => {
                warn!(group = &*self.group, consumer = self.options.name, ?loss, "session lost");
                self.status.send_modify(|status| status.sessions_lost += 1);
                self.count(&SESSIONS_LOST);
                self.role_event(RoleEvent::SessionLost);
            }
            SessionAction::Finished(ending) => self.finished(ending),
        }
    }

    fn send_heartbeat(&mut self, heartbeat: SendHeartbeat) {
        let poll_progress = self.progress.count(self.now(), |bound| self.calls.is_stuck(bound));
        let (failing, committed) = (self.calls.failing(), self.calls.committed());
        let report = self.report(HandlerReport { stopped: self.calls.stopped(), failing, committed });
        self.reports.sent(self.now(), &report);
        self.service.heartbeat(heartbeat, poll_progress, report);
    }

    /// The report that a heartbeat would carry now, with what the handler reports. Commits and records that fail never make a heartbeat
    /// due, so of these it is asked with a heartbeat only.
    fn report(&self, handler: HandlerReport) -> HeartbeatReport {
        let report = HeartbeatReport::of(&self.roles, &self.held, handler);
        match self.roles.is_leaving() {
            true => self.reports.of_who_leaves(report),
            false => report,
        }
    }

    /// Before the claim is extended for everything else.
    fn fenced_in_part(&mut self, told: &[FencedPartition]) {
        let parsed = |item: &FencedPartition| Some((named(&item.topic, item.partition)?, Epoch(item.epoch)));
        let fenced: Vec<_> = told.iter().filter_map(parsed).collect();
        let (group, consumer) = (&*self.group, &*self.options.name);
        for (partition, epoch) in fenced.iter().filter(|(at, epoch)| !self.roles.knows_fence(at, *epoch)) {
            warn!(group, consumer, %partition, %epoch, "fenced of a partition that was not let go; dropping it");
        }
        for (partition, epoch) in &fenced {
            self.held.end_claims_up_to(partition, *epoch);
        }
        self.role_event(RoleEvent::Fenced(fenced));
    }

    fn set_claim(&mut self, term: Option<ClaimTerm>) {
        // A heartbeat that is confirmed after the fence keeps the session, and gives no right.
        let term = term.filter(|_| !self.stopping.is_fenced());
        self.claim.set(term);
        let now = self.now();
        let Some(term) = term.filter(|term| term.strict > now) else { return };
        if self.lapses_at.replace(term.strict).is_none() {
            self.role_event(RoleEvent::ClaimValid);
        }
    }

    fn opened(&self, incarnation: Incarnation, lease: LeaseId) {
        info!(group = &*self.group, consumer = self.options.name, %incarnation, %lease, "session opened");
        let session = Some(SessionStatus { incarnation, lease });
        self.status.send_modify(|status| status.session = session);
    }

    /// The session has come to its end, whoever wanted it.
    fn finished(&mut self, ending: Ending) {
        info!(group = &*self.group, consumer = self.options.name, ?ending, "session ended");
        self.role_event(RoleEvent::SessionLost);
        self.claim.set(None);
        self.stopping.session_ended(self.now(), ending);
    }

    fn role_event(&mut self, event: RoleEvent) {
        let now = self.now();
        for action in self.roles.step(now, event) {
            match action {
                RoleAction::Call(partition, call) => {
                    info!(group = &*self.group, %partition, ?call, "calling the handler");
                    let topic_id = self.roles.topic_id(&partition);
                    self.held.skip(&partition, self.roles.skipped(&partition));
                    self.held.count_failures(&partition, self.roles.failures(&partition));
                    self.held.note_commit(&partition, self.roles.was_committed(&partition));
                    self.calls.start(&mut self.held, (partition, topic_id), call);
                }
                RoleAction::Cancel(partition) => self.held.cancel(&partition),
                RoleAction::Recall(partition) => self.held.recall(&partition),
                RoleAction::RaiseEpoch { partition, epoch, strict } => {
                    // Before the epoch, by which whoever stands before the record notices it.
                    self.held.skip(&partition, self.roles.skipped(&partition));
                    self.held.raise_epoch(&partition, epoch, strict);
                }
                RoleAction::Rest(partition) => self.held.rest(&partition),
                RoleAction::EndRest(partition) => self.held.end_rest(&partition),
                RoleAction::Stalled(partition) => {
                    warn!(group = &*self.group, %partition, "a preparation makes no progress; others may begin beside it");
                }
                RoleAction::Forget(partition) => {
                    self.calls.forget(&partition);
                    self.held.forget(partition);
                }
            }
        }
    }

    fn call_ended(&mut self, end: CallEnd) {
        let CallEnd { partition, call, result } = end;
        if let Err(CallFailure { message, .. }) = &result {
            warn!(group = &*self.group, %partition, ?call, error = message, "handler failed");
        }
        self.held.ended(&partition, &call, &result);
        self.role_event(RoleEvent::CallEnded { partition, result });
    }

    /// Some handler has raised its alarm, or some gate is empty.
    fn alarmed(&mut self) {
        for partition in self.held.take_spoiled() {
            warn!(group = &*self.group, %partition, "spoiled");
            self.role_event(RoleEvent::Spoiled(partition));
        }
    }

    fn send_acks(&mut self) {
        if !self.acks.may_send(self.now()) {
            return;
        }
        let Some(incarnation) = self.session.incarnation() else { return };
        for batch in self.acks.take_due(&self.roles, &self.held) {
            let (endpoint, acks) = (self.session.endpoint().to_owned(), batch.to_wire(&self.held));
            self.service.acknowledge(endpoint, incarnation, batch, acks);
        }
    }

    fn acks_answered(&mut self, reply: AckReply) {
        match self.acks.answered(self.now(), reply) {
            Ok(definite) => definite.into_iter().for_each(|event| self.role_event(event)),
            Err(AckCallFailed) => self.session_event(Event::CallFailed),
        }
    }

    fn begin_to_stop(&mut self) {
        info!(group = &*self.group, consumer = self.options.name, "stopping");
        let step = self.stopping.begin(self.now(), self.options.on_stop, self.options.drain_timeout);
        self.perform_stop(step);
    }

    fn advance_stop(&mut self) {
        let is_quiet = || self.roles.is_idle() && !self.held.has_requests();
        if let Some(step) = self.stopping.advance(self.clock.now(), is_quiet) {
            self.perform_stop(step);
        }
    }

    fn perform_stop(&mut self, step: StopStep) {
        match step {
            StopStep::Drain => self.session_event(Event::Leave(DeregisterMode::Drain)),
            StopStep::LeaveLocally { late } => {
                if late {
                    warn!(group = &*self.group, "the drain took too long; leaving at once");
                }
                self.role_event(RoleEvent::LeaveAll);
            }
            StopStep::Cut => {
                warn!(group = &*self.group, "not finished in time; cutting off what is in the works");
                self.fence();
            }
            StopStep::Deregister(mode) => {
                // The fence comes before the word that others may act.
                self.fence();
                self.session_event(Event::Leave(mode));
            }
            StopStep::Abandon => {
                warn!(group = &*self.group, "not given up in time; the session runs out by itself");
                self.session_event(Event::Abandon);
            }
            StopStep::Fence => self.claim.set(None),
        }
    }

    /// From here on nothing of this member acts.
    fn fence(&mut self) {
        self.claim.set(None);
        self.role_event(RoleEvent::SessionLost);
    }

    /// Says of a lost session that it has stopped, as soon as that is true.
    fn say_farewell(&mut self) {
        let has_stopped = || !self.roles.has_lost() && !self.held.has_requests();
        let Some(incarnation) = self.farewell.take_due(has_stopped) else { return };
        info!(group = &*self.group, %incarnation, "nothing of the session that was lost acts any more");
        let current = self.session.endpoint();
        let others = self.options.endpoints.iter().filter(|other| *other != current).cloned();
        let instances = std::iter::once(current.to_owned()).chain(others).collect();
        self.service.say_stopped(instances, incarnation);
    }

    fn show(&self) {
        let partitions = self.roles.counts();
        let is_open = self.session.incarnation().is_some();
        let mut stopped = self.calls.stopped();
        stopped.retain(|stopped| self.roles.is_owner(&stopped.partition));
        // Without an instance nothing else matters, so its error hides the handler's.
        let last_error = self.watch.last_error().map(str::to_owned).or_else(|| self.calls.last_error());
        let mut failing = self.calls.failing();
        failing.retain(|failing| self.roles.is_owner(&failing.partition));
        self.status.send_if_modified(|status| {
            let changed = status.partitions != partitions
                || status.stopped != stopped
                || status.failing != failing
                || status.last_error != last_error
                || status.session.is_some() && !is_open;
            status.partitions = partitions;
            status.stopped = stopped;
            status.failing = failing;
            status.last_error = last_error;
            status.session.take_if(|_| !is_open);
            changed
        });
    }
}

/// Dropped halfway, the consumer is no member any more: whatever of its handlers is still running must not act.
impl<T, H> Drop for Driver<T, H> {
    fn drop(&mut self) {
        self.claim.set(None);
        self.held.end_claims();
    }
}
