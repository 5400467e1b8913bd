//! The end of a partition's time with a member.

use kafka_assigner_group_member::KafkaError;

/// The reason for which a partition gives no more records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionEnd {
    /// It is to be given up: offsets may still be committed until it is released, or the time for that is over.
    Revoked,
    /// Others may have it already: nothing of it can be committed any more.
    Lost,
    /// It can't be read: the broker refuses it with an error that does not pass, or it has no offset to begin with and
    /// none may be chosen. It is owned until it is released.
    Refused(KafkaError),
    /// Its records can't be decoded, for this reason. It is owned until it is released.
    Unreadable(String),
}

impl PartitionEnd {
    /// True where `later` takes the place of this one.
    pub(crate) const fn may_become(&self, later: &Self) -> bool {
        matches!((self, later), (Self::Revoked | Self::Refused(_) | Self::Unreadable(_), Self::Lost))
    }
}
