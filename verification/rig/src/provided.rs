//! The servers that this test run has.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;

/// The variable with the address at which the run's etcd answers, as an URL.
pub const ETCD_VARIABLE: &str = "KAFKA_ASSIGNER_TEST_ETCD";

/// The etcd program, for tests that start one of their own.
pub const ETCD_BINARY_VARIABLE: &str = "KAFKA_ASSIGNER_TEST_ETCD_BIN";

/// The variable with the address at which the run's Kafka broker answers, as `host:port`.
pub const KAFKA_VARIABLE: &str = "KAFKA_ASSIGNER_TEST_KAFKA";

/// The folder with Kafka's jars, for tests that start a broker of their own.
pub const KAFKA_JARS_VARIABLE: &str = "KAFKA_ASSIGNER_TEST_KAFKA_JARS";

/// Set to `1` where a missing server is a failure instead of a skip.
pub const REQUIRE_VARIABLE: &str = "KAFKA_ASSIGNER_REQUIRE_SERVERS";

/// The file that skipped tests are added to, one a line.
pub const SKIP_LOG_VARIABLE: &str = "KAFKA_ASSIGNER_SKIP_LOG";

/// The URL of the run's etcd, which the calling test shares with others; `None` skips the test.
///
/// # Panics
/// Where servers are required and there is none.
#[must_use]
pub fn etcd() -> Option<String> {
    provided(ETCD_VARIABLE)
}

/// The etcd program, for a test that needs one of its own; `None` skips the test.
///
/// # Panics
/// Where servers are required and there is none.
#[must_use]
pub fn etcd_binary() -> Option<PathBuf> {
    provided(ETCD_BINARY_VARIABLE).map(PathBuf::from)
}

/// The address (`host:port`) of the run's Kafka broker, which the calling test shares with others; `None`
/// skips the test.
///
/// # Panics
/// Where servers are required and there is none.
#[must_use]
pub fn kafka() -> Option<String> {
    provided(KAFKA_VARIABLE)
}

/// The folder with Kafka's jars, for a test that needs a broker of its own; `None` skips the test.
///
/// # Panics
/// Where servers are required and there is none.
#[must_use]
pub fn kafka_jars() -> Option<PathBuf> {
    provided(KAFKA_JARS_VARIABLE).map(PathBuf::from)
}

/// A program of the workspace that cargo built beside the calling test, which it does when the program's own package
/// is tested as well; `None` skips the test.
///
/// # Panics
/// Where servers are required and it is not there.
#[must_use]
pub fn program(name: &str) -> Option<PathBuf> {
    let test = env::current_exe().expect("a running program has a path");
    let folder =
        test.parent().and_then(Path::parent).expect("cargo puts tests into a folder beside the programs");
    let program = folder.join(name);
    if program.exists() {
        return Some(program);
    }
    skip(&format!("{} is not built", program.display()));
    None
}

fn provided(variable: &str) -> Option<String> {
    let value = env::var(variable).ok().filter(|value| !value.is_empty());
    if value.is_none() {
        skip(&format!("{variable} is not set"));
    }
    value
}

fn skip(why: &str) {
    let current = thread::current();
    let test = current.name().unwrap_or("unnamed");
    let required = env::var(REQUIRE_VARIABLE).is_ok_and(|value| value == "1");
    assert!(!required, "{test} can't run: {why}, and {REQUIRE_VARIABLE} is set");
    let line = format!("SKIPPED {test}: {why} (cargo xtask test sees to it)\n");
    eprint!("{line}");
    if let Some(log) = env::var_os(SKIP_LOG_VARIABLE) {
        // One write of one short line: lines of tests that run side by side don't mix.
        let written = OpenOptions::new().create(true).append(true).open(log);
        let written = written.and_then(|mut file| file.write_all(line.as_bytes()));
        written.expect("the list of skipped tests is writable, or a skip would pass as a success");
    }
}
