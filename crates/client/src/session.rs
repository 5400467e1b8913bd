//! The session with the service: one lease under one incarnation, over any number of streams.
//!
//! A pure machine: events and the time go in, actions come out; the shell carries them out and reports back.
//!
//! ```text
//!            first snapshot                 Fenced, another cluster
//!  Opening ─────────────────► Live ─────────────────────────────────► Opening (new incarnation)
//!   │  ▲  no definite answer:  │ ▲ stream broke, deaf, GoAway:            │ superseded, refused
//!   └──┘  new incarnation      └─┘ reconnect with the same lease          ▼
//!                                                                     Finished
//! ```
//!
//! Decisions that are easy to get wrong:
//!
//! - A broken stream ends nothing. Only the service's word, or another cluster id, ends a session.
//! - A first Register without a definite answer may have taken effect, so it is repeated under a *new*
//!   incarnation; the old one's lease runs out by itself.
//! - The claim counts from the sending of what was confirmed. A reconnect is followed by a heartbeat at once and
//!   does not count for the claim itself.
//! - Superseded means that another process runs under the same name. Registering again would take the name back
//!   and start an endless exchange, so the machine stops. The one exception is a takeover by this client's own
//!   abandoned Register, which can arrive late; within [`GHOST_BOUND`] it counts as a plain loss.

mod api;
mod claim_clock;
mod departure;
mod dialect;
mod endpoints;
mod heartbeat;
mod stream;

use std::time::Duration;

pub use api::{Ending, Event, Loss, OpenStream, SendHeartbeat, SessionAction};
use claim_clock::ClaimClock;
pub use claim_clock::ClaimTerm;
use departure::Departure;
pub use dialect::{ConsumerDialect, Dialect, Heard, MessageBody};
use endpoints::Endpoints;
use heartbeat::Heartbeats;
use kafka_assigner_proto::v1::{FenceReason, Fenced, GoAway, Seen, SessionInfo};
use stream::Attempt;
use tonic::{Code, Status};

use crate::backoff::{Dice, RetryDelay};
use kafka_assigner_types::moment::Moment;

/// The first wait before a new stream; the longest is below, so that any instance's return is seen within seconds.
const FIRST_RECONNECT: Duration = Duration::from_millis(50);
const LONGEST_RECONNECT: Duration = Duration::from_secs(3);
/// The time within which an abandoned first Register may still arrive somewhere: an instance drops a cancelled call, so
/// this covers the network and one store transaction with its bound.
pub const GHOST_BOUND: Duration = Duration::from_secs(15);

/// The options of the machine.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// The instances, as "http://host:port"; at least one.
    pub endpoints: Vec<String>,
    /// The time for which the claim goes on while instances answer that the store can't be reached.
    pub outage_grace: Duration,
    /// Seeds incarnations and jitter.
    pub seed: u64,
}

/// The machine.
#[derive(Debug)]
pub struct Session<D: Dialect = ConsumerDialect> {
    dice: Dice,
    endpoints: Endpoints,
    outage_grace: Duration,
    seen: Seen,
    life: Life,
    attempts: u64,
    stream: Option<Attempt<D>>,
    reconnect_at: Option<Moment>,
    reconnect: RetryDelay,
    /// Beyond a single loss, sessions are not opened faster than this, or two clusters behind one address would
    /// be a busy loop.
    losses: RetryDelay,
    heartbeats: Heartbeats,
    /// The end of the time within which an abandoned Register may still take over.
    ghost_until: Option<Moment>,
    leaving: Option<Departure>,
}

#[derive(Debug)]
enum Life {
    Opening { incarnation: String },
    Live(Live),
    Finished,
}

#[derive(Debug, Clone)]
struct Live {
    incarnation: String,
    lease: i64,
    claim: ClaimClock,
}

impl<D: Dialect> Session<D> {
    /// A session that has not begun; [`Event::Start`] begins it.
    #[must_use]
    pub fn new(options: SessionOptions) -> Self {
        let mut dice = Dice::new(options.seed);
        let start = usize::try_from(options.seed % 1_024).unwrap_or_default();
        Self {
            endpoints: Endpoints::new(options.endpoints, start),
            outage_grace: options.outage_grace,
            seen: Seen::default(),
            life: Life::Opening { incarnation: dice.incarnation() },
            attempts: 0,
            stream: None,
            reconnect_at: None,
            reconnect: RetryDelay::new(FIRST_RECONNECT, LONGEST_RECONNECT),
            losses: RetryDelay::new(FIRST_RECONNECT, LONGEST_RECONNECT),
            heartbeats: Heartbeats::default(),
            ghost_until: None,
            leaving: None,
            dice,
        }
    }

    /// Takes an event in and says what to do, in this order.
    pub fn step(&mut self, now: Moment, event: Event<D::Command>) -> Vec<SessionAction<D::News>> {
        if matches!(self.life, Life::Finished) {
            return Vec::new();
        }
        let mut actions = Vec::new();
        match event {
            Event::Start => self.open_stream(now, &mut actions),
            Event::Timer => self.timer(now, &mut actions),
            Event::Command { attempt, command } if self.is_current(attempt) => {
                self.command(now, command, &mut actions);
            }
            Event::StreamFailed { attempt, status } if self.is_current(attempt) => {
                self.stream_failed(now, &status, &mut actions);
            }
            Event::StreamEnded { attempt } if self.is_current(attempt) => {
                self.stream_ended(now, &mut actions);
            }
            Event::HeartbeatAnswered { number, response } => {
                self.heartbeat_answered(now, number, response, &mut actions);
            }
            Event::HeartbeatFailed { number } => self.heartbeat_failed(now, number),
            Event::Leave(mode) => self.leave(mode, &mut actions),
            Event::LeaveAnswered { mode, result } => self.leave_answered(now, mode, result, &mut actions),
            Event::Abandon => self.finish(Ending::NoSession, &mut actions),
            Event::CallFailed => self.endpoints.rotate(),
            // From a stream that was given up meanwhile.
            Event::Command { .. } | Event::StreamFailed { .. } | Event::StreamEnded { .. } => {}
        }
        actions
    }

    /// The time at which [`Event::Timer`] is due; `None` = not at all.
    #[must_use]
    pub fn next_wake(&self) -> Option<Moment> {
        if matches!(self.life, Life::Finished) {
            return None;
        }
        let stream = self.stream.as_ref().and_then(Attempt::deadline);
        let leaving = self.leaving.as_ref().and_then(Departure::next_wake);
        [self.reconnect_at, stream, self.heartbeats.next_wake(), leaving].into_iter().flatten().min()
    }

    /// The instance to call for everything but the stream.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        self.endpoints.current()
    }

    /// The incarnation of the session, while there is one.
    #[must_use]
    pub fn incarnation(&self) -> Option<&str> {
        match &self.life {
            Life::Live(live) => Some(&live.incarnation),
            Life::Opening { .. } | Life::Finished => None,
        }
    }

    fn is_current(&self, attempt: u64) -> bool {
        self.stream.as_ref().is_some_and(|s| s.number == attempt)
    }

    fn timer(&mut self, now: Moment, actions: &mut Vec<SessionAction<D::News>>) {
        if self.reconnect_at.is_some_and(|at| at <= now) {
            self.open_stream(now, actions);
        }
        if self.stream.as_ref().and_then(Attempt::deadline).is_some_and(|by| by <= now) {
            self.retry_stream(now, actions);
        }
        self.heartbeat_timer(now, actions);
        self.leaving_timer(now, actions);
    }

    fn open_stream(&mut self, now: Moment, actions: &mut Vec<SessionAction<D::News>>) {
        self.attempts += 1;
        self.reconnect_at = None;
        let endpoint = self.endpoints.current().to_owned();
        let (incarnation, resume_lease) = match &self.life {
            Life::Opening { incarnation } => (incarnation.clone(), 0),
            Life::Live(live) => (live.incarnation.clone(), live.lease),
            Life::Finished => return,
        };
        self.stream = Some(Attempt::new(self.attempts, now, endpoint.clone(), self.seen.revision));
        let seen = self.seen.clone();
        let attempt = self.attempts;
        actions.push(SessionAction::OpenStream(OpenStream {
            attempt,
            endpoint,
            incarnation,
            resume_lease,
            seen,
        }));
    }

    /// Gives the stream up and tries again, elsewhere and after a wait.
    fn retry_stream(&mut self, now: Moment, actions: &mut Vec<SessionAction<D::News>>) {
        self.abandon_register(now);
        self.stream = None;
        self.endpoints.rotate();
        self.reconnect_at = Some(now + self.reconnect.next(&mut self.dice));
        actions.push(SessionAction::CloseStream);
    }

    /// A first Register without a definite answer may still take effect: never use its incarnation again.
    fn abandon_register(&mut self, now: Moment) {
        if let Life::Opening { incarnation } = &mut self.life {
            *incarnation = self.dice.incarnation();
            self.ghost_until = Some(now + GHOST_BOUND);
        }
    }

    fn stream_failed(&mut self, now: Moment, status: &Status, actions: &mut Vec<SessionAction<D::News>>) {
        if !is_refusal(status.code()) {
            return self.retry_stream(now, actions);
        }
        let is_gone = matches!(status.code(), Code::NotFound | Code::FailedPrecondition);
        if is_gone && matches!(self.life, Life::Live(_)) {
            return self.lose(now, Loss::Refused(status.message().to_owned()), actions);
        }
        let (code, message) = (status.code(), status.message().to_owned());
        self.finish(Ending::Refused { code, message }, actions);
    }

    fn stream_ended(&mut self, now: Moment, actions: &mut Vec<SessionAction<D::News>>) {
        if self.leaving.as_ref().is_some_and(Departure::is_accepted) {
            self.finish(Ending::Left, actions);
        } else {
            self.retry_stream(now, actions);
        }
    }

    fn command(&mut self, now: Moment, command: D::Command, actions: &mut Vec<SessionAction<D::News>>) {
        let Heard { cluster_id, revision, what } = D::hear(command);
        if !self.is_same_cluster(&cluster_id) {
            self.seen = Seen { cluster_id, revision };
            return self.lose(now, Loss::OtherCluster, actions);
        }
        let Some(stream) = &mut self.stream else { return };
        if !stream.advance(revision) {
            return self.retry_stream(now, actions);
        }
        self.saw(&cluster_id, revision);
        match what {
            MessageBody::Snapshot { session, part, more } => {
                self.snapshot(now, session, (part, more), actions);
            }
            MessageBody::Fenced(fenced) => self.fenced(now, fenced, actions),
            MessageBody::GoAway(go_away) => self.go_away(now, &go_away, actions),
            MessageBody::News(news) => self.pass_on(now, news, actions),
            MessageBody::Nothing => {}
        }
    }

    fn is_same_cluster(&self, cluster_id: &str) -> bool {
        cluster_id.is_empty() || self.seen.cluster_id.is_empty() || self.seen.cluster_id == cluster_id
    }

    fn saw(&mut self, cluster_id: &str, revision: u64) {
        if !cluster_id.is_empty() {
            cluster_id.clone_into(&mut self.seen.cluster_id);
        }
        self.seen.revision = self.seen.revision.max(revision);
    }

    fn snapshot(
        &mut self,
        now: Moment,
        session: SessionInfo,
        (part, more): (D::Snapshot, bool),
        actions: &mut Vec<SessionAction<D::News>>,
    ) {
        let fits = self.may_be(&session);
        let Some(stream) = self.stream.as_mut().filter(|_| fits) else {
            return self.retry_stream(now, actions);
        };
        let Some(whole) = stream.add(part, more) else { return };
        stream.open();
        let (sent, endpoint) = (stream.sent, stream.endpoint.clone());
        self.endpoints.pin(&endpoint);
        self.reconnect.reset();
        if matches!(self.life, Life::Opening { .. }) {
            self.opened(
                sent,
                session.incarnation,
                session.lease,
                Duration::from_millis(session.ttl_ms),
                actions,
            );
        } else {
            self.heartbeats.hurry(now);
        }
        actions.push(SessionAction::News(D::news(whole)));
    }

    /// True if a snapshot of this session is one of the session that was asked for.
    fn may_be(&self, session: &SessionInfo) -> bool {
        match &self.life {
            Life::Opening { incarnation } => {
                session.incarnation == *incarnation && session.lease != 0 && session.ttl_ms > 0
            }
            Life::Live(live) => session.incarnation == live.incarnation && session.lease == live.lease,
            Life::Finished => false,
        }
    }

    fn opened(
        &mut self,
        sent: Moment,
        incarnation: String,
        lease: i64,
        ttl: Duration,
        actions: &mut Vec<SessionAction<D::News>>,
    ) {
        let claim = ClaimClock::granted(sent, ttl, self.outage_grace);
        self.heartbeats = self.heartbeats.for_session(sent, ttl);
        actions.push(SessionAction::Claim(Some(claim.term())));
        actions.push(SessionAction::Opened { incarnation: incarnation.clone(), lease });
        self.life = Life::Live(Live { incarnation, lease, claim });
    }

    fn pass_on(&mut self, now: Moment, news: D::News, actions: &mut Vec<SessionAction<D::News>>) {
        if self.stream.as_ref().is_some_and(Attempt::is_open) {
            actions.push(SessionAction::News(news));
        } else {
            // The first command must be a snapshot.
            self.retry_stream(now, actions);
        }
    }

    /// The wait before the next stream is short, and keeps instances that all go away from being a busy loop.
    fn go_away(&mut self, now: Moment, go_away: &GoAway, actions: &mut Vec<SessionAction<D::News>>) {
        self.endpoints.learn(&go_away.endpoints);
        self.retry_stream(now, actions);
    }

    fn fenced(&mut self, now: Moment, fenced: Fenced, actions: &mut Vec<SessionAction<D::News>>) {
        let reason = fenced.reason();
        if reason == FenceReason::Deregistered && self.leaving.is_some() {
            return self.finish(Ending::Left, actions);
        }
        let by_own_ghost = self.ghost_until.is_some_and(|until| now < until);
        if reason == FenceReason::Superseded && !by_own_ghost && matches!(self.life, Life::Live(_)) {
            self.owe_farewell(actions);
            return self.finish(Ending::Superseded(fenced.message), actions);
        }
        self.owe_farewell(actions);
        self.lose(now, Loss::Fenced(reason, fenced.message), actions);
    }

    fn owe_farewell(&self, actions: &mut Vec<SessionAction<D::News>>) {
        if let Life::Live(Live { incarnation, .. }) = &self.life {
            actions.push(SessionAction::SayStopped { incarnation: incarnation.clone() });
        }
    }

    /// The session is over; a new one is opened unless the client is leaving.
    fn lose(&mut self, now: Moment, loss: Loss, actions: &mut Vec<SessionAction<D::News>>) {
        self.end_session(loss, actions);
        if self.leaving.is_some() {
            return self.finish(Ending::NoSession, actions);
        }
        self.life = Life::Opening { incarnation: self.dice.incarnation() };
        self.endpoints.rotate();
        self.reconnect_at = Some(now + self.losses.next(&mut self.dice));
    }

    fn end_session(&mut self, loss: Loss, actions: &mut Vec<SessionAction<D::News>>) {
        self.stream = None;
        self.heartbeats.stop();
        actions.push(SessionAction::Claim(None));
        actions.push(SessionAction::CloseStream);
        if matches!(self.life, Life::Live(_)) {
            actions.push(SessionAction::Lost(loss));
        }
    }

    fn finish(&mut self, ending: Ending, actions: &mut Vec<SessionAction<D::News>>) {
        self.life = Life::Finished;
        self.stream = None;
        actions.push(SessionAction::Claim(None));
        actions.push(SessionAction::CloseStream);
        actions.push(SessionAction::Finished(ending));
    }
}

/// True if the same request would be refused again, everywhere.
pub(crate) const fn is_refusal(code: Code) -> bool {
    matches!(
        code,
        Code::InvalidArgument
            | Code::NotFound
            | Code::FailedPrecondition
            | Code::PermissionDenied
            | Code::Unauthenticated
            | Code::Unimplemented
            | Code::OutOfRange
    )
}

#[cfg(test)]
#[path = "session/session_test.rs"]
mod session_test;
