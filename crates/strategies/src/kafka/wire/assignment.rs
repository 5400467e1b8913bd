//! The leader's answer.

use super::{Malformed, Reader, TopicPartitions, Writer};

/// `ConsumerProtocolAssignment`: what a member gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumerAssignment<'a> {
    /// The version; all known ones look alike.
    pub version: u16,
    /// The partitions that the member gets.
    pub partitions: Vec<TopicPartitions<'a>>,
    /// Bytes from the leader's assignor for the member's.
    pub user_data: Option<&'a [u8]>,
}

impl<'a> ConsumerAssignment<'a> {
    /// The newest version that is known.
    pub const NEWEST: u16 = 3;

    /// Reads an assignment. No bytes at all are none: the leader's plan does not have the member.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if the bytes are no assignment.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let mut reader = Reader::new(bytes);
        let version = reader.version()?.min(Self::NEWEST);
        let partitions = TopicPartitions::read_all(&mut reader)?;
        Ok(Self { version, partitions, user_data: reader.nullable_bytes()? })
    }

    /// The assignment as bytes, topics and partitions sorted.
    ///
    /// # Panics
    ///
    /// If a topic's name is longer than 32 767 bytes; Kafka's are at most 249 long.
    pub fn write(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.version(self.version);
        TopicPartitions::write_all(&self.partitions, &mut writer);
        writer.nullable_bytes(self.user_data);
        writer.into_bytes()
    }
}
