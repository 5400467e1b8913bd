//! Signs of life: heartbeats, the session, and the application that asks for records.

use kafka_assigner_kafka::messages::{GroupHeartbeatRequest, GroupHeartbeatResponse};
use kafka_assigner_types::moment::Moment;

use super::{ClassicMember, ClassicRequest, ClassicState};
use crate::{AnswerFailure, KafkaError, MemberNotice, Membership, Reaction, RequestNumber};

impl ClassicMember {
    /// The broker has said that the member is in the group.
    pub(super) const fn is_alive(&mut self, now: Moment) {
        self.times.alive = now;
        self.session_is_over = false;
    }

    /// True where the broker holds back an answer of this member: that it waits is a sign of life, and a heartbeat on the
    /// same connection would wait behind it.
    pub(super) const fn is_held_back(&self) -> bool {
        self.flights.join.is_some() || self.flights.sync.is_some()
    }

    pub(super) fn may_beat(&self) -> bool {
        let is_member = self.membership.is_some() && self.state != ClassicState::Over;
        is_member
            && self.has_coordinator
            && self.flights.beat.is_none()
            && self.flights.leave.is_none()
            && !self.is_held_back()
    }

    /// Heartbeats follow from the state, and wait for nothing that the application does.
    pub(super) fn beat_if_due(&mut self, now: Moment) {
        if !self.may_beat() || now < self.times.next_beat {
            return;
        }
        let Some(membership) = self.membership.clone() else { return };
        let request = GroupHeartbeatRequest {
            group_id: self.options.group.clone(),
            generation_id: membership.generation,
            member_id: membership.member_id.clone(),
            group_instance_id: membership.instance.clone(),
        };
        let number = self.send(ClassicRequest::Beat(request), self.options.beat_patience());
        self.flights.beat = Some((number, membership));
        self.times.next_beat = now + self.options.heartbeat_interval;
    }

    pub(super) fn beat_answered(
        &mut self,
        now: Moment,
        number: RequestNumber,
        answer: Result<GroupHeartbeatResponse, AnswerFailure>,
    ) {
        let Some((_, asked)) = self.flights.beat.take_if(|(asked, _)| *asked == number) else { return };
        match answer {
            Err(AnswerFailure) => self.lose_coordinator(),
            Ok(answer) => self.react_to_beat(now, &asked, KafkaError(answer.error_code)),
        }
    }

    /// An answer that speaks of another membership than today's changes nothing.
    fn react_to_beat(&mut self, now: Moment, asked: &Membership, error: KafkaError) {
        if self.membership.as_ref() != Some(asked) {
            return;
        }
        match Reaction::to_heartbeat(error) {
            Reaction::Done => self.is_alive(now),
            Reaction::Rejoin => {
                self.is_alive(now);
                if self.state == ClassicState::Stable {
                    self.rejoin.ask();
                }
            }
            Reaction::FindCoordinator => self.lose_coordinator(),
            Reaction::ForgetGeneration => self.forget_generation(now),
            Reaction::ForgetMember => self.forget_member(now),
            Reaction::Fail => self.refuse(now, error),
            // The next one is due in its time.
            Reaction::Retry | Reaction::AdoptId => {}
        }
    }

    /// A commit tells of a membership that is over sooner than the next heartbeat. That it was answered is no sign of
    /// life: brokers take commits while they wait for the member to join again.
    pub(super) fn commit_refused(&mut self, now: Moment, asked: &Membership, error: KafkaError) {
        if self.membership.as_ref() != Some(asked) {
            return;
        }
        match Reaction::to_commit(error) {
            Reaction::Rejoin if self.state == ClassicState::Stable => self.rejoin.ask(),
            Reaction::ForgetGeneration => self.forget_generation(now),
            Reaction::ForgetMember => self.forget_member(now),
            Reaction::FindCoordinator => self.lose_coordinator(),
            Reaction::Fail if error == KafkaError::FENCED_INSTANCE => self.refuse(now, error),
            _ => {}
        }
    }

    pub(super) fn session_ends_at(&self) -> Option<Moment> {
        let counts = self.membership.is_some() && !self.is_held_back() && !self.session_is_over;
        counts.then(|| self.times.alive + self.options.session_timeout)
    }

    pub(super) fn stalls_at(&self) -> Option<Moment> {
        let counts = !self.is_stalled && self.closing.is_none();
        counts.then(|| self.times.polled + self.options.rebalance_timeout)
    }

    /// Deadlines are events like others: what they change is in the state before anything is decided.
    pub(super) fn watch_deadlines(&mut self, now: Moment) {
        if self.state == ClassicState::Over {
            return;
        }
        if self.session_ends_at().is_some_and(|end| end <= now) {
            self.session_is_over = true;
            self.tell(MemberNotice::SessionOver);
            self.lose_coordinator();
        }
        if self.stalls_at().is_some_and(|end| end <= now) {
            self.stall(now);
        }
        if self.closing.is_some_and(|closing| closing.deadline <= now) {
            self.end();
        }
    }

    /// The application has not asked for records for too long: the group goes on without the member. It joins again when
    /// the application asks. A static member only falls silent, so that it has its partitions back if that is soon; so
    /// does one that can't say that it leaves, and both keep their id.
    fn stall(&mut self, now: Moment) {
        self.is_stalled = true;
        self.tell(MemberNotice::Stalled);
        let is_static = self.options.instance.is_some();
        if !is_static && self.leave("the application did not ask for records in time") {
            self.forget_member(now);
        } else {
            self.forget_generation(now);
        }
    }
}
