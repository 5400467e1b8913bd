//! Each error of Kafka in each answer, and its consequence.

/// Kafka's number of an error; 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KafkaError(pub i16);

/// The errors of a partition that pass, mostly with newer metadata or another leader. An error that no one knows may pass too;
/// all others do not by waiting alone.
const PASSING: [i16; 18] = [-1, 3, 5, 6, 7, 9, 13, 14, 15, 16, 56, 74, 75, 76, 78, 88, 100, 103];

impl KafkaError {
    /// `UNKNOWN_SERVER_ERROR`.
    pub const UNKNOWN_SERVER: Self = Self(-1);
    /// `NONE`.
    pub const NONE: Self = Self(0);
    /// `OFFSET_OUT_OF_RANGE`: the log does not have the position. Also told where no offset was committed and none may be
    /// chosen.
    pub const OUT_OF_RANGE: Self = Self(1);
    /// `UNKNOWN_TOPIC_OR_PARTITION`.
    pub const UNKNOWN_TOPIC: Self = Self(3);
    /// `REQUEST_TIMED_OUT`.
    pub const TIMED_OUT: Self = Self(7);
    /// `COORDINATOR_LOAD_IN_PROGRESS`.
    pub const LOADING: Self = Self(14);
    /// `COORDINATOR_NOT_AVAILABLE`.
    pub const NOT_AVAILABLE: Self = Self(15);
    /// `NOT_COORDINATOR`.
    pub const NOT_COORDINATOR: Self = Self(16);
    /// `ILLEGAL_GENERATION`.
    pub const ILLEGAL_GENERATION: Self = Self(22);
    /// `INCONSISTENT_GROUP_PROTOCOL`.
    pub const INCONSISTENT_PROTOCOL: Self = Self(23);
    /// `UNKNOWN_MEMBER_ID`.
    pub const UNKNOWN_MEMBER: Self = Self(25);
    /// `REBALANCE_IN_PROGRESS`.
    pub const REBALANCING: Self = Self(27);
    /// `MEMBER_ID_REQUIRED`.
    pub const MEMBER_ID_REQUIRED: Self = Self(79);
    /// `FENCED_INSTANCE_ID`.
    pub const FENCED_INSTANCE: Self = Self(82);
    /// `UNSTABLE_OFFSET_COMMIT`.
    pub const UNSTABLE_OFFSET: Self = Self(88);
    /// `UNKNOWN_TOPIC_ID`.
    pub const UNKNOWN_TOPIC_ID: Self = Self(100);
    /// `FENCED_MEMBER_EPOCH`.
    pub const FENCED_EPOCH: Self = Self(110);
    /// `STALE_MEMBER_EPOCH`.
    pub const STALE_EPOCH: Self = Self(113);

    /// True if the same question about a partition, asked again after a wait, may have another answer.
    #[must_use]
    pub fn passes(self) -> bool {
        PASSING.contains(&self.0)
    }

    /// True if the broker that was asked coordinates the group no more, or no broker does.
    #[must_use]
    pub fn is_of_coordinator(self) -> bool {
        matches!(self, Self::NOT_AVAILABLE | Self::NOT_COORDINATOR)
    }
}

/// The consequence of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// It went well.
    Done,
    /// The answer has the member's id: the same again with it, at once.
    AdoptId,
    /// The same again after a wait.
    Retry,
    /// The coordinator is another broker; then the same again.
    FindCoordinator,
    /// The group forms anew: the member joins again with all that it has.
    Rejoin,
    /// The generation is over and what was owned is lost; the id is still good.
    ForgetGeneration,
    /// The broker does not know the member: id, generation and what was owned are lost.
    ForgetMember,
    /// The member can't go on.
    Fail,
}

impl Reaction {
    /// The reaction to an answer to `JoinGroup`.
    #[must_use]
    pub fn to_join(error: KafkaError) -> Self {
        match error {
            KafkaError::NONE => Self::Done,
            KafkaError::MEMBER_ID_REQUIRED => Self::AdoptId,
            KafkaError::LOADING | KafkaError::REBALANCING => Self::Retry,
            KafkaError::ILLEGAL_GENERATION => Self::ForgetGeneration,
            KafkaError::UNKNOWN_MEMBER => Self::ForgetMember,
            error if error.is_of_coordinator() => Self::FindCoordinator,
            _ => Self::Fail,
        }
    }

    /// The reaction to an answer to `SyncGroup`.
    #[must_use]
    pub fn to_sync(error: KafkaError) -> Self {
        Self::within_a_generation(error)
    }

    /// The reaction to an answer to `Heartbeat`. While the group forms anew the broker says so, and the member lives.
    #[must_use]
    pub fn to_heartbeat(error: KafkaError) -> Self {
        Self::within_a_generation(error)
    }

    /// The reaction to an answer about a generation that the member names.
    fn within_a_generation(error: KafkaError) -> Self {
        match error {
            KafkaError::NONE => Self::Done,
            KafkaError::LOADING => Self::Retry,
            KafkaError::REBALANCING => Self::Rejoin,
            KafkaError::ILLEGAL_GENERATION => Self::ForgetGeneration,
            KafkaError::UNKNOWN_MEMBER => Self::ForgetMember,
            error if error.is_of_coordinator() => Self::FindCoordinator,
            _ => Self::Fail,
        }
    }

    /// The reaction to the error of a partition in an answer to `OffsetCommit`. [`Self::Fail`] fails the commit alone,
    /// but for a fenced instance.
    #[must_use]
    pub fn to_commit(error: KafkaError) -> Self {
        match error {
            KafkaError::NONE => Self::Done,
            KafkaError::LOADING
            | KafkaError::UNKNOWN_TOPIC
            | KafkaError::UNKNOWN_TOPIC_ID
            | KafkaError::UNKNOWN_SERVER => Self::Retry,
            KafkaError::TIMED_OUT => Self::FindCoordinator,
            KafkaError::REBALANCING | KafkaError::STALE_EPOCH => Self::Rejoin,
            KafkaError::ILLEGAL_GENERATION => Self::ForgetGeneration,
            KafkaError::UNKNOWN_MEMBER => Self::ForgetMember,
            error if error.is_of_coordinator() => Self::FindCoordinator,
            _ => Self::Fail,
        }
    }

    /// The reaction to an answer to `ConsumerGroupHeartbeat`.
    #[must_use]
    pub fn to_consumer_heartbeat(error: KafkaError) -> Self {
        match error {
            KafkaError::NONE => Self::Done,
            KafkaError::LOADING => Self::Retry,
            KafkaError::FENCED_EPOCH | KafkaError::UNKNOWN_MEMBER => Self::ForgetGeneration,
            error if error.is_of_coordinator() => Self::FindCoordinator,
            _ => Self::Fail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Reaction::{
        AdoptId, Done, Fail, FindCoordinator, ForgetGeneration, ForgetMember, Rejoin, Retry,
    };
    use super::*;

    /// Error; reaction to a join, to a sync, to a heartbeat, to a commit.
    const TABLE: [(i16, [Reaction; 4]); 20] = [
        (-1, [Fail, Fail, Fail, Retry]),
        (0, [Done, Done, Done, Done]),
        (14, [Retry, Retry, Retry, Retry]),
        (15, [FindCoordinator, FindCoordinator, FindCoordinator, FindCoordinator]),
        (16, [FindCoordinator, FindCoordinator, FindCoordinator, FindCoordinator]),
        (79, [AdoptId, Fail, Fail, Fail]),
        (25, [ForgetMember, ForgetMember, ForgetMember, ForgetMember]),
        (22, [ForgetGeneration, ForgetGeneration, ForgetGeneration, ForgetGeneration]),
        (27, [Retry, Rejoin, Rejoin, Rejoin]),
        (82, [Fail, Fail, Fail, Fail]),
        (23, [Fail, Fail, Fail, Fail]),
        (26, [Fail, Fail, Fail, Fail]),
        (24, [Fail, Fail, Fail, Fail]),
        (30, [Fail, Fail, Fail, Fail]),
        (81, [Fail, Fail, Fail, Fail]),
        (35, [Fail, Fail, Fail, Fail]),
        (29, [Fail, Fail, Fail, Fail]),
        (3, [Fail, Fail, Fail, Retry]),
        (100, [Fail, Fail, Fail, Retry]),
        (7, [Fail, Fail, Fail, FindCoordinator]),
    ];

    #[test]
    fn each_error_has_its_reaction() {
        for (error, expected) in TABLE.map(|(error, expected)| (KafkaError(error), expected)) {
            let reactions = [
                Reaction::to_join(error),
                Reaction::to_sync(error),
                Reaction::to_heartbeat(error),
                Reaction::to_commit(error),
            ];
            assert_eq!(reactions, expected, "{error:?}");
        }
    }

    #[test]
    fn a_fenced_member_of_a_consumer_group_keeps_its_id() {
        let reactions = [0, 14, 15, 16, 25, 110, 82, 111, 112, 81, 42, 30, 35, 128]
            .map(|error| Reaction::to_consumer_heartbeat(KafkaError(error)));
        let expected = [Done, Retry, FindCoordinator, FindCoordinator, ForgetGeneration, ForgetGeneration];
        assert_eq!(reactions[..6], expected);
        assert!(reactions[6..].iter().all(|reaction| *reaction == Fail));
    }
}
