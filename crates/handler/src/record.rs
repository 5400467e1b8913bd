//! The record.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use kafka_assigner_types::id::{Offset, TopicPartition};

use crate::headers::{OwnedHeader, RecordHeader, RecordHeaders, length};
use crate::lent_parts::LentParts;
use crate::lent_records::LentRecords;

/// A record of a partition, owned or [lent](Self::lent).
///
/// A source that has its parts as [`Bytes`] hands them over without a copy ([`new`](Self::new) and the methods after it);
/// one that has several records by itself lends them ([`lent`](Self::lent)), and others have them copied with one allocation
/// ([`packed`](Self::packed)). A clone of a lent record is a copy of it, which is owned; a clone of an owned one shares its bytes.
pub struct Record {
    offset: Offset,
    body: RecordBody,
}

#[derive(Clone)]
enum RecordBody {
    Owned(Arc<OwnedParts>),
    Lent(Arc<dyn LentRecords>, usize),
}

/// The parts of a record that is owned.
#[derive(Clone)]
struct OwnedParts {
    at: TopicPartition,
    time: RecordTime,
    /// The parts that were copied, one after the other.
    packed: Bytes,
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

impl OwnedParts {
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
            RecordPart::Packed(from, to) => Some(self.packed.slice(*from as usize..*to as usize)),
            RecordPart::Shared(bytes) => Some(bytes.clone()),
        }
    }
}

impl Record {
    /// A record without key, value, headers and time.
    #[must_use]
    pub fn new(at: TopicPartition, offset: Offset) -> Self {
        let (time, packed, headers) = (RecordTime::None, Bytes::new(), Headers::None);
        let (key, value) = (RecordPart::Null, RecordPart::Null);
        Self::owned(offset, OwnedParts { at, time, packed, key, value, headers })
    }

    /// The record at `place` of those that a source lends.
    #[must_use]
    #[inline]
    pub fn lent(records: Arc<dyn LentRecords>, place: usize, offset: Offset) -> Self {
        Self { offset, body: RecordBody::Lent(records, place) }
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
        let (of_key, before_headers) =
            (length(parts.key.map_or(0, <[u8]>::len)), length(parts.before_headers()));
        let packed = parts.copied();
        let has_headers = packed.len() > before_headers as usize;
        let owned = OwnedParts {
            at,
            time: RecordTime::None,
            key: parts.key.map_or(RecordPart::Null, |_| RecordPart::Packed(0, of_key)),
            value: parts.value.map_or(RecordPart::Null, |_| RecordPart::Packed(of_key, before_headers)),
            headers: if has_headers { Headers::Packed(before_headers) } else { Headers::None },
            packed,
        };
        Self::owned(offset, owned)
    }

    fn owned(offset: Offset, parts: OwnedParts) -> Self {
        Self { offset, body: RecordBody::Owned(Arc::new(parts)) }
    }

    /// With other parts. A record that is lent is copied before.
    fn with(self, change: impl FnOnce(&mut OwnedParts)) -> Self {
        match self.body {
            RecordBody::Owned(mut parts) => {
                change(Arc::make_mut(&mut parts));
                Self { body: RecordBody::Owned(parts), ..self }
            }
            RecordBody::Lent(..) => self.copied().with(change),
        }
    }

    /// An owned record with the same content.
    fn copied(&self) -> Self {
        let at = self.at().clone();
        Self::packed(at, self.offset, self.key(), self.value(), self.headers()).with_time(self.time())
    }

    /// With this key, without a copy of it.
    #[must_use]
    pub fn with_key(self, key: impl Into<Bytes>) -> Self {
        self.with(|parts| parts.key = RecordPart::Shared(key.into()))
    }

    /// With this value, without a copy of it.
    #[must_use]
    pub fn with_value(self, value: impl Into<Bytes>) -> Self {
        self.with(|parts| parts.value = RecordPart::Shared(value.into()))
    }

    /// With these headers in place of those that it had; the values are not copied. `None` = null.
    #[must_use]
    pub fn with_headers(self, headers: impl IntoIterator<Item = (Arc<str>, Option<Bytes>)>) -> Self {
        let headers = headers.into_iter().map(|(name, value)| OwnedHeader { name, value });
        self.with(|parts| parts.headers = Headers::Owned(headers.collect()))
    }

    /// With this time.
    #[must_use]
    pub fn with_time(self, time: RecordTime) -> Self {
        self.with(|parts| parts.time = time)
    }

    /// The partition.
    #[must_use]
    #[inline]
    pub fn at(&self) -> &TopicPartition {
        match &self.body {
            RecordBody::Owned(parts) => &parts.at,
            RecordBody::Lent(records, _) => records.at(),
        }
    }

    /// The place in the partition.
    #[must_use]
    #[inline]
    pub const fn offset(&self) -> Offset {
        self.offset
    }

    /// The time, as the topic keeps it.
    #[must_use]
    pub fn time(&self) -> RecordTime {
        match &self.body {
            RecordBody::Owned(parts) => parts.time,
            RecordBody::Lent(records, place) => records.time(*place),
        }
    }

    /// The key; `None` = null.
    #[must_use]
    #[inline]
    pub fn key(&self) -> Option<&[u8]> {
        match &self.body {
            RecordBody::Owned(parts) => parts.slice(&parts.key),
            RecordBody::Lent(records, place) => records.key(*place),
        }
    }

    /// The value; `None` = null, which deletes a key in a compacted topic.
    #[must_use]
    #[inline]
    pub fn value(&self) -> Option<&[u8]> {
        match &self.body {
            RecordBody::Owned(parts) => parts.slice(&parts.value),
            RecordBody::Lent(records, place) => records.value(*place),
        }
    }

    /// The key, to be kept. That of a record that is lent is copied; that of an owned one is not, and keeps the bytes of the
    /// whole record in memory.
    #[must_use]
    pub fn key_bytes(&self) -> Option<Bytes> {
        match &self.body {
            RecordBody::Owned(parts) => parts.shared(&parts.key),
            RecordBody::Lent(records, place) => records.key(*place).map(Bytes::copy_from_slice),
        }
    }

    /// The value, to be kept, as [`key_bytes`](Self::key_bytes).
    #[must_use]
    pub fn value_bytes(&self) -> Option<Bytes> {
        match &self.body {
            RecordBody::Owned(parts) => parts.shared(&parts.value),
            RecordBody::Lent(records, place) => records.value(*place).map(Bytes::copy_from_slice),
        }
    }

    /// The headers, in their order.
    #[must_use]
    pub fn headers(&self) -> RecordHeaders<'_> {
        let parts = match &self.body {
            RecordBody::Owned(parts) => parts,
            RecordBody::Lent(records, place) => return RecordHeaders::lent(&**records, *place),
        };
        match &parts.headers {
            Headers::None => RecordHeaders::packed(&[]),
            Headers::Packed(from) => RecordHeaders::packed(&parts.packed[*from as usize..]),
            Headers::Owned(headers) => RecordHeaders::owned(headers),
        }
    }

    /// The value of the last header with this name; `None` = there is none, or it is null.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers().filter(|header| header.name == name).last()?.value
    }
}

impl Clone for Record {
    fn clone(&self) -> Self {
        match &self.body {
            RecordBody::Owned(_) => Self { body: self.body.clone(), ..*self },
            RecordBody::Lent(..) => self.copied(),
        }
    }
}

/// Key and value may be secret, so only their lengths are shown.
impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("at", &format_args!("{}", self.at()))
            .field("offset", &self.offset.get())
            .field("time", &self.time())
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

    /// Lends one record.
    struct Lender(TopicPartition);

    impl LentRecords for Lender {
        fn at(&self) -> &TopicPartition {
            &self.0
        }

        fn time(&self, place: usize) -> RecordTime {
            if place == 7 { RecordTime::Created(5) } else { RecordTime::None }
        }

        fn key(&self, place: usize) -> Option<&[u8]> {
            (place == 7).then_some(b"k")
        }

        fn value(&self, place: usize) -> Option<&[u8]> {
            (place == 7).then_some(b"vv")
        }

        fn header(&self, place: usize, number: usize) -> Option<RecordHeader<'_>> {
            HEADERS.get(number).filter(|_| place == 7).copied()
        }
    }

    #[test]
    fn a_record_that_is_lent_has_what_its_source_has_and_so_has_a_clone_without_the_source() {
        let source = Arc::new(Lender(at()));
        let record = Record::lent(source.clone(), 7, Offset::ZERO);
        let (clone, value) = (record.clone(), record.value_bytes());
        for record in [&record, &clone] {
            assert_eq!(
                (record.at(), record.offset(), record.time().millis()),
                (&at(), Offset::ZERO, Some(5))
            );
            assert_eq!((record.key(), record.value()), (Some(&b"k"[..]), Some(&b"vv"[..])));
            assert_eq!(record.headers().collect::<Vec<_>>(), HEADERS);
        }
        drop(record);
        assert_eq!(Arc::strong_count(&source), 1, "who keeps a copy keeps nothing of the source");
        assert_eq!((clone.value(), value.as_deref()), (Some(&b"vv"[..]), Some(&b"vv"[..])));
    }

    #[test]
    fn a_change_of_one_record_leaves_its_clone_and_its_source_alone() {
        let lent = Record::lent(Arc::new(Lender(at())), 7, Offset::ZERO).with_value("other");
        assert_eq!((lent.key(), lent.value()), (Some(&b"k"[..]), Some(&b"other"[..])));
        let clone = lent.clone().with_key("l").with_headers([]);
        assert_eq!((lent.key(), lent.headers().count()), (Some(&b"k"[..]), HEADERS.len()));
        assert_eq!((clone.key(), clone.headers().count()), (Some(&b"l"[..]), 0));
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
