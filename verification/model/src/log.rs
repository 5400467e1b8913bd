//! The records of one partition, which owners work on, and what keeps the wrong owners from touching it.

use kafka_assigner_types::id::Epoch;

/// One partition's data.
///
/// In `exclusive` it is the input with its committed offset and the sink, in `routed` the log that owners write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Log {
    /// The number of the topic whose log it is among those of its name, from 0.
    pub topic: u8,
    /// How many records took effect, or were written. What is done by whoever believes it to be a former topic's does
    /// not count: that is told apart, under an epoch of before.
    pub done: u8,
    /// The committed offset.
    pub committed: u8,
    /// The topic that whoever committed it worked on, as that one knew.
    pub committed_of: u8,
    /// The highest epoch that the sink has seen.
    pub sink: Epoch,
    /// The session that took the log's fence last: what others send is refused.
    pub holder: Option<usize>,
    /// True if an owner's session ended since somebody began to work: what it did not commit is done again.
    pub is_excused: bool,
    /// True if an owner's lease was revoked from outside: only the sink is promised to hold then.
    pub is_revoked: bool,
}

impl Log {
    /// The committed offset for one who works on that topic of the name: what is committed of another one does not count.
    #[must_use]
    pub const fn committed_in(&self, topic: u8) -> u8 {
        if self.committed_of == topic { self.committed } else { 0 }
    }
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
