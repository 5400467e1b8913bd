//! The shell around the pure machines: carries their actions out and reports back.
//!
//! One task owns everything. Handler calls and calls to the service run beside it and come back as events, so a
//! slow handler never delays a heartbeat.

mod acks;
mod calls;
mod progress;
mod service;
mod stopped_notice;
mod stopping;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use acks::PendingAcks;
use calls::{CallEnd, PartitionContexts};
use kafka_assigner_proto::v1::{AssignmentCommand, DeregisterMode};
use progress::PollProgress;
use service::Reply;
use stopped_notice::StoppedNotice;
use stopping::{SessionEnd, Stage};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::backoff::Dice;
use crate::consumer::{Consumer, ConsumerError, Stopped};
use crate::handler::PartitionHandler;
use crate::roles::{RoleAction, RoleChange, RoleEvent, Roles};
use crate::session::{ClaimTerm, Event, Session, SessionAction, SessionOptions};
use crate::session_io::{CommandSource, joined};
use crate::status::SessionStatus;
use crate::transport::Transport;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;

/// The longest sleep of the loop; nothing depends on it, since every deadline wakes it.
const IDLE: Duration = Duration::from_secs(60);

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
    consumer: Consumer<T>,
    handler: Arc<H>,
    session: Session,
    roles: Roles,
    acks: PendingAcks,
    held: BTreeMap<TopicPartition, PartitionContexts>,
    commands: CommandSource<AssignmentCommand>,
    calls: JoinSet<CallEnd>,
    replies: JoinSet<Reply>,
    alarms: Arc<Notify>,
    group: Arc<str>,
    progress: PollProgress,
    /// The time at which the claim of the stricter modes runs out; `None` = it has, and the roles know it.
    lapses_at: Option<Moment>,
    stage: Stage,
    verdict: SessionEnd,
    farewell: StoppedNotice,
}

impl<T: Transport, H: PartitionHandler> Driver<T, H> {
    pub(crate) fn new(consumer: Consumer<T>, handler: Arc<H>) -> Self {
        let seed = consumer.options.seed.unwrap_or_else(rand::random);
        let session = Session::new(SessionOptions {
            endpoints: consumer.options.endpoints.clone(),
            outage_grace: consumer.options.outage_grace,
            seed,
        });
        Self {
            session,
            roles: Roles::new(consumer.options.max_warming),
            // Another seed than the session's, or both would roll the same numbers.
            acks: PendingAcks::new(Dice::new(seed.wrapping_add(1))),
            held: BTreeMap::new(),
            commands: CommandSource::default(),
            calls: JoinSet::new(),
            replies: JoinSet::new(),
            alarms: Arc::default(),
            group: consumer.options.group.as_str().into(),
            progress: PollProgress::since(consumer.clock.now()),
            lapses_at: None,
            stage: Stage::Running,
            verdict: None,
            farewell: StoppedNotice::Settled,
            handler,
            consumer,
        }
    }

    pub(crate) async fn run(mut self, shutdown: CancellationToken) -> Result<Stopped, ConsumerError> {
        self.session_event(Event::Start);
        while !self.is_done() {
            let turn = self.turn(&shutdown).await;
            self.take_in(turn);
            self.settle();
        }
        self.result()
    }

    fn now(&self) -> Moment {
        self.consumer.clock.now()
    }

    async fn turn(&mut self, shutdown: &CancellationToken) -> Turn {
        let now = self.now();
        let wakes = [
            self.session.next_wake(),
            self.roles.next_wake(),
            self.acks.next_wake(),
            self.lapses_at,
            self.stage.deadline(),
        ];
        let wake = wakes.into_iter().flatten().min().unwrap_or(now + IDLE);
        tokio::select! {
            biased;
            // Answers first: a confirmed heartbeat keeps everything else valid.
            Some(reply) = self.replies.join_next() => joined(reply).map_or(Turn::Timer, Turn::Reply),
            // The commands of the service, in order.
            event = self.commands.next() => Turn::Stream(event),
            // Calls that ended. Their panics are caught, so one fails to join only while the runtime shuts down.
            Some(Ok(end)) = self.calls.join_next() => Turn::Call(end),
            // Alarms of handlers that can't go on, and gates that are empty now.
            () = self.alarms.notified() => Turn::Alarm,
            // The wish to stop, once.
            () = shutdown.cancelled(), if self.stage.is_running() => Turn::Shutdown,
            // Deadlines; they are also looked at after every other turn, so nothing above can starve them.
            () = self.consumer.clock.sleep_until(wake) => Turn::Timer,
        }
    }

    fn take_in(&mut self, turn: Turn) {
        // An answer may still confirm the claim. Nothing else begins under one that is over: after a suspension, a grant that
        // others have by now may be the first thing to be read.
        if !matches!(turn, Turn::Reply(_)) {
            self.lapse();
        }
        match turn {
            Turn::Reply(reply) => self.reply(reply),
            Turn::Stream(event) => self.session_event(event),
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
            self.role_event(RoleEvent::Timer);
        }
        self.advance_stop();
        self.advance_farewell();
        self.send_acks();
        self.show();
    }

    fn lapse(&mut self) {
        let now = self.now();
        if self.lapses_at.take_if(|at| *at <= now).is_some() {
            warn!(group = &*self.group, consumer = self.consumer.options.name, "claim lapsed");
            self.role_event(RoleEvent::ClaimLapsed);
        }
    }

    fn session_event(&mut self, event: Event<AssignmentCommand>) {
        for action in self.session.step(self.now(), event) {
            self.perform(action);
        }
    }

    fn perform(&mut self, action: SessionAction<RoleChange>) {
        match action {
            SessionAction::OpenStream(open) => self.open_stream(open),
            SessionAction::CloseStream => self.commands.close(),
            SessionAction::SendHeartbeat(heartbeat) => self.send_heartbeat(heartbeat),
            SessionAction::SendDeregister { endpoint, incarnation, mode } => {
                self.send_deregister(endpoint, incarnation, mode);
            }
            SessionAction::Claim(term) => self.set_claim(term),
            SessionAction::Opened { incarnation, lease } => self.opened(incarnation, lease),
            SessionAction::News(change) => self.role_event(RoleEvent::Changed(change)),
            SessionAction::SayStopped { incarnation } => self.farewell = StoppedNotice::Owed { incarnation },
            SessionAction::Lost(loss) => {
                warn!(group = &*self.group, consumer = self.consumer.options.name, ?loss, "session lost");
                self.consumer.status.send_modify(|status| status.sessions_lost += 1);
                self.role_event(RoleEvent::SessionLost);
            }
            SessionAction::Finished(ending) => self.finished(ending),
        }
    }

    fn set_claim(&mut self, term: Option<ClaimTerm>) {
        self.consumer.claim.set(term);
        let now = self.now();
        let Some(term) = term.filter(|term| term.strict > now) else { return };
        if self.lapses_at.replace(term.strict).is_none() {
            self.role_event(RoleEvent::ClaimValid);
        }
    }

    fn opened(&self, incarnation: String, lease: i64) {
        info!(
            group = &*self.group,
            consumer = self.consumer.options.name,
            incarnation,
            lease,
            "session opened"
        );
        let session = Some(SessionStatus { incarnation, lease });
        self.consumer.status.send_modify(|status| status.session = session);
    }

    fn role_event(&mut self, event: RoleEvent) {
        let now = self.now();
        for action in self.roles.step(now, event) {
            match action {
                RoleAction::Call(partition, call) => self.call(partition, call),
                RoleAction::Cancel(partition) => self.cancel(&partition),
                RoleAction::Recall(partition) => self.recall(&partition),
                RoleAction::RaiseEpoch { partition, epoch, strict } => {
                    self.raise_epoch(&partition, epoch, strict);
                }
                RoleAction::Forget(partition) => self.forget(partition),
            }
        }
    }

    fn show(&self) {
        let partitions = self.roles.counts();
        let is_open = self.session.incarnation().is_some();
        self.consumer.status.send_if_modified(|status| {
            let changed = status.partitions != partitions || status.session.is_some() && !is_open;
            status.partitions = partitions;
            status.session.take_if(|_| !is_open);
            changed
        });
    }

    fn leave(&mut self, mode: DeregisterMode) {
        self.session_event(Event::Leave(mode));
    }
}

/// Dropped halfway, the consumer is no member any more: whatever of its handlers is still running must not act.
impl<T, H> Drop for Driver<T, H> {
    fn drop(&mut self) {
        self.consumer.claim.set(None);
    }
}
