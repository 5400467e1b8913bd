//! Any assignment from a leader is read or refused, and what was read is read again from what is written.
#![no_main]

use kafka_assigner_strategies::kafka::wire::ConsumerAssignment;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(read) = ConsumerAssignment::read(bytes) {
        assert!(ConsumerAssignment::read(&read.write()).is_ok());
    }
});
