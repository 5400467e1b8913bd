//! A member under test, and its words.

use kafka_assigner_kafka::wire::Blob;

use super::*;
use crate::OfferedStrategy;
use crate::subscription::assignment_bytes;

pub(super) fn at(millis: u64) -> Moment {
    Moment(Duration::from_millis(millis))
}

pub(super) fn topics(names: &[&str]) -> BTreeSet<TopicName> {
    names.iter().map(|name| TopicName::new(name).unwrap()).collect()
}

pub(super) fn partitions(numbers: &[u32]) -> BTreeSet<TopicPartition> {
    numbers.iter().map(|number| TopicPartition::try_from(("t", *number)).unwrap()).collect()
}

pub(super) fn options(strategy: &str) -> ClassicOptions {
    ClassicOptions::new("g".to_owned(), vec![OfferedStrategy::of_name(strategy).unwrap()])
}

/// A member with what it has said since the last look.
pub(super) struct Rig {
    pub(super) member: ClassicMember,
    pub(super) now: Moment,
    pub(super) said: Vec<ClassicCommand>,
    pub(super) sent: Option<RequestNumber>,
    /// False: commits before a join are made at once, and not said.
    pub(super) holds_commits: bool,
}

impl Rig {
    pub(super) fn new(options: ClassicOptions) -> Self {
        let member = ClassicMember::new(options, topics(&["t"]), at(0));
        let mut rig = Self { member, now: at(0), said: Vec::new(), sent: None, holds_commits: false };
        rig.does(ClassicEvent::Coordinator);
        rig
    }

    pub(super) fn does(&mut self, event: ClassicEvent) -> &mut Self {
        for command in self.member.step(self.now, event) {
            if let ClassicCommand::Send { number, .. } = &command {
                self.sent = Some(*number);
            }
            if command == ClassicCommand::Flush && !self.holds_commits {
                self.does(ClassicEvent::Flushed);
            } else {
                self.said.push(command);
            }
        }
        self
    }

    pub(super) fn after(&mut self, millis: u64) -> &mut Self {
        self.now = self.now + Duration::from_millis(millis);
        self.does(ClassicEvent::Tick)
    }

    /// Each command in a word or two, since the last look.
    pub(super) fn words(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said).iter().map(word).collect()
    }

    /// The number of the last request.
    pub(super) fn number(&self) -> RequestNumber {
        self.sent.expect("something was sent")
    }

    pub(super) fn joined(&mut self, error: i16, id: &str, generation: i32, leader: &str) -> &mut Self {
        let number = self.number();
        let answer = JoinGroupResponse {
            error_code: error,
            member_id: id.to_owned(),
            generation_id: generation,
            leader: leader.to_owned(),
            protocol_name: Some(self.member.options.strategies[0].name.clone()),
            ..JoinGroupResponse::default()
        };
        self.does(ClassicEvent::Joined(number, Ok(answer)))
    }

    pub(super) fn synced(&mut self, error: i16, numbers: &[u32]) -> &mut Self {
        let number = self.number();
        let assignment = Blob(assignment_bytes(&partitions(numbers)).into());
        let answer = SyncGroupResponse { error_code: error, assignment, ..SyncGroupResponse::default() };
        self.does(ClassicEvent::Synced(number, Ok(answer)))
    }

    pub(super) fn beaten(&mut self, error: i16) -> &mut Self {
        let number = self.number();
        let answer = GroupHeartbeatResponse { throttle_time_ms: 0, error_code: error };
        self.does(ClassicEvent::Beaten(number, Ok(answer)))
    }

    pub(super) fn done(&mut self) -> &mut Self {
        self.does(ClassicEvent::CallbackDone)
    }

    /// A follower of generation 1 that reads `numbers`.
    pub(super) fn stable(strategy: &str, numbers: &[u32]) -> Self {
        Self::stable_with(options(strategy), numbers)
    }

    pub(super) fn stable_with(options: ClassicOptions, numbers: &[u32]) -> Self {
        let mut rig = Self::new(options);
        rig.joined(79, "m", -1, "").joined(0, "m", 1, "other").synced(0, numbers).done();
        rig.said.clear();
        rig
    }
}

pub(super) fn word(command: &ClassicCommand) -> String {
    let numbers = |partitions: &BTreeSet<TopicPartition>| {
        partitions.iter().map(|partition| partition.partition.to_string()).collect::<Vec<_>>().join(",")
    };
    match command {
        ClassicCommand::Send { request: ClassicRequest::Join(join), .. } => {
            format!("join {:?}", join.member_id)
        }
        ClassicCommand::Send { request: ClassicRequest::Sync(sync), .. } => {
            format!("sync {} with {}", sync.generation_id, sync.assignments.len())
        }
        ClassicCommand::Send { request: ClassicRequest::Beat(beat), .. } => {
            format!("beat {}", beat.generation_id)
        }
        ClassicCommand::Send { request: ClassicRequest::Leave(leave), .. } => {
            format!("leave {:?}", leave.members[0].member_id)
        }
        ClassicCommand::Flush => "flush".to_owned(),
        ClassicCommand::LoseCoordinator => "lose coordinator".to_owned(),
        ClassicCommand::Plan { generation, is_sent, .. } => format!("plan {generation} sent {is_sent}"),
        ClassicCommand::Call(RebalanceCallback::Revoked(gone)) => format!("revoked {}", numbers(gone)),
        ClassicCommand::Call(RebalanceCallback::Lost(gone)) => format!("lost {}", numbers(gone)),
        ClassicCommand::Call(RebalanceCallback::Assigned(new)) => format!("assigned {}", numbers(new)),
        ClassicCommand::StopReading(gone) => format!("stop {}", numbers(gone)),
        ClassicCommand::StartReading(new) => format!("start {}", numbers(new)),
        ClassicCommand::Tell(notice) => match notice {
            MemberNotice::Joined { generation, leads, .. } => format!("in {generation} leads {leads}"),
            MemberNotice::Failed(failure) => format!("failed: {failure}"),
            other => format!("{other:?}"),
        },
    }
}
