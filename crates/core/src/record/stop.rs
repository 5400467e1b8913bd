//! The mark of a partition whose owner can't handle a record.

use serde::{Deserialize, Serialize};

use super::Extra;
use kafka_assigner_types::id::{Epoch, Incarnation, Member, Offset};
use kafka_assigner_types::moment::WallMillis;
use kafka_assigner_types::name::MemberName;

/// The record before which an owner of a partition stands, in the words of that owner. It stays over moves, so that a
/// second owner that stops before the same record is known to be the second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// The offset of the record.
    pub offset: Offset,
    /// The reason, for people; at most [`MOST_REASON`](Self::MOST_REASON) characters.
    pub reason: String,
    /// The consumer that stopped last.
    pub consumer: MemberName,
    /// The session in which it did.
    pub incarnation: Incarnation,
    /// The epoch under which it stands; 0: its state can't be built, so that it has not begun.
    pub epoch: Epoch,
    /// True if no record has failed: its owner could not end its work for a move, with the record at `offset` as the next one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_drain: bool,
    /// Another consumer that stopped before the same record earlier. With it the partition is granted to nobody until an
    /// operator resumes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<MemberName>,
    /// An operator's command that is carried out with the next grant; `None`: none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<Resumed>,
    /// The time at which an instance heard of it first, for people.
    pub since: WallMillis,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

/// An operator's command about a partition that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resumed {
    /// The record is tried again.
    Again,
    /// The record is passed over.
    Skip,
    /// A command of a newer version, by its word: the record is tried again.
    #[serde(untagged)]
    Other(String),
}

impl Stop {
    /// The longest reason that is kept, in characters: the message of an error, and no stack trace.
    pub const MOST_REASON: usize = 500;

    /// True if it is the report of this very session.
    #[must_use]
    pub fn is_by(&self, member: &Member) -> bool {
        self.consumer == member.name && self.incarnation == member.incarnation
    }

    /// True if two consumers stopped before the same record, and no operator has resumed the partition.
    #[must_use]
    pub const fn is_last(&self) -> bool {
        self.earlier.is_some() && self.resumed.is_none()
    }

    /// The offset of the record that the next run passes over; `None`: it tries every record.
    #[must_use]
    pub fn skipped(&self) -> Option<Offset> {
        (self.resumed == Some(Resumed::Skip)).then_some(self.offset)
    }
}
