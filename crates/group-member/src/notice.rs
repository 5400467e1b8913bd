//! The word of a member to the application and its operators.

use std::collections::BTreeSet;

use kafka_assigner_types::id::TopicPartition;

use crate::KafkaError;

/// Code of the application that is called, one at a time. The machine goes on when it is told that it is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RebalanceCallback {
    /// These partitions are to be given up; they are still owned, and offsets may be committed.
    Revoked(BTreeSet<TopicPartition>),
    /// These partitions are owned no more: others may have them already, and nothing must be committed.
    Lost(BTreeSet<TopicPartition>),
    /// These partitions were added; none, where a rebalance added nothing.
    Assigned(BTreeSet<TopicPartition>),
}

impl RebalanceCallback {
    /// The partitions, whatever happens with them.
    #[must_use]
    pub const fn partitions(&self) -> &BTreeSet<TopicPartition> {
        match self {
            Self::Revoked(partitions) | Self::Lost(partitions) | Self::Assigned(partitions) => partitions,
        }
    }
}

/// Something that an operator wants on a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberNotice {
    /// The member has a part of a new plan.
    Joined {
        /// The generation, or the member's epoch.
        generation: i32,
        /// The strategy; `None`: the broker's.
        strategy: Option<String>,
        /// True if this member planned.
        leads: bool,
    },
    /// The group is planned by the broker, as a member of KIP-848 has turned it: the strategies that are offered are not
    /// used.
    BrokerPlans,
    /// The broker has not answered for a session: it may have given the partitions to others.
    SessionOver,
    /// The application did not ask for records for so long that the member left.
    Stalled,
    /// The leader's plan for this member can't be read; the member owns nothing until the next one.
    UnreadablePlan,
    /// The member is out of the group, and asks for nothing any more.
    Closed,
    /// The member can't go on.
    Failed(MemberFailure),
}

/// The reason for which a member can't go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemberFailure {
    /// Another member has the same instance id.
    #[error("another member has the instance id of this one, {0}; give each its own group.instance.id")]
    Fenced(String),
    /// The strategies have nothing in common.
    #[error("the group uses none of the strategies that this member offers, {0}")]
    Strategies(String),
    /// Brokers refuse to say who coordinates the group, mostly since the user may not see it.
    #[error("brokers refuse to name the group's coordinator, with error {}", .0.0)]
    Coordinator(KafkaError),
    /// The broker refuses for good.
    #[error("the broker refuses with error {}", .0.0)]
    Refused(KafkaError),
}
