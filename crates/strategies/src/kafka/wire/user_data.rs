//! The message of the sticky assignors to themselves, through their members.

use super::{Reader, TopicPartitions, Writer};

/// The user data of `sticky`: what the member got, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StickyUserData<'a> {
    /// The partitions that the member got.
    pub partitions: Vec<TopicPartitions<'a>>,
    /// In which generation; `None` if that is not said, as in version 0.
    pub generation: Option<i32>,
}

impl<'a> StickyUserData<'a> {
    /// Reads version 1 or, failing that, 0; neither says which it is. What is neither of them says
    /// nothing: the member loses its claim to keep anything, and nothing else happens.
    pub fn read(bytes: &'a [u8]) -> Self {
        let mut reader = Reader::new(bytes);
        let Ok(partitions) = TopicPartitions::read_all(&mut reader) else { return Self::default() };
        Self { partitions, generation: reader.int32().ok() }
    }

    /// Version 1, or 0 if there is no generation.
    ///
    /// # Panics
    ///
    /// If a topic's name is longer than 32 767 bytes; Kafka's are at most 249 long.
    pub fn write(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        TopicPartitions::write_all(&self.partitions, &mut writer);
        self.generation.into_iter().for_each(|generation| writer.int32(generation));
        writer.into_bytes()
    }
}

/// The user data of `cooperative-sticky`: the generation in which the member got what it owns; −1
/// for none.
pub fn generation_user_data(generation: Option<i32>) -> [u8; 4] {
    generation.unwrap_or(-1).to_be_bytes()
}

/// The generation in such user data. librdkafka puts that of `sticky` there, of which Java reads
/// four bytes as well; so does this.
pub(super) fn generation_in(bytes: &[u8]) -> Option<i32> {
    Reader::new(bytes).int32().ok()
}
