//! Any subscription from a member is read or refused, and what was read is read again from what is written.
#![no_main]

use kafka_assigner_strategies::kafka::wire::ConsumerSubscription;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(read) = ConsumerSubscription::read(bytes) {
        let _ = (read.sticky_claims(), read.cooperative_generation());
        assert!(ConsumerSubscription::read(&read.write()).is_ok());
    }
});
