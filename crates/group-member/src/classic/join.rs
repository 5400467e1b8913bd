//! Joining, planning, and the plan.

use std::collections::BTreeSet;

use bytes::Bytes;
use kafka_assigner_kafka::messages::{
    JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse, SyncGroupRequest,
    SyncGroupRequestAssignment, SyncGroupResponse,
};
use kafka_assigner_kafka::wire::Blob;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;

use super::{ClassicCommand, ClassicMember, ClassicRequest, ClassicState};
use crate::subscription::{SubscriptionFacts, assigned};
use crate::{
    AnswerFailure, JoinedMember, KafkaError, MemberFailure, MemberNotice, Membership, OfferedStrategy,
    Reaction, RebalanceManner, RequestNumber,
};

/// The kind of group that consumers form.
const PROTOCOL_TYPE: &str = "consumer";

impl ClassicMember {
    pub(super) const fn may_join(&self) -> bool {
        self.has_coordinator && !self.is_stalled && !self.is_held_back() && self.closing.is_none()
    }

    /// Joins, where the member is out or is to join again and nothing stands in the way; what it must not take along
    /// is given up first.
    pub(super) fn join_if_wanted(&mut self, now: Moment) {
        let is_wanted = match self.state {
            ClassicState::Out(not_before) => not_before <= now,
            ClassicState::Stable => self.rejoin.is_open() && self.target.is_none(),
            _ => false,
        };
        if !is_wanted || !self.may_join() {
            return;
        }
        let given_up = self.left_behind();
        if !given_up.is_empty() {
            self.revoke(given_up);
        } else if self.has_flushed(now) {
            self.join();
        }
    }

    /// The partitions that must be given up before a join.
    fn left_behind(&self) -> BTreeSet<TopicPartition> {
        let owned = self.owned.partitions.iter();
        match self.options.manner() {
            RebalanceManner::Eager => owned.cloned().collect(),
            RebalanceManner::Cooperative => {
                owned.filter(|partition| !self.topics.contains(&partition.topic)).cloned().collect()
            }
        }
    }

    fn join(&mut self) {
        let request = JoinGroupRequest {
            group_id: self.options.group.clone(),
            session_timeout_ms: millis(self.options.session_timeout),
            rebalance_timeout_ms: millis(self.options.rebalance_timeout),
            member_id: self.id.clone(),
            group_instance_id: self.options.instance.clone(),
            protocol_type: PROTOCOL_TYPE.to_owned(),
            protocols: self.options.strategies.iter().map(|offered| self.offer(offered)).collect(),
            reason: None,
        };
        let request = self.send(ClassicRequest::Join(request), self.options.patience());
        self.flights.join = Some(request);
        self.flush = None;
        self.go_to(ClassicState::Joining { request, covers: self.rejoin.so_far() });
    }

    fn offer(&self, offered: &OfferedStrategy) -> JoinGroupRequestProtocol {
        let facts = SubscriptionFacts {
            topics: &self.topics,
            owned: &self.owned,
            last: &self.last,
            rack: self.options.rack.as_deref(),
        };
        let metadata = Blob(facts.bytes(offered.notes).into());
        JoinGroupRequestProtocol { name: offered.name.clone(), metadata }
    }

    pub(super) fn join_answered(
        &mut self,
        now: Moment,
        number: RequestNumber,
        answer: Result<JoinGroupResponse, AnswerFailure>,
    ) {
        if self.flights.join != Some(number) {
            return;
        }
        self.flights.join = None;
        let is_new = answer.as_ref().is_ok_and(|answer| self.adopt_id(answer));
        let ClassicState::Joining { request, covers } = self.state else { return };
        if request == number {
            match answer {
                Ok(answer) => self.react_to_join(now, answer, covers, is_new),
                Err(AnswerFailure) => self.ask_elsewhere(now),
            }
        }
    }

    /// Keeps the id that the broker gave, whatever else has happened meanwhile: an id that nobody uses holds the group up
    /// until its session ends. True if it is another one than before.
    fn adopt_id(&mut self, answer: &JoinGroupResponse) -> bool {
        let reaction = Reaction::to_join(KafkaError(answer.error_code));
        let is_given = matches!(reaction, Reaction::Done | Reaction::AdoptId) && !answer.member_id.is_empty();
        let is_new = is_given && answer.member_id != self.id;
        if is_new {
            self.id.clone_from(&answer.member_id);
        }
        is_new
    }

    fn react_to_join(&mut self, now: Moment, answer: JoinGroupResponse, covers: u64, is_new: bool) {
        let error = KafkaError(answer.error_code);
        match Reaction::to_join(error) {
            Reaction::Done if answer.generation_id < 0 => self.retry(now),
            // Closing wins: all that is left is to leave.
            Reaction::Done if self.closing.is_some() => {
                self.enter(answer.generation_id);
                self.go_to(ClassicState::Out(now));
            }
            Reaction::Done => self.joined(now, answer, covers),
            // The partitions that the member had under another id are not its own any more.
            Reaction::AdoptId if is_new => self.forget_generation(now),
            Reaction::FindCoordinator => self.ask_elsewhere(now),
            Reaction::ForgetGeneration => {
                self.forget_generation(now);
                self.retry(now);
            }
            // At once with no id; a broker that does not take that either is not asked without end.
            Reaction::ForgetMember if !self.id.is_empty() => self.forget_member(now),
            Reaction::Fail => self.refuse(now, error),
            _ => self.retry(now),
        }
    }

    pub(super) fn ask_elsewhere(&mut self, now: Moment) {
        self.lose_coordinator();
        self.retry(now);
    }

    pub(super) fn refuse(&mut self, now: Moment, error: KafkaError) {
        let failure = match error {
            KafkaError::FENCED_INSTANCE => {
                MemberFailure::Fenced(self.options.instance.clone().unwrap_or_default())
            }
            KafkaError::INCONSISTENT_PROTOCOL => MemberFailure::Strategies(self.offered_names()),
            error => MemberFailure::Refused(error),
        };
        self.fail(now, failure);
    }

    fn offered_names(&self) -> String {
        let names: Vec<_> = self.options.strategies.iter().map(|offered| offered.name.as_str()).collect();
        names.join(", ")
    }

    /// The generation has come about; heartbeats begin before anything else.
    fn joined(&mut self, now: Moment, answer: JoinGroupResponse, covers: u64) {
        let strategy = answer.protocol_name.unwrap_or_default();
        if !self.options.strategies.iter().any(|offered| offered.name == strategy) {
            return self.refuse(now, KafkaError::INCONSISTENT_PROTOCOL);
        }
        let instance = self.options.instance.clone();
        self.membership =
            Some(Membership { member_id: self.id.clone(), generation: answer.generation_id, instance });
        self.is_alive(now);
        self.times.next_beat = now + self.options.heartbeat_interval;
        if answer.leader.is_empty() {
            self.tell(MemberNotice::BrokerPlans);
        }
        self.leads = answer.leader == self.id;
        let (generation, is_sent) = (answer.generation_id, !answer.skip_assignment);
        if self.leads {
            let members = JoinedMember::of_answer(answer.members);
            let strategy = strategy.clone();
            self.commands.push(ClassicCommand::Plan { generation, strategy, members, is_sent });
        }
        if self.leads && is_sent {
            self.go_to(ClassicState::Planning { strategy, covers });
        } else {
            self.sync(strategy, covers, Vec::new());
        }
    }

    fn enter(&mut self, generation: i32) {
        let (member_id, instance) = (self.id.clone(), self.options.instance.clone());
        self.membership = Some(Membership { member_id, generation, instance });
    }

    /// The plan has been made; it counts for its own generation alone.
    pub(super) fn planned(&mut self, now: Moment, generation: i32, plan: Option<Vec<(String, Vec<u8>)>>) {
        let ClassicState::Planning { strategy, covers } = &self.state else { return };
        if self.closing.is_some() {
            return;
        }
        if self.membership.as_ref().is_none_or(|membership| membership.generation != generation) {
            return;
        }
        let (strategy, covers) = (strategy.clone(), *covers);
        match plan {
            Some(plan) => self.sync(strategy, covers, plan),
            None => self.retry(now),
        }
    }

    fn sync(&mut self, strategy: String, covers: u64, plan: Vec<(String, Vec<u8>)>) {
        let Some(Membership { member_id, generation, instance }) = self.membership.clone() else { return };
        let part = |(member_id, bytes): (String, Vec<u8>)| SyncGroupRequestAssignment {
            member_id,
            assignment: Blob(Bytes::from(bytes)),
        };
        let request = SyncGroupRequest {
            group_id: self.options.group.clone(),
            generation_id: generation,
            member_id,
            group_instance_id: instance,
            protocol_type: Some(PROTOCOL_TYPE.to_owned()),
            protocol_name: Some(strategy.clone()),
            assignments: plan.into_iter().map(part).collect(),
        };
        let request = self.send(ClassicRequest::Sync(request), self.options.patience());
        self.flights.sync = Some(request);
        self.go_to(ClassicState::Syncing { request, strategy, covers });
    }

    pub(super) fn sync_answered(
        &mut self,
        now: Moment,
        number: RequestNumber,
        answer: Result<SyncGroupResponse, AnswerFailure>,
    ) {
        if self.flights.sync.take_if(|asked| *asked == number).is_none() {
            return;
        }
        let ClassicState::Syncing { request, strategy, covers } = &self.state else { return };
        if *request != number {
            return;
        }
        let (strategy, covers) = (strategy.clone(), *covers);
        let Ok(answer) = answer else { return self.ask_elsewhere(now) };
        let error = KafkaError(answer.error_code);
        match Reaction::to_sync(error) {
            Reaction::Done if self.closing.is_none() => self.synced(now, answer, strategy, covers),
            Reaction::Done | Reaction::Rejoin => self.go_to(ClassicState::Out(now)),
            Reaction::FindCoordinator => self.ask_elsewhere(now),
            Reaction::ForgetGeneration => self.forget_generation(now),
            Reaction::ForgetMember => self.forget_member(now),
            Reaction::Fail => self.refuse(now, error),
            Reaction::Retry | Reaction::AdoptId => self.retry(now),
        }
    }

    fn synced(&mut self, now: Moment, answer: SyncGroupResponse, strategy: String, covers: u64) {
        if answer.protocol_name.is_some_and(|used| used != strategy) {
            return self.refuse(now, KafkaError::INCONSISTENT_PROTOCOL);
        }
        let target = assigned(&answer.assignment.0).unwrap_or_else(|_| {
            self.tell(MemberNotice::UnreadablePlan);
            BTreeSet::new()
        });
        self.is_alive(now);
        self.wait.succeeded();
        self.rejoin.fulfil(covers);
        if target.iter().any(|partition| !self.topics.contains(&partition.topic)) {
            // The subscription has changed since the join.
            self.rejoin.ask();
        }
        self.go_to(ClassicState::Stable);
        let leads = self.leads;
        let generation = self.membership.as_ref().map_or(-1, |membership| membership.generation);
        self.tell(MemberNotice::Joined { generation, strategy: Some(strategy), leads });
        self.target = Some(target);
    }
}

fn millis(time: std::time::Duration) -> i32 {
    i32::try_from(time.as_millis()).unwrap_or(i32::MAX)
}
