//! Batches are read as they were written, and nothing else is.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::messages::{AbortedTransaction, FetchedPartition};
use crate::wire::{CodecError, RecordBytes};

const CODECS: [Compression; 5] =
    [Compression::Plain, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

fn values(values: &[&str]) -> Vec<DraftRecord> {
    values.iter().map(|value| DraftRecord::of_value(value.as_bytes().to_vec())).collect()
}

fn read(bytes: &Bytes) -> Result<Vec<KafkaRecord>, BatchError> {
    let mut records = Vec::new();
    for batch in RecordBatches::new(bytes.clone()) {
        let batch = BatchDecoder::default().decode(batch?)?;
        for record in batch.records() {
            records.push(record?);
        }
    }
    Ok(records)
}

fn expected(draft: &BatchDraft) -> Vec<KafkaRecord> {
    let header =
        |(name, value): &(String, Option<Bytes>)| RecordHeader { name: name.clone(), value: value.clone() };
    let record = |(offset, record): (i64, &DraftRecord)| KafkaRecord {
        offset,
        timestamp: draft.timestamp,
        key: record.key.clone(),
        value: record.value.clone(),
        headers: record.headers.iter().map(header).collect(),
    };
    (draft.base_offset..).zip(&draft.records).map(record).collect()
}

fn some_bytes() -> impl Strategy<Value = Option<Bytes>> {
    proptest::option::of(proptest::collection::vec(any::<u8>(), 0..200).prop_map(Bytes::from))
}

fn drafts() -> impl Strategy<Value = BatchDraft> {
    let headers = proptest::collection::vec(("[a-z]{0,5}", some_bytes()), 0..3);
    let record = (some_bytes(), some_bytes(), headers).prop_map(|(key, value, headers)| DraftRecord {
        key,
        value,
        headers,
    });
    let framing = prop_oneof![Just(SnappyFraming::Raw), Just(SnappyFraming::Xerial)];
    (proptest::collection::vec(record, 1..20), 0..1_i64 << 60, 0..5_usize, framing, any::<i64>()).prop_map(
        |(records, offset, codec, framing, timestamp)| BatchDraft {
            compression: CODECS[codec],
            framing,
            timestamp,
            ..BatchDraft::new(offset, records)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn written_batches_are_read_again(drafts in proptest::collection::vec(drafts(), 1..4)) {
        let bytes: Vec<u8> = drafts.iter().flat_map(BatchDraft::write).collect();
        let records = read(&bytes.into());
        prop_assert_eq!(records, Ok(drafts.iter().flat_map(expected).collect()));
    }

    #[test]
    fn a_byte_that_was_changed_is_found_out(draft in drafts(), at in any::<u64>(), to in any::<u8>()) {
        let mut bytes = draft.write().to_vec();
        // The checksum counts all but what brokers change: offset, length, epoch.
        let at = 16 + at as usize % (bytes.len() - 16);
        prop_assume!(bytes[at] != to);
        bytes[at] = to;
        prop_assert!(read(&bytes.into()).is_err());
    }

    #[test]
    fn a_batch_that_is_cut_off_ends_the_list(draft in drafts(), end in any::<u64>()) {
        let (first, second) = (draft.write(), draft.write());
        let end = end as usize % second.len();
        let both = Bytes::from([&first[..], &second[..end]].concat());
        prop_assert_eq!(read(&both), Ok(expected(&draft)));
        let alone = read(&second.slice(..end));
        prop_assert_eq!(alone, if end == 0 { Ok(Vec::new()) } else { Err(BatchError::Cut) });
    }

    #[test]
    fn any_body_is_endured(
        body in proptest::collection::vec(any::<u8>(), 0..300), codec in 0..5_usize, records in any::<i32>(), last in any::<i32>(),
    ) {
        let draft = BatchDraft { compression: CODECS[codec], ..BatchDraft::new(0, Vec::new()) };
        let _either = read(&draft.write_with(&body, last, records));
    }
}

#[test]
fn a_record_of_a_plain_batch_is_a_slice_of_the_answer() {
    let bytes = BatchDraft::new(7, values(&["a value that is longer than nothing"])).write();
    let value = read(&bytes).unwrap().remove(0).value.unwrap();
    let within = bytes.as_ptr_range();
    assert!(within.contains(&value.as_ptr()), "it was copied");
}

#[test]
fn large_batches_of_every_codec_are_read() {
    // Sixteen times what is stored at once.
    let value = Bytes::from(vec![b'x'; 1024 * 1024]);
    for compression in CODECS {
        let records = vec![DraftRecord::of_value(value.clone()); 16];
        let draft = BatchDraft { compression, framing: SnappyFraming::Xerial, ..BatchDraft::new(0, records) };
        let limits = BatchLimits { ratio: 100_000, ..BatchLimits::default() };
        let batch = RecordBatches::new(draft.write()).next().unwrap().unwrap();
        let batch = BatchDecoder::new(limits).decode(batch).unwrap();
        assert_eq!(
            batch.records().map(|record| record.unwrap().value.unwrap().len()).sum::<usize>(),
            16 << 20
        );
    }
}

#[test]
fn more_than_the_limits_is_refused() {
    for compression in &CODECS[1..] {
        let draft = BatchDraft { compression: *compression, ..BatchDraft::new(0, values(&["x"; 200])) };
        let batch = RecordBatches::new(draft.write()).next().unwrap().unwrap();
        let limits = BatchLimits { most: 1000, ratio: 1000 };
        let refused = BatchDecoder::new(limits).decode(batch).unwrap_err();
        assert_eq!(refused, BatchError::TooLarge { most: 1000 }, "{compression:?}");
    }
}

#[test]
fn impossible_batches_are_refused() {
    let draft = BatchDraft::new(0, values(&["a", "b"]));
    let of = |last, records| read(&draft.write_with(&draft.body(), last, records)).unwrap_err();
    assert_eq!(of(1, i32::MAX), BatchError::Count { records: i32::MAX, bytes: draft.body().len() });
    assert_eq!(of(1, -1), BatchError::Count { records: -1, bytes: draft.body().len() });
    assert_eq!(of(0, 2), BatchError::Offset { delta: 1, last: 0 });
    assert_eq!(of(-1, 2), BatchError::Offset { delta: 0, last: -1 });
    assert_eq!(of(1, 1), BatchError::Record(CodecError::Rest(draft.body().len() / 2)));
    let near_the_end = BatchDraft { base_offset: i64::MAX, ..draft };
    assert_eq!(read(&near_the_end.write()), Err(BatchError::Offset { delta: 0, last: 1 }));
}

#[test]
fn other_formats_and_lengths_are_named() {
    let bytes = BatchDraft::new(0, values(&["a"])).write().to_vec();
    let changed = |at: usize, to: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + to.len()].copy_from_slice(to);
        read(&bytes.into()).unwrap_err()
    };
    assert_eq!(changed(16, &[1]), BatchError::Format(1));
    assert_eq!(changed(8, &[0xff; 4]), BatchError::Length(-1));
    assert_eq!(changed(8, &[0, 0, 0, 48]), BatchError::Length(48));
    assert_eq!(changed(20, &[0xee]), BatchError::Checksum { offset: 0 });
}

#[test]
fn numbers_of_variable_length_end_in_time() {
    let read = |bytes: &'static [u8]| crate::wire::WireReader::new(&Bytes::from_static(bytes)).varlong();
    assert_eq!(read(&[0]), Ok(0));
    assert_eq!(read(&[1]), Ok(-1));
    assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]), Ok(i64::MIN));
    assert_eq!(read(&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]), Ok(i64::MAX));
    assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]), Err(CodecError::Varint));
    assert_eq!(read(&[0x80]), Err(CodecError::TooShort));
}

/// A batch of a transaction of `producer`, with one record.
fn of_transaction(offset: i64, producer: i64, value: &str) -> BatchDraft {
    let producer = Some(BatchProducer { id: producer, epoch: 0, base_sequence: 0 });
    BatchDraft { producer, is_transactional: true, ..BatchDraft::new(offset, values(&[value])) }
}

fn visible(drafts: &[BatchDraft], aborted: &[(i64, i64)], isolation: Isolation) -> (Vec<String>, i64) {
    let bytes: Vec<u8> = drafts.iter().flat_map(BatchDraft::write).collect();
    let aborted = aborted.iter().map(|(producer_id, first_offset)| AbortedTransaction {
        producer_id: *producer_id,
        first_offset: *first_offset,
    });
    let partition = FetchedPartition {
        records: Some(RecordBytes(bytes.into())),
        aborted_transactions: Some(aborted.collect()),
        ..FetchedPartition::default()
    };
    let (mut seen, mut next) = (Vec::new(), 0);
    for batch in VisibleBatches::new(&partition, isolation, BatchDecoder::default()) {
        let batch = batch.unwrap();
        next = batch.header.next_offset();
        let text = |record: KafkaRecord| String::from_utf8(record.value.unwrap().to_vec()).unwrap();
        seen.extend(batch.records().map(|record| text(record.unwrap())));
    }
    (seen, next)
}

#[test]
fn records_of_aborted_transactions_are_hidden() {
    let log = [
        of_transaction(0, 1, "aborted"),
        of_transaction(1, 2, "committed"),
        BatchDraft::new(2, values(&["of nobody"])),
        BatchDraft::end_of_transaction(3, 1, false),
        of_transaction(4, 1, "later"),
        BatchDraft::end_of_transaction(5, 2, true),
        BatchDraft::end_of_transaction(6, 1, true),
    ];
    let (seen, next) = visible(&log, &[(1, 0)], Isolation::Committed);
    assert_eq!(
        (seen.as_slice(), next),
        (["committed", "of nobody", "later"].map(String::from).as_slice(), 7)
    );
    let (seen, next) = visible(&log, &[(1, 0)], Isolation::Uncommitted);
    assert_eq!((seen.len(), next), (4, 7), "the words on transactions are never read");
}

#[test]
fn a_transaction_that_is_aborted_later_hides_nothing_before() {
    let log = [
        of_transaction(10, 1, "committed"),
        BatchDraft::end_of_transaction(11, 1, true),
        of_transaction(12, 1, "aborted"),
        BatchDraft::end_of_transaction(13, 1, false),
    ];
    let (seen, next) = visible(&log, &[(1, 12)], Isolation::Committed);
    assert_eq!((seen, next), (vec!["committed".to_owned()], 14));
    // Two aborted ones of the same producer, told in any order.
    let log = [
        of_transaction(0, 1, "first"),
        BatchDraft::end_of_transaction(1, 1, false),
        of_transaction(2, 1, "second"),
        BatchDraft::end_of_transaction(3, 1, false),
        of_transaction(4, 1, "third"),
    ];
    assert_eq!(visible(&log, &[(1, 2), (1, 0)], Isolation::Committed).0, ["third"]);
}
