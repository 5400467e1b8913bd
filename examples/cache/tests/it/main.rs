//! The program from outside; what its cache promises is a scenario of `verification/e2e`.

use std::process::Command;

#[test]
fn a_cache_without_brokers_says_what_it_needs() {
    let mut cache = Command::new(env!("CARGO_BIN_EXE_kafka-assigner-example-cache"));
    let ended = cache.args(["--endpoints", "http://127.0.0.1:1"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.contains("--brokers <BROKERS>") && said.contains("--listen <LISTEN>"), "{said}");
}
