//! A short case of each scenario, played by this package's program as `cargo xtask e2e --scenario NAME --short` plays it, on
//! one broker for all of them.
//!
//! `kafka-groups` is none of them: it needs the jars of Kafka's own tools.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use kafka_assigner_rig::{Kafka, Process, etcd_binary, holds_within, kafka_jars, program};

/// The program that plays, and whose processes the consumers are.
const PLAYER: &str = env!("CARGO_BIN_EXE_kafka-assigner-e2e");

/// A short case takes less than a minute; each of its own steps is bounded as well.
const BOUND: Duration = Duration::from_secs(5 * 60);

/// Started by the first test that needs it. It ends with the tests' process.
static BROKER: OnceLock<Kafka> = OnceLock::new();

/// Plays the scenario `name`, in which these programs take part. Skipped where a server or one of them is missing.
fn play(name: &str, programs: &[&str]) {
    let (Some(etcd), Some(jars)) = (etcd_binary(), kafka_jars()) else { return };
    if !programs.iter().all(|needed| program(needed).is_some()) {
        return;
    }
    let broker = BROKER.get_or_init(|| Kafka::start(&jars).expect("a broker starts"));
    let folder = tempfile::tempdir().expect("room for logs");
    let mut command = Command::new(PLAYER);
    command.args(["scenario", name, "--short", "--kafka", &broker.address()]);
    command.arg("--etcd").arg(&etcd).arg("--kafka-jars").arg(&jars);
    command.arg("--programs").arg(Path::new(PLAYER).parent().expect("programs are in a folder"));
    command.arg("--folder").arg(folder.path()).stdin(Stdio::null());
    let (status, log) = run(command, &folder.path().join("player.log"));
    assert!(status.is_some_and(|status| status.success()), "{name}: {status:?}\n{log}");
}

/// Runs it to its end, and returns what it printed; no status = it did not end in time.
fn run(mut command: Command, log: &Path) -> (Option<ExitStatus>, String) {
    let file = File::create(log).expect("room for a log");
    command.stdout(file.try_clone().expect("it is open")).stderr(file);
    let mut process = Process::spawn(&mut command).expect("it starts");
    let mut status = None;
    holds_within(BOUND, || {
        status = process.exit_status().expect("it is ours");
        status.is_some()
    });
    (status, fs::read_to_string(log).expect("it was written"))
}

#[test]
fn a_cache_that_is_restarted_gives_no_wrong_answer() {
    play("cache", &["kafka-assigner", "kafka-assigner-example-cache"]);
}

#[test]
fn consumers_that_come_and_go_lose_nothing() {
    play("churn", &["kafka-assigner"]);
}

#[test]
fn failing_records_and_markers_cost_no_record() {
    play("edges", &["kafka-assigner"]);
}

#[test]
fn a_killed_consumer_is_taken_over_before_its_session_ends() {
    play("killed", &["kafka-assigner"]);
}

#[test]
fn members_without_a_service_share_a_group_with_librdkafka() {
    play("native", &["kafka-assigner-example-native-consumer"]);
}

#[test]
fn a_strategy_that_panics_concerns_its_own_group_alone() {
    play("panics", &["kafka-assigner"]);
}

#[test]
fn a_topic_that_is_created_again_is_handled_whole() {
    play("recreate", &["kafka-assigner"]);
}

#[test]
fn a_store_that_is_put_back_has_one_owner_for_each_partition() {
    play("restored-store", &["kafka-assigner"]);
}

#[test]
fn a_drain_that_takes_longer_than_a_phase_ends() {
    play("slow-drain", &["kafka-assigner"]);
}
