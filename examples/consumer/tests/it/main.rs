//! The consumer as a program. That there is a test of it makes cargo build it beside the end-to-end tests.

use std::process::Command;

#[test]
fn what_it_must_be_told_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_kafka-assigner-example-consumer")).output().unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    for option in ["--endpoints", "--brokers", "--name", "--log"] {
        assert!(words.contains(option), "{option} is missing in {words}");
    }
}
