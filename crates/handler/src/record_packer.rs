//! Records that share memory.

use bytes::BytesMut;
use kafka_assigner_types::id::{Offset, TopicPartition};

use crate::headers::RecordHeader;
use crate::lent_parts::LentParts;
use crate::record::Record;

/// The memory that records share: small enough to stay in a processor's cache, and large against the records that are worth
/// it.
const CHUNK: usize = 16 * 1024;

/// A record with more bytes gets an allocation of its own: it is copied for longer than that takes.
const MOST_SHARED: usize = CHUNK / 8;

/// Packs records that a source lends, one after the other, with an allocation for each 16 KiB of small ones. Where they are
/// dropped in time, the same memory is used again and again.
///
/// A record, or a clone of it, keeps the memory that it shares; [`key_bytes`](Record::key_bytes) and
/// [`value_bytes`](Record::value_bytes) are copied out of it, so that what is kept for long keeps nothing else.
#[derive(Debug, Default)]
pub struct RecordPacker(BytesMut);

impl RecordPacker {
    /// A record whose parts are copied.
    ///
    /// # Panics
    ///
    /// The parts have 4 GiB or more together.
    #[must_use]
    pub fn pack<'a>(
        &mut self,
        at: TopicPartition,
        offset: Offset,
        key: Option<&'a [u8]>,
        value: Option<&'a [u8]>,
        headers: impl Iterator<Item = RecordHeader<'a>> + Clone,
    ) -> Record {
        let parts = LentParts { key, value, headers };
        let needed = parts.length();
        if needed > MOST_SHARED {
            return Record::packed(at, offset, key, value, parts.headers);
        }
        if self.0.capacity() - self.0.len() < needed {
            // Takes the same memory where no record uses it any more.
            self.0.reserve(CHUNK);
        }
        let copy = |parts: &LentParts<'a, _>| {
            parts.append_to(&mut self.0);
            self.0.split().freeze()
        };
        Record::of_parts(at, offset, &parts, copy).with_neighbours()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn packed(packer: &mut RecordPacker, value: &[u8]) -> Record {
        let at = TopicPartition::try_from(("t", 3)).unwrap();
        let headers = [RecordHeader { name: "h", value: Some(b"1") }];
        packer.pack(at, Offset::ZERO, Some(b"k"), Some(value), headers.iter().copied())
    }

    #[test]
    fn records_that_share_memory_are_what_was_lent() {
        let mut packer = RecordPacker::default();
        let values: Vec<_> = (0..3_000_usize).map(|number| vec![number as u8; number]).collect();
        let records: Vec<_> = values.iter().map(|value| packed(&mut packer, value)).collect();
        for (record, value) in records.iter().zip(&values) {
            assert_eq!((record.key(), record.value()), (Some(&b"k"[..]), Some(&value[..])));
            assert_eq!(record.header("h"), Some(&b"1"[..]));
        }
    }

    /// The number of places of some records that are dropped one after the other, while what `keep` makes of them is kept.
    fn places<K>(keep: impl Fn(&Record) -> K) -> usize {
        let (mut packer, mut kept) = (RecordPacker::default(), Vec::new());
        let mut place = || {
            let record = packed(&mut packer, &[7; 90]);
            kept.push(keep(&record));
            record.value().unwrap().as_ptr() as usize / CHUNK
        };
        (0..10_000).map(|_| place()).collect::<BTreeSet<_>>().len()
    }

    #[test]
    fn memory_of_records_that_are_dropped_is_used_again() {
        assert!(places(|_| ()) <= 2);
        assert!(places(Record::clone) > 50, "each clone keeps its record");
    }

    #[test]
    fn a_key_or_a_value_that_is_kept_keeps_no_other_record() {
        assert!(places(|record| (record.key_bytes(), record.value_bytes())) <= 2);
    }
}
