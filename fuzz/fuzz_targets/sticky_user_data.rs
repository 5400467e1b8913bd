//! Garbage in a member's user data costs it its claims and nothing else.
#![no_main]

use kafka_assigner_strategies::kafka::wire::StickyUserData;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let read = StickyUserData::read(bytes);
    let written = read.write();
    assert_eq!(StickyUserData::read(&written).write(), written);
});
