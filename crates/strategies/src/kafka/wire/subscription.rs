//! The message with which a member joins.

use super::user_data::generation_in;
use super::{Malformed, Reader, StickyUserData, TopicPartitions, Writer};

/// `ConsumerProtocolSubscription`: what a member wants and claims to own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumerSubscription<'a> {
    /// The version, which says which of the fields below there are. Reading takes a newer one than
    /// [`NEWEST`](Self::NEWEST) for that.
    pub version: u16,
    /// The topics it is subscribed to.
    pub topics: Vec<&'a str>,
    /// Bytes from the member's assignor for the leader's.
    pub user_data: Option<&'a [u8]>,
    /// The partitions that it owns; from version 1 on, otherwise empty.
    pub owned: Vec<TopicPartitions<'a>>,
    /// In which generation it got that; from version 2 on, otherwise `None`. Never negative.
    pub generation: Option<i32>,
    /// Its rack; from version 3 on, otherwise `None`. Some clients send an empty one and mean none.
    pub rack: Option<&'a str>,
}

/// The fields that were added to version 0.
type Additions<'a> = (Vec<TopicPartitions<'a>>, Option<i32>, Option<&'a str>);

impl<'a> ConsumerSubscription<'a> {
    /// The newest version that is known.
    pub const NEWEST: u16 = 3;

    /// Reads a subscription. One that ends too early for its version is read as version 0, as some
    /// clients write version 1 so.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if it cannot be read as version 0 either.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let version = reader.version()?.min(Self::NEWEST);
        let topics = reader.array(size_of::<i16>(), Reader::string)?;
        let user_data = reader.nullable_bytes()?;
        let (owned, generation, rack) = additions(version, &mut reader).unwrap_or_default();
        Ok(Self { version, topics, user_data, owned, generation, rack })
    }

    /// The subscription as bytes, topics and partitions sorted.
    ///
    /// # Panics
    ///
    /// If a name is longer than 32 767 bytes; Kafka's topics have at most 249.
    pub fn write(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.version(self.version);
        let mut topics = self.topics.clone();
        topics.sort_by(|a, b| crate::kafka::java::compare(a, b));
        writer.array(topics, Writer::string);
        writer.nullable_bytes(self.user_data);
        if self.version >= 1 {
            TopicPartitions::write_all(&self.owned, &mut writer);
        }
        if self.version >= 2 {
            writer.int32(self.generation.unwrap_or(-1));
        }
        if self.version >= 3 {
            writer.nullable_string(self.rack);
        }
        writer.into_bytes()
    }

    /// The claims of the member as `sticky` reads them: its user data alone.
    pub fn sticky_claims(&self) -> StickyUserData<'a> {
        self.user_data.map(StickyUserData::read).unwrap_or_default()
    }

    /// The generation of [`owned`](Self::owned) as `cooperative-sticky` reads it: the field, or if there is none the
    /// user data.
    pub fn cooperative_generation(&self) -> Option<i32> {
        let from_user_data = || self.user_data.and_then(generation_in);
        self.generation.or_else(from_user_data).filter(|generation| *generation >= 0)
    }
}

fn additions<'a>(version: u16, reader: &mut Reader<'a>) -> Result<Additions<'a>, Malformed> {
    let (mut generation, mut rack) = (None, None);
    let mut owned = Vec::new();
    if version >= 1 {
        owned = TopicPartitions::read_all(reader)?;
    }
    if version >= 2 {
        generation = Some(reader.int32()?).filter(|generation| *generation >= 0);
    }
    if version >= 3 {
        rack = reader.nullable_string()?;
    }
    Ok((owned, generation, rack))
}
