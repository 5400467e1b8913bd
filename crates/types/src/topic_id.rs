//! The identity of a topic.

use std::fmt;
use std::str::FromStr;

/// Kafka's id of a topic: one that is deleted and created again has another. Sixteen bytes, not all zero.
///
/// Shown, and read, as Kafka's own tools show it: 22 letters of base64 for URLs, without padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId([u8; 16]);

/// A text that is no topic id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no topic id: it must be 22 letters of base64 for URLs, and not only A")]
pub struct InvalidTopicId(String);

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The letters of an id: 128 bits, six at a time.
const LENGTH: usize = 22;

impl TopicId {
    /// The id of these bytes; `None` for zero, which is Kafka's word for "none".
    #[must_use]
    pub fn new(bytes: [u8; 16]) -> Option<Self> {
        (bytes != [0; 16]).then_some(Self(bytes))
    }

    /// The bytes.
    #[must_use]
    pub const fn bytes(self) -> [u8; 16] {
        self.0
    }
}

impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The last letter has two bits of the id; the four behind them are zero.
        let number = u128::from_be_bytes(self.0);
        let bits = |letter: usize| match letter {
            21 => (number << 4) & 0x3f,
            _ => (number >> (122 - 6 * letter)) & 0x3f,
        };
        let letters = (0..LENGTH).map(|letter| LETTERS[bits(letter) as usize]);
        f.pad(&letters.map(char::from).collect::<String>())
    }
}

impl FromStr for TopicId {
    type Err = InvalidTopicId;

    fn from_str(text: &str) -> Result<Self, InvalidTopicId> {
        read(text).ok_or_else(|| InvalidTopicId(text.to_owned()))
    }
}

fn read(text: &str) -> Option<TopicId> {
    let mut number = 0_u128;
    for (position, letter) in text.bytes().enumerate() {
        let bits = LETTERS.iter().position(|known| *known == letter)? as u128;
        number = match position {
            0..21 => number << 6 | bits,
            21 if bits & 0x0f == 0 => number << 2 | bits >> 4,
            _ => return None,
        };
    }
    TopicId::new(number.to_be_bytes()).filter(|_| text.len() == LENGTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_shown_as_kafka_shows_it() {
        // As base64 writes the bytes 1 to 16, and 255 sixteen times.
        let id = TopicId::new(std::array::from_fn(|byte| byte as u8 + 1)).unwrap();
        assert_eq!(id.to_string(), "AQIDBAUGBwgJCgsMDQ4PEA");
        assert_eq!(TopicId::new([255; 16]).unwrap().to_string(), "_____________________w");
        for id in [id, TopicId::new([255; 16]).unwrap()] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
    }

    #[test]
    fn others_are_refused() {
        let none = "AAAAAAAAAAAAAAAAAAAAAA";
        for text in
            ["", "AQID", none, "AQIDBAUGBwgJCgsMDQ4PEB", "AQIDBAUGBwgJCgsMDQ4PEAA", "!QIDBAUGBwgJCgsMDQ4PEA"]
        {
            assert_eq!(text.parse::<TopicId>(), Err(InvalidTopicId(text.to_owned())));
        }
        assert_eq!(TopicId::new([0; 16]), None);
    }
}
