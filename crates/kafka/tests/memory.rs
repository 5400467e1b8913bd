//! Hostile bytes cost an error, at once, and next to no memory.

use std::alloc::System;
use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use cap::Cap;
use flate2::Compression;
use flate2::write::GzEncoder;
use kafka_assigner_kafka::messages::{
    DescribeGroupsRequest, FetchRequest, JoinGroupRequest, MetadataRequest, OffsetFetchRequest,
    StreamsGroupDescribeRequest,
};
use kafka_assigner_kafka::records::{BatchDecoder, BatchError, RecordBatches};
use kafka_assigner_kafka::wire::{ApiRequest, read_answer};

/// Counts what is allocated, and refuses what no test here may need.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, 1 << 30);

/// One test at a time: the allocator counts for all.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    // A test that failed has nothing that others could find half done.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const MOST_BYTES: usize = 10_000_000;
const MOST_TIME: Duration = Duration::from_secs(1);

/// Runs `read` and returns its answer, which must have cost little. Other threads of the test harness count as well,
/// with some kilobytes.
fn cheap<T>(read: impl FnOnce() -> T) -> T {
    let (before, since) = (ALLOCATOR.total_allocated(), Instant::now());
    let answer = read();
    let (taken, time) = (ALLOCATOR.total_allocated() - before, since.elapsed());
    assert!(taken < MOST_BYTES, "it allocated {taken} bytes");
    assert!(time < MOST_TIME, "it took {time:?}");
    answer
}

/// A batch at offset 0, compressed by codec `codec`, whose checksum is right.
fn batch(codec: u8, records: i32, body: &[u8]) -> Bytes {
    let last = 0_i32.to_be_bytes();
    let times = [0; 16];
    let no_producer = [0xff; 14];
    let checked = [&[0, codec][..], &last, &times, &no_producer, &records.to_be_bytes(), body].concat();
    let length = (checked.len() as i32 + 9).to_be_bytes();
    let checksum = crc32c::crc32c(&checked).to_be_bytes();
    Bytes::from([&[0; 8][..], &length, &[0, 0, 0, 0, 2], &checksum, &checked].concat())
}

fn refusal(bytes: &Bytes) -> BatchError {
    let read = || {
        let raw = RecordBatches::new(bytes.clone()).next().expect("there is a batch")?;
        let batch = BatchDecoder::default().decode(raw)?;
        batch.records().find_map(Result::err).map_or(Ok(()), Err)
    };
    cheap(read).expect_err("it is refused")
}

fn gzip_of_zeros(length: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..length / 1_000_000 {
        encoder.write_all(&[0; 1_000_000]).expect("memory takes all");
    }
    encoder.finish().expect("memory takes all")
}

#[test]
fn a_batch_that_says_it_has_two_thousand_million_records() {
    let _alone = alone();
    let refused = refusal(&batch(0, i32::MAX, &[0; 4]));
    assert_eq!(refused, BatchError::Count { records: i32::MAX, bytes: 4 });
}

#[test]
fn a_record_that_says_it_has_two_thousand_million_headers() {
    let _alone = alone();
    // Length, attributes, time, offset, no key, no value, headers.
    let body = [20, 0, 0, 0, 1, 1, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0];
    assert!(matches!(refusal(&batch(0, 1, &body)), BatchError::Record(_)));
}

#[test]
fn sixty_eight_bytes_of_snappy_that_announce_four_gigabytes() {
    let _alone = alone();
    let announced = [0xff, 0xff, 0xff, 0xff, 0x0f];
    let bytes = batch(2, 1, &[&announced[..], &[0, 0]].concat());
    assert_eq!(bytes.len(), 68);
    assert!(matches!(refusal(&bytes), BatchError::Inflate(_)));
    // The same in the frames of Kafka's Java client, a thousand times.
    let block = [&7_i32.to_be_bytes()[..], &announced, &[0, 0]].concat();
    let framed = [&b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01"[..], &block.repeat(1000)].concat();
    assert!(matches!(refusal(&batch(2, 1, &framed)), BatchError::Inflate(_)));
}

#[test]
fn a_gzip_bomb() {
    let _alone = alone();
    let large = batch(1, 1, &gzip_of_zeros(1_000_000_000));
    assert!(large.len() < 1_100_000, "{}", large.len());
    assert_eq!(refusal(&large), BatchError::TooLarge { most: 64 * 1024 * 1024 });
}

#[test]
fn a_zstd_bomb() {
    let _alone = alone();
    // A frame with a window of 8 MiB is the largest; this one says 1 GiB.
    let window = [&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa0][..], &[0; 20]].concat();
    assert!(matches!(refusal(&batch(4, 1, &window)), BatchError::Inflate(_)));
    // A window of 1 MiB, and block after block that repeats one byte 128 Ki times.
    let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50];
    bomb.extend([0x02, 0x00, 0x10, b'x'].repeat(10_000));
    assert!(matches!(refusal(&batch(4, 1, &bomb)), BatchError::TooLarge { .. }));
}

/// An answer of an API in a version, cut after `body`, with a length of 2³¹ − 1 behind it and some bytes more.
fn announces<R: ApiRequest>(version: i16, flexible: bool, body: &[u8]) {
    let length = if flexible { &[0xff, 0xff, 0xff, 0xff, 0x07][..] } else { &[0x7f, 0xff, 0xff, 0xff][..] };
    let header = if flexible { &[0, 0, 0, 5, 0][..] } else { &[0, 0, 0, 5][..] };
    let frame = Bytes::from([header, body, length, &[0; 200]].concat());
    assert!(cheap(|| read_answer::<R>(&frame, version, 5)).is_err(), "{} {version}", R::NAME);
}

#[test]
fn a_frame_with_a_list_of_two_thousand_million() {
    let _alone = alone();
    announces::<MetadataRequest>(9, true, &[0; 4]);
    announces::<FetchRequest>(4, false, &[0; 4]);
    announces::<FetchRequest>(12, true, &[0; 10]);
    announces::<OffsetFetchRequest>(8, true, &[0; 4]);
    announces::<DescribeGroupsRequest>(4, false, &[0; 4]);
    announces::<StreamsGroupDescribeRequest>(1, true, &[0; 4]);
    // No throttling, no error, a generation, a strategy, a leader and an id without a letter.
    announces::<JoinGroupRequest>(5, false, &[0; 16]);
    announces::<JoinGroupRequest>(6, true, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]);
}
