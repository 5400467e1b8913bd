use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::*;
use crate::event::Event;
use crate::shape::Shape;

/// A Java that runs `script` in place of anything else. A shell writes it: were it open for writing here, a process
/// that another test starts at that moment would hold it open, and a file that somebody may write can't be run.
fn fake_java(folder: &TempDir, script: &str) -> Kafka {
    let java = folder.path().join("java");
    let mut shell = Command::new("sh");
    shell
        .args(["-c", r#"printf '#!/bin/sh\n%s\n' "$2" > "$1" && chmod 700 "$1""#, "sh"])
        .arg(&java)
        .arg(script);
    assert!(shell.status().unwrap().success());
    Kafka { java: java.into(), classpath: "classes".into() }
}

fn cell() -> Cell {
    let shape =
        Shape { members: 3, partitions: 20, topics: 2, subscriptions: Subscriptions::MixedA, racks: true };
    Cell { strategy: "sticky".to_owned(), shape, event: Event::Leave }
}

fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

const BOUND: Duration = Duration::from_secs(10);

#[test]
fn what_java_prints_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let java = fake_java(&folder, r#"echo '{"ms":1.5,"moves":7,"digest":"ab"}'"#);
    let answer = java.measure(&cell(), BOUND).unwrap();
    let told = answer.told().unwrap();
    assert_eq!((told.ms, told.moves), (1.5, 7));
}

#[test]
fn java_is_told_the_cell_and_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let java = fake_java(&folder, r#"echo "$*" >&2; echo "$*" > "$(dirname "$0")/told"; exit 1"#);
    java.measure(&cell(), BOUND).unwrap_err();
    let told = fs::read_to_string(folder.path().join("told")).unwrap();
    let expected = "-cp classes Compare sticky 3 20 2 mixed-a true leave 10000";
    assert!(told.trim_end().ends_with(expected), "{told}");
}

#[test]
fn a_java_that_takes_too_long_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let java = fake_java(&folder, r#"echo $$ > "$(dirname "$0")/pid"; exec sleep 60"#);
    let answer = java.measure(&cell(), Duration::from_secs(1)).unwrap();
    assert_eq!(answer, Answer::TimedOut);
    let pid = fs::read_to_string(folder.path().join("pid")).unwrap();
    assert!(!runs(&pid), "it still runs");
}

#[test]
fn a_java_that_fails_is_no_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let failed = fake_java(&folder, "exit 3").measure(&cell(), BOUND).unwrap_err();
    assert!(format!("{failed:#}").contains("exit status: 3"), "{failed:#}");
    let silent = fake_java(&folder, "true").measure(&cell(), BOUND).unwrap_err();
    assert!(format!("{silent:#}").contains("it printed \"\""), "{silent:#}");
}

#[test]
fn kafka_has_nothing_for_everything_at_once() {
    let mut cell = cell();
    assert!(Kafka::has(&cell));
    cell.shape.subscriptions = Subscriptions::Everything;
    assert!(!Kafka::has(&cell));
}
