//! One stream: tells a member the difference between what it was told and what the view says it should know.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::ack::Ack;
use kafka_assigner_core::id::{Member, TopicPartition};
use kafka_assigner_core::kv::{Lease, Revision};
use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::record::{Consumer, Standing, Taken};
use kafka_assigner_core::session::is_drained;
use kafka_assigner_core::state::{Entry, GroupState, Presence};
use kafka_assigner_core::view::{ConsumerView, Role, consumer_view};
use kafka_assigner_proto::v1::{AssignmentCommand, SessionInfo};
use kafka_assigner_proto::{Reason, status};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::SendTimeoutError;
use tokio::time::{Instant, sleep};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::ConsumerService;
use super::acks::Said;
use super::register::Commands;
use super::renewal::Renewals;
use crate::convert::Told;
use crate::group::{Group, Line};

/// Commands that may wait for a reader. More would only be older news: while a reader does not read, differences are
/// not even computed, and it gets the one that is true when it comes back.
const QUEUE: usize = 2;

/// How long after a failure the stream tries again what it writes in its client's stead: short against every
/// deadline, long against an answer of the store.
const RETRY: Duration = Duration::from_secs(1);

type Item = Result<AssignmentCommand, Status>;

/// A session and what its client can do.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) group: Group,
    pub(super) member: Member,
    pub(super) lease: Lease,
    /// When the request was sent that granted the lease, or kept it alive.
    pub(super) confirmed: Instant,
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

    /// Why the session is over, where the view says so.
    pub(super) fn over(&self) -> Option<FenceReason> {
        self.group.read(|state| over(state, &self.member))
    }
}

/// A stream that only says that the session is over, which was seen at `revision`.
pub(super) fn fenced_stream(cluster_id: &str, revision: Revision, reason: &FenceReason) -> Commands {
    let (sender, receiver) = mpsc::channel(1);
    let _room = sender.try_send(Ok(Told { cluster_id, revision }.fenced(reason)));
    ReceiverStream::new(receiver)
}

/// What to do next on a stream.
enum Next {
    /// Tell the member so, which may be nothing; then it knows the view.
    Tell(Vec<AssignmentCommand>, ConsumerView),
    /// The session is over.
    End(FenceReason),
    /// The member handed everything over and may leave.
    Leave,
}

/// Why a command was not handed to the reader.
enum Unsent {
    /// The client is gone. Its session is not: it may come back to it, here or elsewhere.
    Gone,
    /// The client is there and reads nothing.
    TooSlow,
}

struct Stream {
    service: ConsumerService,
    session: Session,
    line: Line,
    sender: mpsc::Sender<Item>,
    /// A place in the queue for the last word, so that nobody has to wait with it for the reader.
    last: Option<mpsc::OwnedPermit<Item>>,
    /// What the member knows; `None` before the first command.
    known: Option<ConsumerView>,
}

impl ConsumerService {
    pub(super) fn start_stream(&self, session: Session) -> Commands {
        let (sender, receiver) = mpsc::channel(QUEUE + 1);
        let last = sender.clone().try_reserve_owned().ok();
        let line = session.group.connect(&session.member);
        let stream = Stream { service: self.clone(), session, line, sender, last, known: None };
        self.instance.tasks().spawn(stream.run());
        ReceiverStream::new(receiver)
    }
}

impl Stream {
    async fn run(mut self) {
        let instance = self.service.instance.clone();
        let renewals = Renewals::new(Arc::clone(instance.store()), self.session.clone());
        let stopping = instance.stopping().clone();
        let sender = self.sender.clone();
        tokio::select! {
            biased;
            () = stopping.cancelled() => {}
            // The client is gone. Its session is not: it may come back to it, here or elsewhere.
            () = sender.closed() => {}
            reason = renewals.run() => self.end(&reason),
            unsent = self.tell() => if let Err(Unsent::TooSlow) = unsent { self.give_up() },
        }
        tracing::debug!(consumer = %self.session.member, "stream over");
    }

    /// Tells what there is to tell, until the session is over or the view is no longer kept.
    async fn tell(&mut self) -> Result<(), Unsent> {
        let leaving = self.service.instance.leaving().clone();
        let mut is_told_to_go = false;
        loop {
            let is_done = match self.next() {
                Next::Tell(commands, view) => {
                    self.send(commands).await?;
                    let is_done = self.record_taken(&view).await;
                    self.known = Some(view);
                    is_done
                }
                Next::End(reason) => {
                    self.end(&reason);
                    return Ok(());
                }
                Next::Leave => self.leave().await,
            };
            tokio::select! {
                biased;
                is_kept = self.line.rung() => if !is_kept { return Ok(()) },
                () = leaving.cancelled(), if !is_told_to_go => {
                    is_told_to_go = true;
                    let others = self.service.instance.peers().others();
                    self.send(vec![self.told().go_away(others)]).await?;
                }
                // Nobody rings for what could not be written.
                () = sleep(RETRY), if !is_done => {}
            }
        }
    }

    fn told(&self) -> Told<'_> {
        let revision = self.session.group.read(GroupState::revision);
        Told { cluster_id: self.service.instance.cluster_id(), revision }
    }

    fn next(&self) -> Next {
        self.session.group.read(|state| match over(state, &self.session.member) {
            // It may have left by another instance, which only its own can tell from an expiry.
            Some(FenceReason::Gone | FenceReason::Superseded) if self.line.is_leaving() => {
                Next::End(FenceReason::Left)
            }
            Some(reason) => Next::End(reason),
            None if may_leave(state, &self.session.member) => Next::Leave,
            None => self.news(state),
        })
    }

    fn news(&self, state: &GroupState) -> Next {
        let view = consumer_view(state, &self.session.member);
        let told = Told { cluster_id: self.service.instance.cluster_id(), revision: view.revision };
        let deadline_ms = state.config().unwrap_or_default().warm_deadline_ms;
        match &self.known {
            None => Next::Tell(told.opening(self.session.describe(), &view, deadline_ms), view),
            Some(known) => {
                let commands = told.commands(state, &known.difference(&view), deadline_ms);
                Next::Tell(commands, known.followed_by(view))
            }
        }
    }

    /// Hands commands to the reader, which has as long for each as its whole session may be silent.
    async fn send(&self, commands: Vec<AssignmentCommand>) -> Result<(), Unsent> {
        for command in commands {
            self.line.note_told(Revision(command.revision));
            match self.sender.send_timeout(Ok(command), self.session.lease.ttl).await {
                Ok(()) => {}
                Err(SendTimeoutError::Closed(_)) => return Err(Unsent::Gone),
                Err(SendTimeoutError::Timeout(_)) => return Err(Unsent::TooSlow),
            }
        }
        Ok(())
    }

    /// Says why the session is over.
    fn end(&mut self, reason: &FenceReason) {
        let fenced = self.told().fenced(reason);
        self.last_word(Ok(fenced));
    }

    /// Cuts a client off that reads nothing. It may come back to its session; where this instance renewed it,
    /// nobody does so any more.
    fn give_up(&mut self) {
        tracing::info!(group = %self.session.group.name(), consumer = %self.session.member, "reads nothing: cut off");
        let message = format!("nothing was read for {:?}; read, and register again", self.session.lease.ttl);
        self.last_word(Err(status(Reason::ReaderTooSlow, message)));
    }

    fn last_word(&mut self, item: Item) {
        if let Some(place) = self.last.take() {
            drop(place.send(item));
        }
    }

    /// For a client that never says so: it counts as processing what it was told to own. False where that could not
    /// be recorded now.
    async fn record_taken(&self, view: &ConsumerView) -> bool {
        if self.session.says_taken {
            return true;
        }
        let taking: Vec<Said> = view.roles.iter().filter_map(|(at, role)| taken(at, role)).collect();
        self.service.record(&self.session.group, &self.session.member, &taking).await.is_ok()
    }

    /// The member has nothing left: its registration goes, and the next look at the view ends the stream. False
    /// where that could not be done now.
    async fn leave(&self) -> bool {
        let left = self.service.remove(&self.session.group, &self.session.member).await;
        if let Err(error) = &left {
            tracing::debug!(consumer = %self.session.member, %error, "drained, and not removed yet");
        }
        left.is_ok()
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
