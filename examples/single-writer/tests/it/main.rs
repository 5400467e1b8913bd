//! The programs. That there is a test of them makes cargo build them beside the end-to-end tests.

use std::process::Command;

fn words(program: &str) -> String {
    let output = Command::new(program).output().expect("cargo has built it");
    assert!(!output.status.success());
    String::from_utf8(output.stderr).expect("help is text")
}

#[test]
fn what_the_programs_must_be_told_is_named() {
    for (program, options) in [
        (env!("CARGO_BIN_EXE_kafka-assigner-example-writer"), &["--endpoints", "--brokers", "--name"][..]),
        (env!("CARGO_BIN_EXE_kafka-assigner-example-router"), &["--endpoints", "--name", "--topic"]),
        (env!("CARGO_BIN_EXE_kafka-assigner-example-caller"), &["<KEY>"]),
    ] {
        let words = words(program);
        for option in options {
            assert!(words.contains(option), "{option} is missing in {words}");
        }
    }
}
