//! The records of one partition, which owners work on, and what keeps the wrong owners from touching it.

use kafka_assigner_types::id::Epoch;

/// One partition's data.
///
/// In `exclusive` it is the input with its committed offset and the sink, in `routed` the log that owners write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Log {
    /// How many records took effect, or were written.
    pub done: u8,
    /// The committed offset.
    pub committed: u8,
    /// The highest epoch that the sink has seen.
    pub sink: Epoch,
    /// The session that took the log's fence last: what others send is refused.
    pub holder: Option<usize>,
    /// True if an owner's session ended since somebody began to work: what it did not commit is done again.
    pub is_excused: bool,
    /// True if an owner's lease was revoked from outside: only the sink is promised to hold then.
    pub is_revoked: bool,
}

/// Something that a session sent to the log and that has not arrived.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Flight {
    /// Who sent it.
    pub session: usize,
    /// Of which partition.
    pub at: kafka_assigner_types::id::TopicPartition,
    /// What it is.
    pub what: Sent,
}

/// What is sent to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sent {
    /// The log's fence is to be the sender's.
    Seizure,
    /// A record.
    Record,
}
