//! Heartbeats: what they say, and what their answers mean for the claim and for the stream.

use std::time::Duration;

use kafka_assigner_proto::v1::{FencedPartition, HeartbeatOutcome, HeartbeatResponse, StreamState};
use kafka_assigner_types::claim;
use kafka_assigner_types::digest::Digest;
use kafka_assigner_types::moment::Moment;

use super::Session;
use crate::session::api::{Loss, SendHeartbeat, SessionAction};
use crate::session::dialect::Dialect;
use crate::session::known_store::KnownStore;
use crate::session::stream::{Attempt, StoreDoubt, ViewWord};

/// The words of a heartbeat about the stream.
#[derive(Debug)]
pub(super) struct SaidHeartbeat {
    endpoint: String,
    /// The stream that it was about; zero = there was none.
    attempt: u64,
    stream: StreamState,
}

impl<D: Dialect> Session<D> {
    pub(super) fn heartbeat_timer(&mut self, now: Moment) {
        let Some(live) = self.life.live() else { return };
        let Some(number) = self.heartbeats.take_due(now) else { return };
        let endpoint = self.endpoints.current().to_owned();
        let stream = self.stream.as_ref().map_or_else(StreamState::default, Attempt::state);
        let attempt = self.stream.as_ref().map_or(0, |stream| stream.number);
        self.said = Some(SaidHeartbeat { endpoint: endpoint.clone(), attempt, stream });
        self.actions.push(SessionAction::SendHeartbeat(SendHeartbeat {
            number,
            endpoint,
            incarnation: live.incarnation.clone(),
            lease: live.lease,
            seen: self.store.seen(),
            stream,
            bound: self.insistence.bound(self.heartbeats.bound()),
        }));
    }

    /// Says that this client lives, where it gives a stream up, or an attempt at one: its instance may have attached it, and
    /// see its end as that of the client. A heartbeat under way may hang at that very instance, so nobody waits for it.
    pub(super) fn insist(&mut self, now: Moment) {
        if !D::IS_PRESENT || self.life.live().is_none() || self.stream.is_none() {
            return;
        }
        if !self.insistence.stream_ended() {
            return;
        }
        let ended = self.stream.as_ref().map(|stream| &stream.endpoint);
        match self.said.as_ref().is_some_and(|said| Some(&said.endpoint) == ended) {
            true => self.heartbeats.overtake(now),
            false => self.heartbeats.hurry(now),
        }
    }

    pub(super) fn heartbeat_failed(&mut self, now: Moment, number: u64) {
        if self.heartbeats.answered(number).is_some() {
            self.heartbeat_elsewhere(now);
        }
    }

    pub(super) fn heartbeat_answered(&mut self, now: Moment, number: u64, mut response: HeartbeatResponse) {
        let Some(sent) = self.heartbeats.answered(number) else { return };
        if !self.store.is_same(&response.cluster_id) {
            return self.lose_to_other(now, response.cluster_id, response.revision);
        }
        self.store.saw(&response.cluster_id, response.revision);
        self.endpoints.learn(&response.endpoints, &mut self.dice);
        match response.outcome() {
            HeartbeatOutcome::Confirmed => {
                self.fenced_in_part(std::mem::take(&mut response.fenced_partitions));
                self.confirmed(now, sent, &response);
            }
            HeartbeatOutcome::StoreUnavailable => self.store_unavailable(now, sent),
            HeartbeatOutcome::Fenced => {
                self.fenced(now, response.fenced.take().unwrap_or_default());
            }
            HeartbeatOutcome::Unspecified => self.heartbeat_elsewhere(now),
        }
    }

    /// The fences come before the claim, which is extended for everything else.
    fn fenced_in_part(&mut self, fenced: Vec<FencedPartition>) {
        let was_fenced = std::mem::replace(&mut self.is_fenced_in_part, !fenced.is_empty());
        if was_fenced || self.is_fenced_in_part {
            self.actions.push(SessionAction::Fenced(fenced));
        }
    }

    fn confirmed(&mut self, now: Moment, sent: Moment, response: &HeartbeatResponse) {
        let Some(live) = self.life.live_mut() else { return };
        live.claim.confirmed(sent);
        self.endpoints.served();
        self.actions.push(SessionAction::Claim(Some(live.claim.term())));
        self.losses.reset();
        let interval = self.insistence.interval(now, claim::renewal_interval(self.heartbeats.ttl()));
        self.heartbeats.confirmed(sent, interval);
        let Some(said) = self.said.take() else { return };
        if self.stream.as_ref().is_some_and(Attempt::is_open) {
            self.look_at_stream(now, &said, response);
        } else if self.detachment.renewed(now, self.heartbeats.ttl(), self.endpoints.all()) {
            self.give_session_up(now);
        }
    }

    /// Holds the stream against what a confirmed heartbeat was answered.
    fn look_at_stream(&mut self, now: Moment, said: &SaidHeartbeat, response: &HeartbeatResponse) {
        let Some(stream) = &mut self.stream else { return };
        if said.endpoint == stream.endpoint {
            stream.trust();
        } else if stream.is_doubted() {
            return self.move_stream(now, said);
        }
        if said.attempt != stream.number {
            return;
        }
        let trusts_digest = self.digest_paused_until.is_none_or(|until| now >= until);
        let word = ViewWord {
            revision: response.revision,
            concerned: response.concerned_revision,
            digest: response.digest.map(Digest),
        };
        stream.judge(now, said.stream, word, trusts_digest);
    }

    /// The instance of the stream has lost its store, and this one has it.
    fn move_stream(&mut self, now: Moment, said: &SaidHeartbeat) {
        tracing::info!(to = said.endpoint, "moving the stream: its instance has lost its store");
        self.insist(now);
        self.endpoints.pin(&said.endpoint);
        self.open_stream(now);
    }

    /// No instance takes the stream of a session that is renewed. What this client has seen may be the reason.
    fn give_session_up(&mut self, now: Moment) {
        tracing::warn!("renewed, and no instance takes the stream; beginning a new session");
        self.store = KnownStore::default();
        self.owe_farewell();
        self.lose(now, Loss::Unattached);
    }

    /// Another instance may reach the store, and the store may come back at any moment.
    fn store_unavailable(&mut self, now: Moment, sent: Moment) {
        let Some(live) = self.life.live_mut() else { return };
        live.claim.outage(now, sent);
        self.actions.push(SessionAction::Claim(Some(live.claim.term())));
        self.detachment.over();
        let asked = self.said.as_ref().map(|said| &said.endpoint);
        if self.stream.as_ref().is_some_and(|stream| Some(&stream.endpoint) == asked) {
            self.doubt_stream(now, StoreDoubt::Answered);
        }
        self.heartbeat_elsewhere(now);
    }

    /// Asks another instance at once, the first time; it alone knows if the stream is better off there.
    pub(super) fn doubt_stream(&mut self, now: Moment, doubt: StoreDoubt) {
        let Some(stream) = &mut self.stream else { return };
        if stream.doubt(doubt) {
            self.heartbeats.hurry(now);
            if doubt == StoreDoubt::Said {
                self.endpoints.leave(&stream.endpoint, &mut self.dice);
            }
        }
    }

    /// Asks another instance than the one that was asked, unless that is done already.
    fn heartbeat_elsewhere(&mut self, now: Moment) {
        if let Some(said) = self.said.take() {
            self.endpoints.leave(&said.endpoint, &mut self.dice);
        }
        let longest = self.insistence.interval(now, Duration::MAX);
        self.heartbeats.retry(now, longest, &mut self.dice);
    }
}
