//! Messages between members of a Kafka group, byte for byte.
//!
//! [`ConsumerSubscription`] is what a member says when it joins, [`ConsumerAssignment`] what the
//! leader answers; inside the first, the sticky assignors keep notes of their own
//! ([`StickyUserData`], [`generation_user_data`]). Everything is big-endian. What is read takes memory
//! in proportion to the bytes that are there, whatever they say of themselves.
//!
//! Written data is sorted, so that equal contents are equal bytes: a broker takes other bytes
//! for a changed subscription, and rebalances (KAFKA-12898).

mod assignment;
mod reader;
mod subscription;
mod user_data;
mod writer;

pub use assignment::ConsumerAssignment;
pub use subscription::ConsumerSubscription;
pub use user_data::{StickyUserData, generation_user_data};

use reader::Reader;
use writer::Writer;

/// The fault of a message that cannot be read. The same bytes fail again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It ends too early, or a length in it is impossible.
    #[error("message ends too early")]
    TooShort,
    /// Its version is negative.
    #[error("version {0} does not exist")]
    Version(i16),
    /// A name in it is not UTF-8.
    #[error("name is not UTF-8")]
    Name,
}

/// Some partitions of a topic, as a message has them: they may be negative or listed twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicPartitions<'a> {
    /// The topic's name.
    pub topic: &'a str,
    /// The partitions.
    pub partitions: Vec<i32>,
}

impl<'a> TopicPartitions<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let topic = reader.string()?;
        Ok(Self { topic, partitions: reader.array(size_of::<i32>(), Reader::int32)? })
    }

    fn read_all(reader: &mut Reader<'a>) -> Result<Vec<Self>, Malformed> {
        reader.array(size_of::<i16>() + size_of::<i32>(), Self::read)
    }

    /// Writes `all` sorted by topic and partition.
    fn write_all(all: &[Self], writer: &mut Writer) {
        let mut sorted: Vec<&Self> = all.iter().collect();
        sorted.sort_by(|a, b| super::java::compare(a.topic, b.topic));
        writer.array(sorted, |writer, of_topic| {
            writer.string(of_topic.topic);
            let mut partitions = of_topic.partitions.clone();
            partitions.sort_unstable();
            writer.array(partitions, Writer::int32);
        });
    }
}

#[cfg(test)]
#[path = "wire_test.rs"]
mod tests;
