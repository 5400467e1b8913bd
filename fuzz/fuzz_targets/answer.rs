//! Any answer of any API in any version is read or refused, with little memory.
#![no_main]

use std::alloc::System;

use bytes::Bytes;
use cap::Cap;
use kafka_assigner_kafka::messages::APIS;
use libfuzzer_sys::fuzz_target;

/// A decoder that wants more ends the run.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, 64 << 20);

fuzz_target!(|bytes: &[u8]| {
    let [api, version, rest @ ..] = bytes else { return };
    let api = &APIS[usize::from(*api) % APIS.len()];
    let versions = api.versions.last - api.versions.first + 1;
    let version = api.versions.first + i16::from(*version) % versions;
    let _either = (api.try_answer)(&Bytes::from([&[0; 4][..], rest].concat()), version);
});
