//! Answers to fetches, and how much of them is decoded.

use bytes::Bytes;
use kafka_assigner_kafka::records::{BatchDraft, Compression, DraftRecord};
use kafka_assigner_kafka::wire::{RecordBytes, Uuid};

use super::*;

const ID: Uuid = Uuid([7; 16]);

/// A gzipped batch of one record of `length` zeros.
fn batch(offset: i64, length: usize) -> Vec<u8> {
    let record = DraftRecord { value: Some(Bytes::from(vec![0; length])), ..DraftRecord::default() };
    let draft = BatchDraft { compression: Compression::Gzip, ..BatchDraft::new(offset, vec![record]) };
    draft.write().to_vec()
}

fn wanted(numbers: &[u32]) -> WantedPartitions {
    let one = |number: &u32| {
        let partition = TopicPartition::try_from(("t", *number)).unwrap();
        let target = FetchTarget { topic: "t".to_owned(), topic_id: ID, partition: partition.kafka_number() };
        let place = FetchPlace { offset: 0, leader_epoch: 0, most_bytes: 1 << 20 };
        (partition, (target, place, ReadPosition { offset: Offset::ZERO, version: 1 }))
    };
    numbers.iter().map(one).collect()
}

/// An answer with three batches of a megabyte in each partition.
fn answer(numbers: &[i32], name: &str) -> FetchResponse {
    let records = [0, 1, 2].map(|offset| batch(offset, 1 << 20)).concat();
    let partition = |number: &i32| FetchedPartition {
        partition_index: *number,
        records: Some(RecordBytes(records.clone().into())),
        ..FetchedPartition::default()
    };
    let topic = FetchedTopic {
        topic: name.to_owned(),
        topic_id: if name.is_empty() { ID } else { Uuid::ZERO },
        partitions: numbers.iter().map(partition).collect(),
    };
    FetchResponse { responses: vec![topic], ..FetchResponse::default() }
}

/// By partition the offset at which reading goes on.
fn decoded(limits: DecodingLimits, answer: &FetchResponse) -> Vec<(u32, i64)> {
    let parts = parts(answer, &wanted(&[0, 1]), Isolation::Uncommitted, limits);
    parts.iter().map(|part| (part.partition.partition, part.next.map_or(-1, Offset::get))).collect()
}

#[test]
fn no_more_is_inflated_than_there_is_room_for_and_one_batch_always() {
    let answer = answer(&[0, 1, 9], "");
    let limits = |partition_bytes, all_bytes| DecodingLimits { partition_bytes, all_bytes };
    assert_eq!(decoded(limits(100 << 20, 100 << 20), &answer), [(0, 3), (1, 3)]);
    assert_eq!(decoded(limits(2 << 20, 100 << 20), &answer), [(0, 2), (1, 2)]);
    assert_eq!(decoded(limits(1, 100 << 20), &answer), [(0, 1), (1, 1)]);
    assert_eq!(decoded(limits(2 << 20, 1 << 20), &answer), [(0, 2)], "the other one is fetched again");
    assert_eq!(decoded(limits(1, 0), &answer), []);
}

#[test]
fn topics_are_known_by_their_names_where_an_answer_has_them() {
    let limits = DecodingLimits { partition_bytes: 1, all_bytes: usize::MAX };
    assert_eq!(decoded(limits, &answer(&[1], "t")), [(1, 1)]);
    assert_eq!(decoded(limits, &answer(&[1], "u")), []);
}
