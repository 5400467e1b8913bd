//! One stream: tells a member the difference between what it was told and what the view says it should know.

use std::sync::Arc;

use kafka_assigner_core::ack::Ack;
use kafka_assigner_core::id::{Member, TopicPartition};
use kafka_assigner_core::kv::Lease;
use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::record::{Consumer, Standing, Taken};
use kafka_assigner_core::session::is_drained;
use kafka_assigner_core::state::{Entry, GroupState, Presence};
use kafka_assigner_core::view::{ConsumerView, Role, consumer_view};
use kafka_assigner_proto::v1::{AssignmentCommand, SessionInfo};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::ConsumerService;
use super::acks::Said;
use super::register::Commands;
use super::renewal::Renewals;
use crate::convert::{Told, commands};
use crate::group::{Group, Line};
use crate::instance::Instance;

/// Commands that may wait for a reader. More would only be older news: while a reader does not read, differences are
/// not even computed, and it gets the one that is true when it comes back.
const QUEUE: usize = 2;

/// A session and what its client can do.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) group: Group,
    pub(super) member: Member,
    pub(super) lease: Lease,
    /// Whether this instance keeps the lease alive while the stream lives.
    pub(super) renews: bool,
    pub(super) snapshot: bool,
    pub(super) says_taken: bool,
}

impl Session {
    /// What the member is told of its session; nothing where its client would not understand it.
    fn describe(&self) -> Option<SessionInfo> {
        self.snapshot.then(|| SessionInfo {
            incarnation: self.member.incarnation.to_string(),
            lease: self.lease.id.0,
            ttl_ms: u64::try_from(self.lease.ttl.as_millis()).unwrap_or(u64::MAX),
        })
    }
}

/// A stream that only says that the session is over.
pub(super) fn fenced_stream(instance: &Instance, reason: &FenceReason) -> Commands {
    let (sender, receiver) = mpsc::channel(1);
    let told =
        Told { cluster_id: instance.cluster_id(), revision: kafka_assigner_core::kv::Revision::default() };
    let _room = sender.try_send(Ok(told.fenced(reason)));
    ReceiverStream::new(receiver)
}

/// What to do next on a stream.
enum Next {
    Nothing,
    Tell(Vec<AssignmentCommand>, ConsumerView),
    /// The session is over.
    End(FenceReason),
    /// The member handed everything over and may leave.
    Leave,
}

struct Stream {
    service: ConsumerService,
    session: Session,
    line: Line,
    sender: mpsc::Sender<Result<AssignmentCommand, Status>>,
    /// What the member knows; `None` before the first command.
    known: Option<ConsumerView>,
}

impl ConsumerService {
    pub(super) fn start_stream(&self, session: Session) -> Commands {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let line = session.group.connect(&session.member);
        let stream = Stream { service: self.clone(), session, line, sender, known: None };
        self.instance.tasks().spawn(stream.run());
        ReceiverStream::new(receiver)
    }
}

impl Stream {
    async fn run(mut self) {
        let instance = self.service.instance.clone();
        let mut renewals = Renewals::new(Arc::clone(instance.store()), &self.session);
        let stopping = instance.stopping().clone();
        let sender = self.sender.clone();
        tokio::select! {
            biased;
            () = stopping.cancelled() => {}
            // The client is gone. Its session is not: it may come back to it, here or elsewhere.
            () = sender.closed() => {}
            reason = renewals.run() => self.end(&reason).await,
            () = self.tell() => {}
        }
        tracing::debug!(consumer = %self.session.member, "stream over");
    }

    /// Tells what there is to tell, until the session is over.
    async fn tell(&mut self) {
        let leaving = self.service.instance.leaving().clone();
        let mut is_told_to_go = false;
        loop {
            match self.next() {
                Next::Nothing => {}
                Next::Tell(commands, view) => {
                    if !self.send(commands).await {
                        return;
                    }
                    self.record_taken(&view).await;
                    self.known = Some(view);
                }
                Next::End(reason) => return self.end(&reason).await,
                Next::Leave => self.leave().await,
            }
            tokio::select! {
                biased;
                () = self.line.rung() => {}
                () = leaving.cancelled(), if !is_told_to_go => {
                    is_told_to_go = true;
                    let others = self.service.instance.peers().others();
                    if !self.send(vec![self.told().go_away(others)]).await {
                        return;
                    }
                }
            }
        }
    }

    fn told(&self) -> Told<'_> {
        let revision = self.session.group.view().revision();
        Told { cluster_id: self.service.instance.cluster_id(), revision }
    }

    fn next(&self) -> Next {
        self.session.group.read(|state| match over(state, &self.session.member) {
            Some(reason) => Next::End(reason),
            None if may_leave(state, &self.session.member) => Next::Leave,
            None => self.news(state),
        })
    }

    fn news(&self, state: &GroupState) -> Next {
        let view = consumer_view(state, &self.session.member);
        let told = Told { cluster_id: self.service.instance.cluster_id(), revision: view.revision };
        let deadline_ms = state.config().unwrap_or_default().warm_deadline_ms;
        let commands = match &self.known {
            None => told.opening(self.session.describe(), &view, deadline_ms),
            Some(known) => commands(&told, &known.difference(&view), deadline_ms),
        };
        match &self.known {
            Some(_) if commands.is_empty() => Next::Nothing,
            Some(known) => Next::Tell(commands, known.followed_by(view)),
            None => Next::Tell(commands, view),
        }
    }

    /// Sends commands, waiting for room; false once the client is gone.
    async fn send(&self, commands: Vec<AssignmentCommand>) -> bool {
        for command in commands {
            self.line.note_told(kafka_assigner_core::kv::Revision(command.revision));
            if self.sender.send(Ok(command)).await.is_err() {
                return false;
            }
        }
        true
    }

    async fn end(&mut self, reason: &FenceReason) {
        let fenced = self.told().fenced(reason);
        let _client_gone = self.send(vec![fenced]).await;
    }

    /// For a client that never says so: it counts as processing what it was told to own.
    async fn record_taken(&self, view: &ConsumerView) {
        if self.session.says_taken {
            return;
        }
        let taking: Vec<Said> = view.roles.iter().filter_map(|(at, role)| taken(at, role)).collect();
        if !taking.is_empty() {
            // Where it fails the handoff's deadline gives the partition back: nothing is lost.
            let _results = self.service.record(&self.session.group, &self.session.member, taking).await;
        }
    }

    /// The member has nothing left: its registration goes, and the next look at the view ends the stream.
    async fn leave(&self) {
        if let Err(error) = self.service.remove(&self.session.group, &self.session.member).await {
            tracing::debug!(consumer = %self.session.member, %error, "drained, and not removed yet");
        }
    }
}

/// What a client without that call would say of a partition that was handed to it.
fn taken(at: &TopicPartition, role: &Role) -> Option<Said> {
    let Role::Owner { taking: Some(id), .. } = role else { return None };
    Some(Said { at: at.clone(), id: Some(id.clone()), ack: Ack::Taken(Taken::default()), edge: None })
}

/// Why the session of `member` is over, where it is.
fn over(state: &GroupState, member: &Member) -> Option<FenceReason> {
    match state.presence(member) {
        Presence::Here | Presence::Unknown => None,
        Presence::Gone if state.consumers().contains_key(&member.name) => Some(FenceReason::Superseded),
        Presence::Gone => Some(FenceReason::Gone),
        Presence::Ending => match state.registration(&member.name).map(|c| c.standing.clone()) {
            Some(Standing::Ending(reason)) => Some(reason),
            _ => Some(FenceReason::Gone),
        },
    }
}

fn may_leave(state: &GroupState, member: &Member) -> bool {
    let registration: Option<&Consumer> =
        state.consumers().get(&member.name).and_then(Entry::readable).map(|consumer| &**consumer);
    registration.is_some_and(|c| c.standing == Standing::Draining) && is_drained(state, member)
}
