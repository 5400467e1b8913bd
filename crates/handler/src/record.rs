//! The record.

use std::fmt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use kafka_assigner_types::id::{Offset, TopicPartition};

use crate::headers::{OwnedHeader, RecordHeader, RecordHeaders, length};
use crate::lent_parts::LentParts;

/// A record of a partition: owned, and cheap to clone, since clones share its bytes.
///
/// A source that has its parts as [`Bytes`] hands them over without a copy ([`new`](Self::new) and the methods after it);
/// one that lends them has them copied with one allocation ([`packed`](Self::packed)), or with one for many records
/// ([`RecordPacker`](crate::RecordPacker)). The topic's name is never copied.
#[derive(Clone)]
pub struct Record {
    at: TopicPartition,
    offset: Offset,
    time: RecordTime,
    /// The parts that were copied, one after the other.
    packed: Bytes,
    /// True if they lie in the memory of other records too.
    has_neighbours: bool,
    key: RecordPart,
    value: RecordPart,
    headers: Headers,
}

/// The time of a record, in milliseconds since 1970, and whose clock it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecordTime {
    /// There is none.
    #[default]
    None,
    /// The producer named it.
    Created(i64),
    /// The broker wrote it down when it appended the record.
    Appended(i64),
}

impl RecordTime {
    /// The milliseconds since 1970; `None` = there is none.
    #[must_use]
    pub const fn millis(self) -> Option<i64> {
        match self {
            Self::None => None,
            Self::Created(millis) | Self::Appended(millis) => Some(millis),
        }
    }
}

#[derive(Debug, Clone, Default)]
enum RecordPart {
    /// Null.
    #[default]
    Null,
    /// Within what was packed, from one place to another.
    Packed(u32, u32),
    /// By itself.
    Shared(Bytes),
}

#[derive(Debug, Clone, Default)]
enum Headers {
    #[default]
    None,
    /// In what was packed, from this place on.
    Packed(u32),
    Owned(Arc<[OwnedHeader]>),
}

impl Record {
    /// A record without key, value, headers and time.
    #[must_use]
    pub fn new(at: TopicPartition, offset: Offset) -> Self {
        let (time, packed) = (RecordTime::None, Bytes::new());
        Self {
            at,
            offset,
            time,
            packed,
            has_neighbours: false,
            key: RecordPart::Null,
            value: RecordPart::Null,
            headers: Headers::None,
        }
    }

    /// A record whose parts are copied, with one allocation for all of them.
    ///
    /// # Panics
    ///
    /// The parts have 4 GiB or more together.
    #[must_use]
    pub fn packed<'a>(
        at: TopicPartition,
        offset: Offset,
        key: Option<&'a [u8]>,
        value: Option<&'a [u8]>,
        headers: impl Iterator<Item = RecordHeader<'a>> + Clone,
    ) -> Self {
        let parts = LentParts { key, value, headers };
        let mut bytes = BytesMut::with_capacity(parts.length());
        Self::of_parts(at, offset, &parts, |parts| {
            parts.append_to(&mut bytes);
            bytes.freeze()
        })
    }

    /// The record whose parts `copy` copies, one after the other.
    pub(crate) fn of_parts<'a, H: Iterator<Item = RecordHeader<'a>> + Clone>(
        at: TopicPartition,
        offset: Offset,
        parts: &LentParts<'a, H>,
        copy: impl FnOnce(&LentParts<'a, H>) -> Bytes,
    ) -> Self {
        let of_key = length(parts.key.map_or(0, <[u8]>::len));
        let before_headers = length(parts.before_headers());
        let packed = copy(parts);
        let has_headers = packed.len() > before_headers as usize;
        Self {
            key: parts.key.map_or(RecordPart::Null, |_| RecordPart::Packed(0, of_key)),
            value: parts.value.map_or(RecordPart::Null, |_| RecordPart::Packed(of_key, before_headers)),
            headers: if has_headers { Headers::Packed(before_headers) } else { Headers::None },
            packed,
            ..Self::new(at, offset)
        }
    }

    /// With the word that its parts lie in the memory of other records too.
    pub(crate) fn with_neighbours(self) -> Self {
        Self { has_neighbours: true, ..self }
    }

    /// With this key, without a copy.
    #[must_use]
    pub fn with_key(self, key: impl Into<Bytes>) -> Self {
        Self { key: RecordPart::Shared(key.into()), ..self }
    }

    /// With this value, without a copy.
    #[must_use]
    pub fn with_value(self, value: impl Into<Bytes>) -> Self {
        Self { value: RecordPart::Shared(value.into()), ..self }
    }

    /// With these headers in place of those that it had; the values are not copied. `None` = null.
    #[must_use]
    pub fn with_headers(self, headers: impl IntoIterator<Item = (Arc<str>, Option<Bytes>)>) -> Self {
        let headers = headers.into_iter().map(|(name, value)| OwnedHeader { name, value });
        Self { headers: Headers::Owned(headers.collect()), ..self }
    }

    /// With this time.
    #[must_use]
    pub fn with_time(self, time: RecordTime) -> Self {
        Self { time, ..self }
    }

    /// The partition.
    #[must_use]
    pub const fn at(&self) -> &TopicPartition {
        &self.at
    }

    /// The place in the partition.
    #[must_use]
    pub const fn offset(&self) -> Offset {
        self.offset
    }

    /// The time, as the topic keeps it.
    #[must_use]
    pub const fn time(&self) -> RecordTime {
        self.time
    }

    /// The key; `None` = null.
    #[must_use]
    pub fn key(&self) -> Option<&[u8]> {
        self.slice(&self.key)
    }

    /// The value; `None` = null, which deletes a key in a compacted topic.
    #[must_use]
    pub fn value(&self) -> Option<&[u8]> {
        self.slice(&self.value)
    }

    /// The key, to be kept. It is not copied, and then keeps the whole record in memory, unless that lies in the memory of
    /// other records too.
    #[must_use]
    pub fn key_bytes(&self) -> Option<Bytes> {
        self.shared(&self.key)
    }

    /// The value, to be kept, as [`key_bytes`](Self::key_bytes).
    #[must_use]
    pub fn value_bytes(&self) -> Option<Bytes> {
        self.shared(&self.value)
    }

    /// The headers, in their order.
    #[must_use]
    pub fn headers(&self) -> RecordHeaders<'_> {
        match &self.headers {
            Headers::None => RecordHeaders::packed(&[]),
            Headers::Packed(from) => RecordHeaders::packed(&self.packed[*from as usize..]),
            Headers::Owned(headers) => RecordHeaders::owned(headers),
        }
    }

    /// The value of the last header with this name; `None` = there is none, or it is null.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers().filter(|header| header.name == name).last()?.value
    }

    fn slice<'a>(&'a self, part: &'a RecordPart) -> Option<&'a [u8]> {
        match part {
            RecordPart::Null => None,
            RecordPart::Packed(from, to) => Some(&self.packed[*from as usize..*to as usize]),
            RecordPart::Shared(bytes) => Some(bytes),
        }
    }

    fn shared(&self, part: &RecordPart) -> Option<Bytes> {
        match part {
            RecordPart::Null => None,
            // Whoever keeps it for long must not keep the neighbours.
            RecordPart::Packed(..) if self.has_neighbours => self.slice(part).map(Bytes::copy_from_slice),
            RecordPart::Packed(from, to) => Some(self.packed.slice(*from as usize..*to as usize)),
            RecordPart::Shared(bytes) => Some(bytes.clone()),
        }
    }
}

/// Key and value may be secret, so only their lengths are shown.
impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("at", &format_args!("{}", self.at))
            .field("offset", &self.offset.get())
            .field("time", &self.time)
            .field("key_bytes", &self.key().map(<[u8]>::len))
            .field("value_bytes", &self.value().map(<[u8]>::len))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> TopicPartition {
        TopicPartition::try_from(("t", 3)).unwrap()
    }

    const HEADERS: [RecordHeader<'static>; 4] = [
        RecordHeader { name: "trace", value: Some(b"1") },
        RecordHeader { name: "", value: Some(b"") },
        RecordHeader { name: "null", value: None },
        RecordHeader { name: "trace", value: Some(b"22") },
    ];

    #[test]
    fn what_was_packed_is_what_was_given() {
        for (key, value) in
            [(None, None), (Some(&b"k"[..]), None), (None, Some(&b""[..])), (Some(b""), Some(b"vv"))]
        {
            for headers in [&HEADERS[..], &[]] {
                let record = Record::packed(at(), Offset::ZERO, key, value, headers.iter().copied());
                assert_eq!((record.key(), record.value()), (key, value));
                assert_eq!(record.headers().collect::<Vec<_>>(), headers);
                assert_eq!(record.clone().key_bytes().as_deref(), key);
                assert_eq!(record.value_bytes().as_deref(), value);
            }
        }
    }

    #[test]
    fn the_last_header_of_a_name_counts() {
        let record = Record::packed(at(), Offset::ZERO, None, None, HEADERS.iter().copied());
        assert_eq!(record.header("trace"), Some(&b"22"[..]));
        assert_eq!((record.header("null"), record.header("other")), (None, None));
    }

    #[test]
    fn parts_that_a_source_shares_are_not_copied() {
        let value = Bytes::from(vec![7; 100]);
        let headers = [("h".into(), Some(value.slice(..1)))];
        let record = Record::new(at(), Offset::ZERO).with_value(value.clone()).with_headers(headers);
        assert_eq!(record.value_bytes().map(|bytes| bytes.as_ptr()), Some(value.as_ptr()));
        assert_eq!(record.header("h").map(<[u8]>::as_ptr), Some(value.as_ptr()));
    }

    #[test]
    fn a_record_shows_no_payload() {
        let record = Record::new(at(), Offset::ZERO).with_value("secret").with_time(RecordTime::Created(5));
        let shown = format!("{record:?}");
        assert!(
            shown.contains("t/3") && shown.contains("value_bytes: Some(6)") && !shown.contains("secret"),
            "{shown}"
        );
    }
}
