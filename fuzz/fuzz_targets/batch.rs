//! Any records of a batch, in any codec, are read or refused, with little memory. The checksum is right.
#![no_main]

use std::alloc::System;

use cap::Cap;
use kafka_assigner_kafka::records::{BatchDecoder, BatchDraft, BatchLimits, Compression, RecordBatches};
use libfuzzer_sys::fuzz_target;

/// A decoder that wants more ends the run.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, 64 << 20);

const CODECS: [Compression; 5] =
    [Compression::Plain, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

fuzz_target!(|input: (u8, i32, i32, &[u8])| {
    let (codec, last, records, body) = input;
    let compression = CODECS[usize::from(codec) % CODECS.len()];
    let bytes = BatchDraft { compression, ..BatchDraft::new(0, Vec::new()) }.write_with(body, last, records);
    let limits = BatchLimits { most: 16 << 20, ..BatchLimits::default() };
    for raw in RecordBatches::new(bytes).flatten() {
        let Ok(batch) = BatchDecoder::new(limits).decode(raw) else { return };
        for record in batch.records().flatten() {
            assert!(record.offset <= batch.header.next_offset());
        }
    }
});
