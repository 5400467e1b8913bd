//! Any bytes of a partition end as a list of batches, or in an error.
#![no_main]

use bytes::Bytes;
use kafka_assigner_kafka::records::RecordBatches;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let batches = RecordBatches::new(Bytes::copy_from_slice(bytes));
    assert!(batches.count() <= bytes.len() / 61 + 1);
});
