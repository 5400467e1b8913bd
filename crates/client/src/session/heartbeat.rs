//! Heartbeats: when the next is due, and what an answer means.

use std::time::Duration;

use kafka_assigner_proto::v1::{HeartbeatOutcome, HeartbeatResponse, Seen};
use kafka_assigner_types::claim;

use super::{Dialect, Life, Loss, SendHeartbeat, Session, SessionAction};
use crate::backoff::RetryDelay;
use kafka_assigner_types::moment::Moment;

/// The shortest and the longest time to wait for an answer. A heartbeat is due a third of the time to live before the
/// claim lapses; a tenth for each attempt lets three of them fit in with the waits between. It is twice what an
/// instance waits for its store, so that its answer "the store can't be reached" still comes. Below a time to live of
/// 2.5 s the shortest rules, and only two fit.
const BOUNDS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// The first wait after a failed attempt is a hundredth of the time to live, and at most this.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(2);

/// The rhythm of the heartbeats of one session.
#[derive(Debug)]
pub(super) struct Heartbeats {
    ttl: Duration,
    /// Counts over all sessions, so that a late answer is never taken for another's.
    sent: u64,
    waiting: Option<(u64, Moment)>,
    due: Option<Moment>,
    retry: RetryDelay,
}

impl Default for Heartbeats {
    fn default() -> Self {
        let retry = RetryDelay::new(FIRST_RETRY, LONGEST_RETRY);
        Self { ttl: Duration::ZERO, sent: 0, waiting: None, due: None, retry }
    }
}

impl Heartbeats {
    pub(super) fn for_session(&self, opened: Moment, ttl: Duration) -> Self {
        let retry = RetryDelay::new(FIRST_RETRY.min(ttl / 100), LONGEST_RETRY);
        let due = Some(opened + claim::renewal_interval(ttl));
        Self { ttl, sent: self.sent, due, retry, waiting: None }
    }

    pub(super) const fn stop(&mut self) {
        self.waiting = None;
        self.due = None;
    }

    /// Sends the next one as soon as possible.
    pub(super) const fn hurry(&mut self, now: Moment) {
        self.due = Some(now);
    }

    pub(super) const fn next_wake(&self) -> Option<Moment> {
        if self.waiting.is_some() { None } else { self.due }
    }

    fn take_due(&mut self, now: Moment) -> Option<u64> {
        self.next_wake().filter(|due| *due <= now)?;
        self.sent += 1;
        self.waiting = Some((self.sent, now));
        self.due = None;
        Some(self.sent)
    }

    /// The time at which the answered heartbeat was sent; `None` = it is not the one that is waited for.
    fn answered(&mut self, number: u64) -> Option<Moment> {
        let (_, sent) = self.waiting.take_if(|(waiting, _)| *waiting == number)?;
        Some(sent)
    }

    fn bound(&self) -> Duration {
        (self.ttl / 10).clamp(BOUNDS.0, BOUNDS.1)
    }

    /// Plans the next one, unless one was hurried meanwhile.
    fn plan(&mut self, at: Moment) {
        self.due.get_or_insert(at);
    }
}

impl<D: Dialect> Session<D> {
    pub(super) fn heartbeat_timer(&mut self, now: Moment, actions: &mut Vec<SessionAction<D::News>>) {
        let Life::Live(live) = &self.life else { return };
        let Some(number) = self.heartbeats.take_due(now) else { return };
        actions.push(SessionAction::SendHeartbeat(SendHeartbeat {
            number,
            endpoint: self.endpoints.current().to_owned(),
            incarnation: live.incarnation.clone(),
            lease: live.lease,
            seen: self.seen.clone(),
            bound: self.heartbeats.bound(),
        }));
    }

    pub(super) fn heartbeat_failed(&mut self, now: Moment, number: u64) {
        if self.heartbeats.answered(number).is_some() {
            self.endpoints.rotate();
            let wait = self.heartbeats.retry.next(&mut self.dice);
            self.heartbeats.plan(now + wait);
        }
    }

    pub(super) fn heartbeat_answered(
        &mut self,
        now: Moment,
        number: u64,
        mut response: HeartbeatResponse,
        actions: &mut Vec<SessionAction<D::News>>,
    ) {
        let Some(sent) = self.heartbeats.answered(number) else { return };
        if !self.is_same_cluster(&response.cluster_id) {
            self.seen = Seen { cluster_id: response.cluster_id, revision: response.revision };
            return self.lose(now, Loss::OtherCluster, actions);
        }
        self.saw(&response.cluster_id, response.revision);
        self.endpoints.learn(&response.endpoints);
        match response.outcome() {
            HeartbeatOutcome::Confirmed => self.confirmed(now, sent, response.concerned_revision, actions),
            HeartbeatOutcome::StoreUnavailable => self.store_unavailable(now, sent, actions),
            HeartbeatOutcome::Fenced => {
                self.fenced(now, response.fenced.take().unwrap_or_default(), actions);
            }
            HeartbeatOutcome::Unspecified => self.answered_with_nothing(now),
        }
    }

    fn confirmed(
        &mut self,
        now: Moment,
        sent: Moment,
        concerned: u64,
        actions: &mut Vec<SessionAction<D::News>>,
    ) {
        let Life::Live(live) = &mut self.life else { return };
        live.claim.confirmed(sent);
        actions.push(SessionAction::Claim(Some(live.claim.term())));
        if let Some(stream) = &mut self.stream {
            stream.expect(now, concerned);
        }
        self.losses.reset();
        self.heartbeats.retry.reset();
        self.heartbeats.plan(sent + claim::renewal_interval(self.heartbeats.ttl));
    }

    /// Another instance may reach the store, and the store may come back at any moment.
    fn store_unavailable(&mut self, now: Moment, sent: Moment, actions: &mut Vec<SessionAction<D::News>>) {
        let Life::Live(live) = &mut self.life else { return };
        live.claim.outage(now, sent);
        actions.push(SessionAction::Claim(Some(live.claim.term())));
        self.answered_with_nothing(now);
    }

    fn answered_with_nothing(&mut self, now: Moment) {
        self.endpoints.rotate();
        let wait = self.heartbeats.retry.next(&mut self.dice);
        self.heartbeats.plan(now + wait);
    }
}
