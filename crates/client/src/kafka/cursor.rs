//! The position of a reader in its partition: pure, so that every order of records and ends can be tested.

use std::collections::VecDeque;

use kafka_assigner_handler::Record;
use kafka_assigner_types::id::Offset;
use rdkafka::types::RDKafkaErrorCode;

/// The next item of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ahead {
    /// A record with this offset.
    Record(Offset),
    /// Nothing just now: everything up to the end of the partition was read.
    End,
}

/// The reason for which nothing more can be read at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReadFailure {
    /// A record came from before what was read already: the log was cut or made anew, for example by an unclean election
    /// or because the topic was created again. The state that was made of it is of no use.
    #[error("the log was reset: it goes on before what was read already")]
    Reset,
    /// The log has nothing at the position: retention removed it, or the log was cut.
    #[error("the log has nothing at the position: it was removed, or the log was cut")]
    OutOfRange,
    /// A batch of the broker can't be read. Going on behind it would pass records over.
    #[error("the log is damaged, or compressed as this build can't read ({0})")]
    Damaged(RDKafkaErrorCode),
}

/// A position, with the records that came and were not taken.
#[derive(Debug)]
pub(super) struct Cursor {
    next: Offset,
    /// The offset after the last record that came.
    come: Offset,
    held: VecDeque<Record>,
    at_end: bool,
    failure: Option<ReadFailure>,
    /// The time at which the last record that was taken with none behind it was written, in milliseconds since 1970.
    written_ms: Option<i64>,
}

impl Cursor {
    pub(super) const fn at(next: Offset) -> Self {
        Self { next, come: next, held: VecDeque::new(), at_end: false, failure: None, written_ms: None }
    }

    /// The reason for which nothing behind [`next`](Self::next) comes; `None` while something that came before it is there.
    pub(super) fn failure(&self) -> Option<ReadFailure> {
        self.failure.filter(|_| self.held.is_empty())
    }

    /// The offset after the last record that was taken.
    #[inline]
    pub(super) const fn next(&self) -> Offset {
        self.next
    }

    /// The time at which the last record that came was written, in milliseconds since 1970; `None` = not known.
    pub(super) fn written_ms(&self) -> Option<i64> {
        self.held.back().map_or(self.written_ms, |last| last.time().millis())
    }

    /// True if the next record has to be waited for.
    #[inline]
    pub(super) fn needs_more(&self) -> bool {
        self.held.is_empty() && self.failure.is_none()
    }

    /// The next item, if it is known.
    ///
    /// # Errors
    ///
    /// [`ReadFailure`], from then on for ever. What came before it can be taken.
    #[inline]
    pub(super) fn ahead(&self) -> Result<Option<Ahead>, ReadFailure> {
        match (self.held.front(), self.failure) {
            (_, Some(ReadFailure::Reset)) => Err(ReadFailure::Reset),
            (Some(record), _) => Ok(Some(Ahead::Record(record.offset()))),
            (None, Some(failure)) => Err(failure),
            (None, None) => Ok(self.at_end.then_some(Ahead::End)),
        }
    }

    /// Takes the record that is ahead; `None` where there is none.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Record> {
        let record = self.held.pop_front()?;
        self.taken(&record);
        Some(record)
    }

    /// The same with as many as are there, up to `most`.
    pub(super) fn take_some(&mut self, most: usize, into: &mut Vec<Record>) {
        into.extend(self.held.drain(..most.min(self.held.len())));
        if let Some(last) = into.last() {
            self.taken(last);
        }
    }

    fn taken(&mut self, last: &Record) {
        self.next = last.offset().next();
        if self.held.is_empty() {
            self.written_ms = last.time().millis();
        }
    }

    /// Undoes the last [`take`](Self::take) that was not undone.
    pub(super) fn put_back(&mut self, record: Record) {
        self.next = record.offset();
        self.held.push_front(record);
    }

    /// Copies the records that were not taken yet, where they are lent: they may wait for long, and what they are lent of is a
    /// whole answer of a broker.
    pub(super) fn keep(&mut self) {
        // The clone of a record that is owned already copies nothing.
        self.held.iter_mut().for_each(|record| *record = record.clone());
    }

    /// Takes in a record that came. None counts behind a failure.
    #[inline]
    pub(super) fn received(&mut self, record: Record) {
        if self.failure.is_some() {
            return;
        }
        if record.offset() < self.come {
            self.fail(ReadFailure::Reset);
            self.held.clear();
            return;
        }
        self.at_end = false;
        self.come = record.offset().next();
        self.held.push_back(record);
    }

    pub(super) const fn reached_end(&mut self) {
        self.at_end = true;
    }

    /// Nothing more comes.
    pub(super) fn fail(&mut self, failure: ReadFailure) {
        self.failure.get_or_insert(failure);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kafka_assigner_handler::{LentRecords, RecordHeader, RecordTime, TopicPartition};

    use super::*;

    /// Lends records without anything in them.
    struct Lender(TopicPartition);

    impl LentRecords for Lender {
        fn at(&self) -> &TopicPartition {
            &self.0
        }

        fn time(&self, _: usize) -> RecordTime {
            RecordTime::None
        }

        fn key(&self, _: usize) -> Option<&[u8]> {
            None
        }

        fn value(&self, place: usize) -> Option<&[u8]> {
            (place == 1).then_some(b"v")
        }

        fn header(&self, _: usize, _: usize) -> Option<RecordHeader<'_>> {
            None
        }
    }

    #[test]
    fn records_that_are_to_wait_keep_nothing_of_a_brokers_answer() {
        let partition = TopicPartition::try_from(("t", 0)).expect("a valid name");
        let (answer, mut cursor) = (Arc::new(Lender(partition)), Cursor::at(at(5)));
        for (place, offset) in [(0, 5), (1, 6)] {
            cursor.received(Record::lent(answer.clone(), place, at(offset)));
        }
        assert_eq!(Arc::strong_count(&answer), 3);
        cursor.keep();
        assert_eq!(Arc::strong_count(&answer), 1);
        let kept = [cursor.take(), cursor.take()].map(|record| record.expect("it is kept"));
        assert_eq!(
            kept.map(|record| (record.offset(), record.value().map(<[u8]>::len))),
            [(at(5), None), (at(6), Some(1))]
        );
    }

    fn at(offset: i64) -> Offset {
        Offset::new(offset).expect("not negative")
    }

    fn record(offset: i64) -> Record {
        let partition = TopicPartition::try_from(("t", 0)).expect("a valid name");
        Record::new(partition, at(offset)).with_time(RecordTime::Created(1_000 + offset))
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
        assert_eq!(cursor.written_ms(), Some(1_005), "also once it was taken");
    }

    #[test]
    fn some_records_are_taken_in_their_order_and_no_more_than_are_wanted() {
        let (mut cursor, mut taken) = (Cursor::at(at(5)), Vec::new());
        [5, 6, 9].into_iter().for_each(|offset| cursor.received(record(offset)));
        cursor.take_some(2, &mut taken);
        assert_eq!((taken.len(), cursor.next(), cursor.written_ms()), (2, at(7), Some(1_009)));
        cursor.take_some(2, &mut taken);
        let offsets: Vec<_> = taken.iter().map(Record::offset).collect();
        assert_eq!((offsets, cursor.next()), (vec![at(5), at(6), at(9)], at(10)));
        cursor.take_some(2, &mut taken);
        assert_eq!((taken.len(), cursor.next(), cursor.written_ms()), (3, at(10), Some(1_009)));
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
        assert_eq!(cursor.ahead(), Err(ReadFailure::Reset));
        cursor.reached_end();
        cursor.received(record(5));
        assert_eq!(cursor.ahead(), Err(ReadFailure::Reset));
        assert!(cursor.take().is_none(), "the record must not reach a handler");
    }

    #[test]
    fn what_came_before_a_damage_is_taken_and_nothing_after_it() {
        let (mut cursor, damaged) =
            (Cursor::at(at(5)), ReadFailure::Damaged(RDKafkaErrorCode::BadCompression));
        cursor.received(record(5));
        cursor.fail(damaged);
        cursor.fail(ReadFailure::OutOfRange);
        assert_eq!((cursor.ahead(), cursor.failure()), (Ok(Some(Ahead::Record(at(5)))), None));
        assert!(cursor.take().is_some() && !cursor.needs_more());
        assert_eq!((cursor.ahead(), cursor.failure()), (Err(damaged), Some(damaged)));
    }

    #[test]
    fn a_record_that_was_put_back_is_ahead_again() {
        let mut cursor = Cursor::at(at(5));
        cursor.received(record(5));
        let taken = cursor.take().expect("it is ahead");
        cursor.put_back(taken);
        assert_eq!((cursor.ahead(), cursor.next()), (Ok(Some(Ahead::Record(at(5)))), at(5)));
    }

    #[test]
    fn records_that_were_put_back_come_in_their_order() {
        let mut cursor = Cursor::at(at(5));
        let taken = [5, 6, 9].map(|offset| {
            cursor.received(record(offset));
            cursor.take().expect("it is ahead")
        });
        taken.into_iter().rev().take(2).for_each(|record| cursor.put_back(record));
        assert_eq!(cursor.next(), at(6));
        assert_eq!(
            [cursor.take(), cursor.take(), cursor.take()].map(|taken| taken.map(|record| record.offset())),
            [Some(at(6)), Some(at(9)), None]
        );
        cursor.received(record(10));
        assert_eq!(cursor.ahead(), Ok(Some(Ahead::Record(at(10)))));
    }
}
