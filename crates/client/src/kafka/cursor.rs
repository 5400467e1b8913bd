//! The position of a reader in its partition: pure, so that every order of records and ends can be tested.

use kafka_assigner_types::id::Offset;
use rdkafka::message::Message as _;

use super::record::Record;

/// The next item of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ahead {
    /// A record with this offset.
    Record(Offset),
    /// Nothing just now: everything up to the end of the partition was read.
    End,
}

/// A record came from before what was read already: the log was cut or made anew, for example by an unclean election
/// or because the topic was created again. The state that was made of it is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the log was reset: it goes on before what was read already")]
pub(super) struct LogReset;

/// A position, with one record of looking ahead.
#[derive(Debug)]
pub(super) struct Cursor {
    next: Offset,
    held: Option<Record>,
    at_end: bool,
    is_reset: bool,
    /// The time at which the last record that came was written, in milliseconds since 1970.
    written_ms: Option<i64>,
}

impl Cursor {
    pub(super) const fn at(next: Offset) -> Self {
        Self { next, held: None, at_end: false, is_reset: false, written_ms: None }
    }

    /// The offset after the last record that was taken.
    pub(super) const fn next(&self) -> Offset {
        self.next
    }

    /// The time at which the last record that came was written, in milliseconds since 1970; `None` = not known.
    pub(super) const fn written_ms(&self) -> Option<i64> {
        self.written_ms
    }

    /// True if the next record has to be waited for.
    pub(super) const fn needs_more(&self) -> bool {
        self.held.is_none() && !self.is_reset
    }

    /// The next item, if it is known.
    ///
    /// # Errors
    ///
    /// [`LogReset`], from then on for ever.
    pub(super) fn ahead(&self) -> Result<Option<Ahead>, LogReset> {
        match &self.held {
            _ if self.is_reset => Err(LogReset),
            Some(record) => Ok(Some(Ahead::Record(offset_of(record)))),
            None => Ok(self.at_end.then_some(Ahead::End)),
        }
    }

    /// Takes the record that is ahead; `None` where there is none.
    pub(super) fn take(&mut self) -> Option<Record> {
        let record = self.held.take()?;
        self.next = offset_of(&record).next();
        Some(record)
    }

    /// Undoes [`take`](Self::take).
    pub(super) fn put_back(&mut self, record: Record) {
        self.next = offset_of(&record);
        self.held = Some(record);
    }

    pub(super) fn received(&mut self, record: Record) {
        if offset_of(&record) < self.next {
            self.is_reset = true;
            return;
        }
        self.at_end = false;
        self.written_ms = record.timestamp().to_millis();
        self.held = Some(record);
    }

    pub(super) const fn reached_end(&mut self) {
        self.at_end = true;
    }
}

/// The offset of a record.
///
/// # Panics
///
/// The offset is negative: no log has such a record, and librdkafka delivers records of logs.
pub(super) fn offset_of(record: &Record) -> Offset {
    Offset::new(record.offset()).expect("a record of a log has an offset from 0")
}

#[cfg(test)]
mod tests {
    use rdkafka::Timestamp;

    use super::*;

    fn at(offset: i64) -> Offset {
        Offset::new(offset).expect("not negative")
    }

    fn record(offset: i64) -> Record {
        Record::new(None, None, "t".into(), Timestamp::CreateTime(1_000 + offset), 0, offset, None)
    }

    #[test]
    fn the_end_is_known_until_a_record_comes() {
        let mut cursor = Cursor::at(at(5));
        assert_eq!(cursor.ahead(), Ok(None));
        cursor.reached_end();
        assert_eq!(cursor.ahead(), Ok(Some(Ahead::End)));
        cursor.received(record(5));
        assert_eq!(cursor.ahead(), Ok(Some(Ahead::Record(at(5)))));
        assert_eq!(cursor.written_ms(), Some(1_005));
        assert!(cursor.take().is_some());
        assert_eq!((cursor.ahead(), cursor.next()), (Ok(None), at(6)));
    }

    #[test]
    fn offsets_that_retention_or_compaction_removed_are_passed_over() {
        let mut cursor = Cursor::at(at(5));
        cursor.received(record(90));
        assert_eq!(cursor.ahead(), Ok(Some(Ahead::Record(at(90)))));
    }

    #[test]
    fn a_record_from_before_what_was_read_is_a_reset_for_ever() {
        let mut cursor = Cursor::at(at(5));
        cursor.received(record(4));
        assert_eq!(cursor.ahead(), Err(LogReset));
        cursor.reached_end();
        assert_eq!(cursor.ahead(), Err(LogReset));
        assert!(cursor.take().is_none(), "the record must not reach a handler");
    }

    #[test]
    fn a_record_that_was_put_back_is_ahead_again() {
        let mut cursor = Cursor::at(at(5));
        cursor.received(record(5));
        let taken = cursor.take().expect("it is ahead");
        cursor.put_back(taken);
        assert_eq!((cursor.ahead(), cursor.next()), (Ok(Some(Ahead::Record(at(5)))), at(5)));
    }
}
