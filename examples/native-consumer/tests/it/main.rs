//! The program from outside; what members of a group promise each other is a scenario of `verification/e2e`.

use std::process::Command;

#[test]
fn a_member_without_a_group_says_what_it_needs() {
    let mut member = Command::new(env!("CARGO_BIN_EXE_kafka-assigner-example-native-consumer"));
    let ended = member.args(["--bootstrap", "127.0.0.1:1"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.contains("--group <GROUP>") && said.contains("--topics <TOPICS>"), "{said}");
}
