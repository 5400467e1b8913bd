//! The member of either protocol, with one set of events and commands.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kafka_assigner_group_member::{
    AnswerFailure, ClassicCommand, ClassicEvent, ClassicMember, ClassicRequest, ConsumerCommand,
    ConsumerEvent, ConsumerMember, JoinedMember, KafkaError, MemberNotice, Membership, RebalanceCallback,
    RequestNumber,
};
use kafka_assigner_kafka::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use kafka_assigner_kafka::wire::Uuid;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::name::TopicName;

/// A member of one of the two protocols.
#[derive(Debug)]
pub(crate) enum ProtocolMember {
    Classic(Box<ClassicMember>),
    Consumer(Box<ConsumerMember>),
}

/// A request of a member.
#[derive(Debug)]
pub(crate) enum MemberRequest {
    Classic(ClassicRequest),
    Consumer(ConsumerGroupHeartbeatRequest),
}

/// Something that is to be done for the member.
#[derive(Debug)]
pub(crate) enum MemberCommand {
    Send { number: RequestNumber, request: MemberRequest, patience: Duration },
    LoseCoordinator,
    Plan { generation: i32, strategy: String, members: Vec<JoinedMember>, is_sent: bool },
    LookUp,
    Flush,
    Call(RebalanceCallback),
    StopReading(BTreeSet<TopicPartition>),
    StartReading(BTreeSet<TopicPartition>),
    Tell(MemberNotice),
}

/// Something that has happened. Events that a protocol does not have are left out.
#[derive(Debug)]
pub(crate) enum MemberEvent {
    Tick,
    Coordinator,
    /// Brokers refuse for good to say who it is.
    CoordinatorRefused(KafkaError),
    Polled,
    CallbackDone,
    Close(Duration),
    Subscribed(BTreeSet<TopicName>),
    CommitRefused(Membership, KafkaError),
    /// An answer of the classic protocol, a plan, or metadata that calls for another one.
    Classic(ClassicEvent),
    Beaten(RequestNumber, Result<ConsumerGroupHeartbeatResponse, AnswerFailure>),
    Named(BTreeMap<Uuid, TopicName>),
}

impl ProtocolMember {
    pub(crate) fn step(&mut self, now: Moment, event: MemberEvent) -> Vec<MemberCommand> {
        match self {
            Self::Classic(member) => match to_classic(event) {
                Some(event) => member.step(now, event).into_iter().map(of_classic).collect(),
                None => Vec::new(),
            },
            Self::Consumer(member) => match to_consumer(event) {
                Some(event) => member.step(now, event).into_iter().map(of_consumer).collect(),
                None => Vec::new(),
            },
        }
    }

    pub(crate) fn commits_as(&self) -> Option<Membership> {
        match self {
            Self::Classic(member) => member.commits_as().cloned(),
            Self::Consumer(member) => member.commits_as(),
        }
    }

    pub(crate) const fn is_lost(&self) -> bool {
        match self {
            Self::Classic(member) => member.is_lost(),
            Self::Consumer(member) => member.is_lost(),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Classic(member) => member.is_over(),
            Self::Consumer(member) => member.is_over(),
        }
    }

    pub(crate) fn next_step(&self) -> Option<Moment> {
        match self {
            Self::Classic(member) => member.next_step(),
            Self::Consumer(member) => member.next_step(),
        }
    }
}

impl MemberEvent {
    /// True for an answer of a broker that coordinates the group.
    pub(crate) fn is_of_the_coordinator(&self) -> bool {
        let error = match self {
            Self::Classic(ClassicEvent::Joined(_, Ok(answer))) => answer.error_code,
            Self::Classic(ClassicEvent::Synced(_, Ok(answer))) => answer.error_code,
            Self::Classic(ClassicEvent::Beaten(_, Ok(answer))) => answer.error_code,
            Self::Beaten(_, Ok(answer)) => answer.error_code,
            _ => return false,
        };
        !KafkaError(error).is_of_coordinator()
    }
}

impl MemberRequest {
    /// The event that there is no answer.
    pub(crate) fn failed(&self, number: RequestNumber) -> MemberEvent {
        let failed = AnswerFailure;
        MemberEvent::Classic(match self {
            Self::Classic(ClassicRequest::Join(_)) => ClassicEvent::Joined(number, Err(failed)),
            Self::Classic(ClassicRequest::Sync(_)) => ClassicEvent::Synced(number, Err(failed)),
            Self::Classic(ClassicRequest::Beat(_)) => ClassicEvent::Beaten(number, Err(failed)),
            Self::Classic(ClassicRequest::Leave(_)) => ClassicEvent::Left(number, Err(failed)),
            Self::Consumer(_) => return MemberEvent::Beaten(number, Err(failed)),
        })
    }
}

fn to_classic(event: MemberEvent) -> Option<ClassicEvent> {
    Some(match event {
        MemberEvent::Tick => ClassicEvent::Tick,
        MemberEvent::Coordinator => ClassicEvent::Coordinator,
        MemberEvent::CoordinatorRefused(error) => ClassicEvent::CoordinatorRefused(error),
        MemberEvent::Polled => ClassicEvent::Polled,
        MemberEvent::CallbackDone => ClassicEvent::CallbackDone,
        MemberEvent::Close(within) => ClassicEvent::Close(within),
        MemberEvent::Subscribed(topics) => ClassicEvent::Subscribed(topics),
        MemberEvent::CommitRefused(asked, error) => ClassicEvent::CommitRefused(asked, error),
        MemberEvent::Classic(event) => event,
        MemberEvent::Beaten(..) | MemberEvent::Named(_) => return None,
    })
}

fn to_consumer(event: MemberEvent) -> Option<ConsumerEvent> {
    Some(match event {
        MemberEvent::Tick => ConsumerEvent::Tick,
        MemberEvent::Coordinator => ConsumerEvent::Coordinator,
        MemberEvent::CoordinatorRefused(error) => ConsumerEvent::CoordinatorRefused(error),
        MemberEvent::Polled => ConsumerEvent::Polled,
        MemberEvent::CallbackDone => ConsumerEvent::CallbackDone,
        MemberEvent::Close(within) => ConsumerEvent::Close(within),
        MemberEvent::Subscribed(topics) => ConsumerEvent::Subscribed(topics),
        MemberEvent::CommitRefused(asked, error) => ConsumerEvent::CommitRefused(asked, error),
        MemberEvent::Beaten(number, answer) => ConsumerEvent::Answered(number, answer),
        MemberEvent::Named(names) => ConsumerEvent::Named(names),
        MemberEvent::Classic(_) => return None,
    })
}

fn of_classic(command: ClassicCommand) -> MemberCommand {
    match command {
        ClassicCommand::Send { number, request, patience } => {
            MemberCommand::Send { number, request: MemberRequest::Classic(request), patience }
        }
        ClassicCommand::LoseCoordinator => MemberCommand::LoseCoordinator,
        ClassicCommand::Plan { generation, strategy, members, is_sent } => {
            MemberCommand::Plan { generation, strategy, members, is_sent }
        }
        ClassicCommand::Flush => MemberCommand::Flush,
        ClassicCommand::Call(callback) => MemberCommand::Call(callback),
        ClassicCommand::StopReading(partitions) => MemberCommand::StopReading(partitions),
        ClassicCommand::StartReading(partitions) => MemberCommand::StartReading(partitions),
        ClassicCommand::Tell(notice) => MemberCommand::Tell(notice),
    }
}

fn of_consumer(command: ConsumerCommand) -> MemberCommand {
    match command {
        ConsumerCommand::Send { number, request, patience } => {
            MemberCommand::Send { number, request: MemberRequest::Consumer(request), patience }
        }
        ConsumerCommand::LoseCoordinator => MemberCommand::LoseCoordinator,
        // Only what is subscribed to is assigned, so the metadata of that has every name.
        ConsumerCommand::LookUp(_) => MemberCommand::LookUp,
        ConsumerCommand::Call(callback) => MemberCommand::Call(callback),
        ConsumerCommand::StopReading(partitions) => MemberCommand::StopReading(partitions),
        ConsumerCommand::StartReading(partitions) => MemberCommand::StartReading(partitions),
        ConsumerCommand::Tell(notice) => MemberCommand::Tell(notice),
    }
}
