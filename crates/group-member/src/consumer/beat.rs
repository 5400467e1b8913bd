//! The heartbeat, which joins, lives, acknowledges and leaves.

use std::collections::BTreeSet;
use std::time::Duration;

use kafka_assigner_kafka::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::name::TopicName;

use super::owned::PartitionsById;
use super::{ConsumerCommand, ConsumerMember, ConsumerState};
use crate::{AnswerFailure, KafkaError, MemberFailure, MemberNotice, Membership, Reaction, RequestNumber};

/// An instance id that another member has not given up yet.
const UNRELEASED_INSTANCE: KafkaError = KafkaError(111);

/// The time that the coordinator has for an answer: three of them fit into a session of 45 s.
const PATIENCE: Duration = Duration::from_secs(15);

/// A member's epoch that leaves the group.
const LEAVES: i32 = -1;

/// A member's epoch that leaves the group for a while, as a static member.
const LEAVES_FOR_A_WHILE: i32 = -2;

/// The broker's knowledge of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reported {
    topics: BTreeSet<TopicName>,
    owned: PartitionsById,
}

/// A heartbeat under way.
#[derive(Debug, Clone)]
pub(super) struct BeatFlight {
    number: RequestNumber,
    round: u64,
    leaves: bool,
    /// The broker's knowledge once it has answered.
    reports: Reported,
}

impl ConsumerMember {
    pub(super) fn may_beat(&self) -> bool {
        let speaks =
            self.owes_leave || matches!(self.state, ConsumerState::Joining | ConsumerState::Member(_));
        // A member that has lost everything tells its application before it joins again.
        let is_settled = self.owes_leave || !self.is_lost || matches!(self.state, ConsumerState::Member(_));
        let is_closing_still = self.closing.is_none() || self.owes_leave || self.holds();
        speaks && is_settled && is_closing_still && self.has_coordinator && self.flight.is_none()
    }

    /// True for a member that closes and still has partitions: it must stay alive while it gives them up.
    fn holds(&self) -> bool {
        matches!(self.state, ConsumerState::Member(_)) && !self.owned.is_empty()
    }

    /// A change goes out at once, and everything else in the broker's interval.
    pub(super) fn beat_at(&self) -> Moment {
        let is_new = self.owes_leave || self.reported.as_ref() != Some(&self.report());
        if is_new { self.times.not_before } else { self.times.next_beat.max(self.times.not_before) }
    }

    fn report(&self) -> Reported {
        Reported { topics: self.topics.clone(), owned: self.owned.clone() }
    }

    pub(super) fn beat_if_due(&mut self, now: Moment) {
        if !self.may_beat() || now < self.beat_at() {
            return;
        }
        let (leaves, reports) = (self.owes_leave, self.report());
        let request = if leaves { self.leaving() } else { self.beating(&reports) };
        let number = self.numbers.deal();
        self.flight = Some(BeatFlight { number, round: self.round, leaves, reports });
        self.times.next_beat = now + self.interval;
        self.commands.push(ConsumerCommand::Send { number, request, patience: PATIENCE });
    }

    fn leaving(&self) -> ConsumerGroupHeartbeatRequest {
        let member_epoch = if self.options.instance.is_some() { LEAVES_FOR_A_WHILE } else { LEAVES };
        ConsumerGroupHeartbeatRequest { member_epoch, ..self.plain() }
    }

    fn plain(&self) -> ConsumerGroupHeartbeatRequest {
        ConsumerGroupHeartbeatRequest {
            group_id: self.options.group.clone(),
            member_id: self.options.member_id.clone(),
            instance_id: self.options.instance.clone(),
            ..ConsumerGroupHeartbeatRequest::default()
        }
    }

    /// Says all that the broker does not know yet; everything after a join and after any failure.
    fn beating(&self, reports: &Reported) -> ConsumerGroupHeartbeatRequest {
        let member_epoch = if let ConsumerState::Member(epoch) = self.state { epoch } else { 0 };
        let names = || reports.topics.iter().map(|topic| topic.as_str().to_owned()).collect();
        let known = self.reported.as_ref();
        let topics_changed = known.is_none_or(|known| known.topics != reports.topics);
        let owned_changed = known.is_none_or(|known| known.owned != reports.owned);
        let plain = ConsumerGroupHeartbeatRequest {
            member_epoch,
            subscribed_topic_names: topics_changed.then(names),
            topic_partitions: owned_changed.then(|| reports.owned.to_request()),
            ..self.plain()
        };
        if known.is_some() { plain } else { self.in_full(plain) }
    }

    fn in_full(&self, plain: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatRequest {
        let timeout = i32::try_from(self.options.rebalance_timeout.as_millis()).unwrap_or(i32::MAX);
        ConsumerGroupHeartbeatRequest {
            rack_id: self.options.rack.clone(),
            rebalance_timeout_ms: timeout,
            server_assignor: self.options.server_assignor.clone(),
            ..plain
        }
    }

    pub(super) fn answered(
        &mut self,
        now: Moment,
        number: RequestNumber,
        answer: Result<ConsumerGroupHeartbeatResponse, AnswerFailure>,
    ) {
        let Some(flight) = self.flight.take_if(|flight| flight.number == number) else { return };
        if flight.leaves {
            return self.left();
        }
        match answer {
            Err(AnswerFailure) => {
                self.lose_coordinator();
                self.again(now);
            }
            Ok(answer) if flight.round == self.round => self.react(now, answer, flight),
            Ok(_) => {}
        }
    }

    /// Leaving is done, whatever the broker has said to it.
    fn left(&mut self) {
        self.owes_leave = false;
        if self.closing.is_some() {
            self.end();
        }
    }

    /// Tries again after a wait, and tells the broker everything.
    fn again(&mut self, now: Moment) {
        self.reported = None;
        self.times.not_before = now + self.wait.failed();
    }

    fn react(&mut self, now: Moment, answer: ConsumerGroupHeartbeatResponse, flight: BeatFlight) {
        let error = KafkaError(answer.error_code);
        match Reaction::to_consumer_heartbeat(error) {
            Reaction::Done => self.is_member(now, answer, flight),
            Reaction::FindCoordinator => {
                self.lose_coordinator();
                self.reported = None;
            }
            Reaction::ForgetGeneration => {
                self.lose(ConsumerState::Joining);
                self.again(now);
            }
            Reaction::Fail => self.refuse(error),
            _ => self.again(now),
        }
    }

    /// A commit tells of a membership that is over sooner than the next heartbeat. A stale epoch is no reason: the next
    /// heartbeat brings the newer one.
    pub(super) fn commit_refused(&mut self, now: Moment, asked: &Membership, error: KafkaError) {
        if self.commits_as().as_ref() != Some(asked) {
            return;
        }
        match Reaction::to_commit(error) {
            Reaction::ForgetGeneration | Reaction::ForgetMember => {
                self.lose(ConsumerState::Joining);
                self.again(now);
            }
            Reaction::FindCoordinator => self.lose_coordinator(),
            Reaction::Fail if error == KafkaError::FENCED_INSTANCE => self.refuse(error),
            _ => {}
        }
    }

    fn refuse(&mut self, error: KafkaError) {
        let instance = self.options.instance.clone().unwrap_or_default();
        let is_fenced = error == KafkaError::FENCED_INSTANCE || error == UNRELEASED_INSTANCE;
        self.fail(if is_fenced { MemberFailure::Fenced(instance) } else { MemberFailure::Refused(error) });
    }

    fn is_member(&mut self, now: Moment, answer: ConsumerGroupHeartbeatResponse, flight: BeatFlight) {
        self.wait.succeeded();
        let joins = self.state == ConsumerState::Joining;
        self.state = ConsumerState::Member(answer.member_epoch);
        self.reported = Some(flight.reports);
        if let Ok(interval @ 1..) = u64::try_from(answer.heartbeat_interval_ms) {
            self.interval = Duration::from_millis(interval);
            self.times.next_beat = now + self.interval;
        }
        if let Some(assignment) = answer.assignment.filter(|_| self.closing.is_none()) {
            self.target = Some(PartitionsById::of_answer(assignment));
        }
        if joins {
            let generation = answer.member_epoch;
            self.tell(MemberNotice::Joined { generation, strategy: None, leads: false });
        }
    }
}
