//! A whole run of the demonstration.

use std::time::Duration;

use kafka_assigner_demo::{Options, RunReport, run};
use kafka_assigner_types::mode::Mode;
use tokio_util::sync::CancellationToken;

/// A whole run, in which nothing may be lost, whatever the group promises.
async fn run_in(mode: Mode) -> RunReport {
    let duration = Some(Duration::from_secs(30));
    let options = Options { duration, json: true, seed: Some(7), mode, ..Options::default() };
    let report = run(options, CancellationToken::new()).await.expect("nothing but the scenario goes wrong");
    assert!(report.is_clean(), "{}", serde_json::to_string_pretty(&report).expect("numbers and texts only"));
    assert!(report.audit.produced > 10_000, "{}", report.audit.produced);
    assert!(report.audit.moves >= 20, "{}", report.audit.moves);
    assert!(report.leader_changes >= 1);
    assert!(report.moving_at_leader_kills >= 1, "the leader was killed while nothing moved");
    assert!(report.audit.gap_ms.leader_loss.count >= 1);
    assert_no_planned_move_waits_for_a_session(&report);
    report
}

/// A planned move waits for no session's end. The milliseconds that it takes belong to the machine, and are for benchmarks to judge.
fn assert_no_planned_move_waits_for_a_session(report: &RunReport) {
    let session = Duration::from_millis(report.session_timeout_ms);
    let planned = Duration::from_secs_f64(report.audit.gap_ms.planned.max / 1_000.0);
    assert!(planned < session / 2, "{planned:?}");
}

/// A second passes until it is suspected and three until it is taken over, the defaults; its session would have lived longer.
fn assert_the_dead_are_taken_over(report: &RunReport) {
    assert!(report.audit.gap_ms.crash.count >= 1);
    let crash = Duration::from_secs_f64(report.audit.gap_ms.crash.max / 1_000.0);
    assert!(
        crash > Duration::from_secs(3),
        "the mark of the dead consumer did not stand for its time: {crash:?}"
    );
    assert!(crash < Duration::from_millis(report.session_timeout_ms), "{crash:?}");
    let told = |event: &str| report.events.iter().any(|told| told.event == event);
    assert!(told("consumer_suspected") && told("consumer_over"), "{:?}", report.events);
}

fn assert_the_dead_are_waited_for(report: &RunReport) {
    assert!(report.audit.gap_ms.crash.count >= 1);
    let session = Duration::from_millis(report.session_timeout_ms);
    let crash = Duration::from_secs_f64(report.audit.gap_ms.crash.max / 1_000.0);
    // Its lease is left to run out: nobody else works before, however the owner died.
    assert!(crash > session / 2, "the dead consumer's lease did not outlive it: {crash:?}");
    // The bound of the product is tighter; a busy machine that runs other tests beside this one is not its fault.
    assert!(crash < session + Duration::from_secs(2), "{crash:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_while_consumers_and_the_leader_die() {
    let report = run_in(Mode::Overlap).await;
    assert_the_dead_are_taken_over(&report);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_owner_at_a_time_loses_nothing_and_handles_nothing_twice_at_a_move() {
    let report = run_in(Mode::Exclusive).await;
    assert_the_dead_are_waited_for(&report);
    assert_eq!(report.mode, "exclusive");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_routers_acknowledge_is_in_the_log_once_while_writers_and_the_leader_die() {
    let report = run_in(Mode::Routed).await;
    assert_the_dead_are_waited_for(&report);
    let requests = report.requests.expect("in this mode there are some");
    assert!(requests.acknowledged > 10_000, "{requests:?}");
    assert!(requests.is_kept(), "{requests:?}");
}
