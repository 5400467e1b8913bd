//! The session's machine.

mod heartbeats;
mod leaving;

use std::time::Duration;

use kafka_assigner_proto::ReasonExt as _;
use kafka_assigner_proto::v1::{FenceReason, Fenced, GoAway, SessionInfo};
use tonic::{Code, Status};

use super::api::{Ending, Event, Loss, OpenStream, SessionAction, SessionOptions};
use super::attachment::Detachment;
use super::claim_clock::ClaimClock;
use super::departure::Departure;
use super::dialect::{Dialect, Heard, MessageBody};
use super::endpoints::Endpoints;
use super::heartbeat::Heartbeats;
use super::insistence::Insistence;
use super::known_store::KnownStore;
use super::life::{Life, Live};
use super::refusal::{is_definite, is_refusal};
use super::stream::{Attempt, GHOST_BOUND, Missing, StoreDoubt};
use crate::backoff::{Dice, RetryDelay};
use heartbeats::SaidHeartbeat;
use kafka_assigner_types::id::Incarnation;
use kafka_assigner_types::kv::LeaseId;
use kafka_assigner_types::moment::Moment;

/// The first wait before a new stream; the longest is below, so that any instance's return is seen within seconds.
const FIRST_RECONNECT: Duration = Duration::from_millis(50);
const LONGEST_RECONNECT: Duration = Duration::from_secs(3);
/// The longest wait that instances may ask for: beyond it the client would not see that they can serve it again.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(30);
/// The longest time for which a stream that is told to go is kept, whatever its instance offers.
const LONGEST_FAREWELL: Duration = Duration::from_secs(30);
/// A digest alone is believed so often: what is wrong with it would be wrong with the next stream too, and then costs one
/// stream a minute.
const DIGEST_PAUSE: Duration = Duration::from_secs(60);

/// The machine.
#[derive(Debug)]
pub struct Session<D: Dialect> {
    dice: Dice,
    endpoints: Endpoints,
    outage_grace: Duration,
    store: KnownStore,
    life: Life,
    /// There has been a session.
    has_opened: bool,
    attempts: u64,
    stream: Option<Attempt<D>>,
    reconnect_at: Option<Moment>,
    reconnect: RetryDelay,
    /// Beyond a single loss, sessions are not opened faster than this, or two clusters behind one address would
    /// be a busy loop.
    losses: RetryDelay,
    heartbeats: Heartbeats,
    /// The words of the heartbeat that is under way.
    said: Option<SaidHeartbeat>,
    detachment: Detachment,
    insistence: Insistence,
    /// The refusals in a row that asked for a wait.
    asked_to_wait: usize,
    /// True if the last confirmed heartbeat named partitions that the session is fenced of.
    is_fenced_in_part: bool,
    /// Until then a digest alone makes no stream deaf.
    digest_paused_until: Option<Moment>,
    /// The end of the time within which an abandoned Register may still take over.
    ghost_until: Option<Moment>,
    leaving: Option<Departure>,
    /// The actions of the step that runs.
    actions: Vec<SessionAction<D::News>>,
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
            store: KnownStore::default(),
            life: Life::Opening { incarnation: dice.incarnation() },
            has_opened: false,
            attempts: 0,
            stream: None,
            reconnect_at: None,
            reconnect: RetryDelay::new(FIRST_RECONNECT, LONGEST_RECONNECT),
            losses: RetryDelay::new(FIRST_RECONNECT, LONGEST_RECONNECT),
            heartbeats: Heartbeats::default(),
            said: None,
            detachment: Detachment::default(),
            insistence: Insistence::default(),
            asked_to_wait: 0,
            is_fenced_in_part: false,
            digest_paused_until: None,
            ghost_until: None,
            leaving: None,
            actions: Vec::new(),
            dice,
        }
    }

    /// Takes an event in and says what to do, in this order.
    pub fn step(&mut self, now: Moment, event: Event<D::Command>) -> Vec<SessionAction<D::News>> {
        if matches!(self.life, Life::Finished) {
            return Vec::new();
        }
        match event {
            Event::Start => self.open_stream(now),
            Event::Timer => self.timer(now),
            Event::Command { attempt, command } if self.is_current(attempt) => self.command(now, command),
            Event::StreamFailed { attempt, status } if self.is_current(attempt) => {
                self.stream_failed(now, &status);
            }
            Event::StreamEnded { attempt } if self.is_current(attempt) => self.stream_ended(now),
            Event::HeartbeatAnswered { number, response } => self.heartbeat_answered(now, number, response),
            Event::HeartbeatFailed { number } => self.heartbeat_failed(now, number),
            Event::Leave(mode) => self.leave(mode),
            Event::LeaveAnswered { mode, result } => self.leave_answered(now, mode, result),
            Event::Abandon => self.finish(Ending::NoSession),
            Event::CallFailed => self.endpoints.change(&mut self.dice),
            Event::ReportDue if matches!(self.life, Life::Live(_)) => {
                self.heartbeats.hurry(now);
                self.timer(now);
            }
            // Without a session, or from a stream that was given up meanwhile.
            Event::ReportDue
            | Event::Command { .. }
            | Event::StreamFailed { .. }
            | Event::StreamEnded { .. } => {}
        }
        std::mem::take(&mut self.actions)
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
    pub fn incarnation(&self) -> Option<&Incarnation> {
        self.life.live().map(|live| &live.incarnation)
    }

    fn is_current(&self, attempt: u64) -> bool {
        self.stream.as_ref().is_some_and(|s| s.number == attempt)
    }

    fn timer(&mut self, now: Moment) {
        if self.reconnect_at.is_some_and(|at| at <= now) {
            self.open_stream(now);
        }
        if self.stream.as_ref().and_then(Attempt::deadline).is_some_and(|by| by <= now) {
            self.stream_overdue(now);
        }
        self.heartbeat_timer(now);
        self.leaving_timer(now);
    }

    fn open_stream(&mut self, now: Moment) {
        self.attempts += 1;
        self.reconnect_at = None;
        let endpoint = self.endpoints.current().to_owned();
        let Some((incarnation, resume_lease)) = self.life.to_ask_for() else { return };
        let seen = self.store.seen();
        self.stream = Some(Attempt::new(self.attempts, now, endpoint.clone(), seen.revision));
        let attempt = self.attempts;
        self.actions.push(SessionAction::OpenStream(OpenStream {
            attempt,
            endpoint,
            incarnation,
            resume_lease,
            seen,
        }));
    }

    fn stream_overdue(&mut self, now: Moment) {
        let Some(stream) = &self.stream else { return };
        if let Some(missing) = stream.deaf_at(now) {
            tracing::warn!(endpoint = stream.endpoint, ?missing, "the stream is deaf; opening one elsewhere");
            if matches!(missing, Missing::Change(_)) {
                self.digest_paused_until = Some(now + DIGEST_PAUSE);
            }
        }
        self.retry_stream(now);
    }

    /// Gives the stream up, which its instance may take for a death, and tries again.
    fn retry_stream(&mut self, now: Moment) {
        self.insist(now);
        self.replace_stream(now);
    }

    /// Tries another stream, elsewhere and after a wait.
    fn replace_stream(&mut self, now: Moment) {
        self.abandon_register(now);
        self.insistence.stream_replaced();
        if let Some(stream) = self.stream.take() {
            self.detachment.refused(&stream.endpoint);
            self.endpoints.leave(&stream.endpoint, &mut self.dice);
        } else {
            self.endpoints.change(&mut self.dice);
        }
        self.reconnect_at = Some(now + self.reconnect.next(&mut self.dice));
        self.actions.push(SessionAction::CloseStream);
    }

    /// A first Register without a definite answer may still take effect: never use its incarnation again.
    fn abandon_register(&mut self, now: Moment) {
        if let Life::Opening { incarnation } = &mut self.life {
            *incarnation = self.dice.incarnation();
            self.ghost_until = Some(now + GHOST_BOUND);
        }
    }

    fn stream_failed(&mut self, now: Moment, status: &Status) {
        if !self.is_final(status) {
            self.retry_stream(now);
            return self.wait_as_asked(now, status.retry_after());
        }
        let is_gone = matches!(status.code(), Code::NotFound | Code::FailedPrecondition);
        if is_gone && self.life.live().is_some() {
            return self.lose(now, Loss::Refused(status.message().to_owned()));
        }
        let (code, message) = (status.code(), status.message().to_owned());
        self.finish(Ending::Refused { code, message });
    }

    /// True if the same request would be refused again. Where there was a session already, only the service itself is believed:
    /// the way to it has worked. Before, the address may be that of something else.
    fn is_final(&self, status: &Status) -> bool {
        if self.has_opened { is_definite(status) } else { is_refusal(status.code()) }
    }

    /// Waits for as long as instances ask for, once every one of them did: before, another one may take the stream at once.
    fn wait_as_asked(&mut self, now: Moment, asked: Option<Duration>) {
        let Some(wait) = asked else { return };
        // An instance that asks to wait is out of touch with its store: it would refuse a new session as well.
        self.detachment.over();
        self.asked_to_wait += 1;
        if self.asked_to_wait >= self.endpoints.all().count() {
            self.asked_to_wait = 0;
            self.reconnect_at = Some(now + wait.min(LONGEST_RETRY_AFTER));
        }
    }

    fn stream_ended(&mut self, now: Moment) {
        if self.leaving.as_ref().is_some_and(Departure::is_accepted) {
            self.finish(Ending::Left);
        } else {
            self.retry_stream(now);
        }
    }

    fn command(&mut self, now: Moment, command: D::Command) {
        let Heard { cluster_id, revision, what } = D::hear(command);
        if !self.store.is_same(&cluster_id) {
            return self.lose_to_other(now, cluster_id, revision);
        }
        let Some(stream) = &mut self.stream else { return };
        if !stream.advance(revision) {
            return self.retry_stream(now);
        }
        self.store.saw(&cluster_id, revision);
        match what {
            MessageBody::Snapshot { session, part, more } => self.snapshot(now, &session, (part, more)),
            MessageBody::Fenced(fenced) => self.fenced(now, fenced),
            MessageBody::GoAway(go_away) => self.go_away(now, &go_away),
            MessageBody::News(news) => self.pass_on(now, news),
            MessageBody::OutOfTouch => self.doubt_stream(now, StoreDoubt::Said),
            MessageBody::Nothing => {}
        }
    }

    fn lose_to_other(&mut self, now: Moment, cluster_id: String, revision: u64) {
        self.store = KnownStore::new(cluster_id, revision);
        self.lose(now, Loss::OtherCluster);
    }

    fn snapshot(&mut self, now: Moment, session: &SessionInfo, (part, more): (D::Snapshot, bool)) {
        let fits = self.life.may_be(session);
        let Some(stream) = self.stream.as_mut().filter(|_| fits) else {
            return self.retry_stream(now);
        };
        let Some(whole) = stream.add(part, more) else { return };
        let news = D::news(whole);
        stream.open();
        stream.note(&news);
        let (sent, endpoint) = (stream.sent, stream.endpoint.clone());
        self.endpoints.pin(&endpoint);
        self.endpoints.served();
        self.reconnect.reset();
        self.detachment.over();
        self.insistence.stream_began(now);
        self.asked_to_wait = 0;
        if let Life::Opening { incarnation } = &self.life {
            let incarnation = incarnation.clone();
            self.opened(sent, incarnation, session);
        } else {
            self.heartbeats.hurry(now);
        }
        self.actions.push(SessionAction::News(news));
    }

    fn opened(&mut self, sent: Moment, incarnation: Incarnation, session: &SessionInfo) {
        let (lease, ttl) = (LeaseId(session.lease), Duration::from_millis(session.ttl_ms));
        // A service that does not know of it grants none, and waits for the longest.
        let granted = Some(session.outage_grace_ms).filter(|granted_ms| *granted_ms > 0);
        let grace = granted.map_or(self.outage_grace, |ms| self.outage_grace.min(Duration::from_millis(ms)));
        let claim = ClaimClock::granted(sent, ttl, grace);
        self.heartbeats = self.heartbeats.for_session(sent, ttl);
        self.actions.push(SessionAction::Claim(Some(claim.term())));
        self.actions.push(SessionAction::Opened { incarnation: incarnation.clone(), lease });
        self.life = Life::Live(Live { incarnation, lease, claim });
        self.has_opened = true;
    }

    fn pass_on(&mut self, now: Moment, news: D::News) {
        if let Some(stream) = self.stream.as_mut().filter(|stream| stream.is_open()) {
            stream.note(&news);
            self.actions.push(SessionAction::News(news));
        } else {
            // The first command must be a snapshot.
            self.retry_stream(now);
        }
    }

    /// An open stream is heard until it moves, at a random moment before it is cut: all clients of the instance are told at
    /// once. Where it is cut now, the short wait before the next one keeps instances that all go away from being a busy loop.
    fn go_away(&mut self, now: Moment, go_away: &GoAway) {
        self.endpoints.learn(&go_away.endpoints, &mut self.dice);
        let span = Duration::from_millis(go_away.deadline_ms).min(LONGEST_FAREWELL) * 4 / 5;
        let Some(stream) = self.stream.as_ref().filter(|stream| stream.is_open() && !span.is_zero()) else {
            return self.replace_stream(now);
        };
        self.detachment.refused(&stream.endpoint);
        self.endpoints.leave(&stream.endpoint, &mut self.dice);
        self.insistence.stream_replaced();
        self.reconnect_at = Some(now + self.dice.part_of(span));
    }

    fn fenced(&mut self, now: Moment, fenced: Fenced) {
        let reason = fenced.reason();
        if reason == FenceReason::Deregistered && self.leaving.is_some() {
            return self.finish(Ending::Left);
        }
        if matches!(reason, FenceReason::Unattached | FenceReason::StoreRestored) {
            self.store = KnownStore::default();
        }
        let by_own_ghost = self.ghost_until.is_some_and(|until| now < until);
        self.owe_farewell();
        if reason == FenceReason::Superseded && !by_own_ghost && self.life.live().is_some() {
            return self.finish(Ending::Superseded(fenced.message));
        }
        self.lose(now, Loss::Fenced(reason, fenced.message));
    }

    fn owe_farewell(&mut self) {
        if let Some(Live { incarnation, .. }) = self.life.live() {
            self.actions.push(SessionAction::SayStopped { incarnation: incarnation.clone() });
        }
    }

    /// The session is over; a new one is opened unless the client is leaving.
    fn lose(&mut self, now: Moment, loss: Loss) {
        self.end_session(loss);
        if self.leaving.is_some() {
            return self.finish(Ending::NoSession);
        }
        self.life = Life::Opening { incarnation: self.dice.incarnation() };
        self.endpoints.change(&mut self.dice);
        self.reconnect_at = Some(now + self.losses.next(&mut self.dice));
    }

    fn end_session(&mut self, loss: Loss) {
        self.stream = None;
        self.detachment.over();
        self.insistence.end();
        self.heartbeats.stop();
        self.is_fenced_in_part = false;
        self.actions.push(SessionAction::Claim(None));
        self.actions.push(SessionAction::CloseStream);
        if self.life.live().is_some() {
            self.actions.push(SessionAction::Lost(loss));
        }
    }

    fn finish(&mut self, ending: Ending) {
        self.life = Life::Finished;
        self.stream = None;
        self.actions.push(SessionAction::Claim(None));
        self.actions.push(SessionAction::CloseStream);
        self.actions.push(SessionAction::Finished(ending));
    }
}
