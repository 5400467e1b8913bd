//! The headers of a record.

use std::fmt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use crate::lent_records::LentRecords;

/// One header of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHeader<'a> {
    /// Its name, which may come several times in a record.
    pub name: &'a str,
    /// Its value; `None` = null, which Kafka tells from an empty one.
    pub value: Option<&'a [u8]>,
}

/// The headers of a record, in their order.
#[derive(Clone)]
pub struct RecordHeaders<'a>(HeaderSource<'a>);

#[derive(Clone)]
enum HeaderSource<'a> {
    Packed(&'a [u8]),
    Owned(std::slice::Iter<'a, OwnedHeader>),
    Lent { records: &'a dyn LentRecords, place: usize, next: usize },
}

/// A header whose value is shared with the source of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnedHeader {
    pub(crate) name: Arc<str>,
    pub(crate) value: Option<Bytes>,
}

/// The length of a value that is null.
const NULL: u32 = u32::MAX;

/// The number of bytes that [`pack`] needs.
pub(crate) fn packed_length<'a>(headers: impl Iterator<Item = RecordHeader<'a>>) -> usize {
    headers.map(|header| 8 + header.name.len() + header.value.map_or(0, <[u8]>::len)).sum()
}

/// Appends headers, each as the lengths of its parts and the parts.
pub(crate) fn pack<'a>(into: &mut BytesMut, headers: impl Iterator<Item = RecordHeader<'a>>) {
    for header in headers {
        into.extend_from_slice(&length(header.name.len()).to_ne_bytes());
        into.extend_from_slice(&header.value.map_or(NULL, |value| length(value.len())).to_ne_bytes());
        into.extend_from_slice(header.name.as_bytes());
        into.extend_from_slice(header.value.unwrap_or_default());
    }
}

/// A length within a record.
///
/// # Panics
///
/// It is 4 GiB or more; Kafka's records are shorter than 2 GiB.
pub(crate) fn length(of: usize) -> u32 {
    u32::try_from(of).ok().filter(|length| *length != NULL).expect("a record is shorter than 2 GiB")
}

impl<'a> RecordHeaders<'a> {
    pub(crate) const fn packed(bytes: &'a [u8]) -> Self {
        Self(HeaderSource::Packed(bytes))
    }

    pub(crate) fn owned(headers: &'a [OwnedHeader]) -> Self {
        Self(HeaderSource::Owned(headers.iter()))
    }

    pub(crate) const fn lent(records: &'a dyn LentRecords, place: usize) -> Self {
        Self(HeaderSource::Lent { records, place, next: 0 })
    }
}

/// Values may be secret, so only the names are shown.
impl fmt::Debug for RecordHeaders<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone().map(|header| header.name)).finish()
    }
}

impl<'a> Iterator for RecordHeaders<'a> {
    type Item = RecordHeader<'a>;

    fn next(&mut self) -> Option<RecordHeader<'a>> {
        match &mut self.0 {
            HeaderSource::Packed(rest) => unpack(rest),
            HeaderSource::Owned(headers) => headers
                .next()
                .map(|header| RecordHeader { name: &header.name, value: header.value.as_deref() }),
            HeaderSource::Lent { records, place, next } => {
                let header = records.header(*place, *next)?;
                *next += 1;
                Some(header)
            }
        }
    }
}

/// Takes the first header off; `None` = there is none left.
fn unpack<'a>(rest: &mut &'a [u8]) -> Option<RecordHeader<'a>> {
    let name = take_length(rest)?;
    let value = take_length(rest)?;
    let name = std::str::from_utf8(rest.split_off(..name as usize)?).ok()?;
    let value = if value == NULL { None } else { Some(rest.split_off(..value as usize)?) };
    Some(RecordHeader { name, value })
}

fn take_length(rest: &mut &[u8]) -> Option<u32> {
    rest.split_off(..4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes)
}
