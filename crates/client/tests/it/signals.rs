//! Processes that are told to stop.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use kafka_assigner_client::stop;

/// Set in a process that is to wait for signals.
const CHILD: &str = "KAFKA_ASSIGNER_TEST_SIGNALS";

/// In a test run it does nothing; in the child process of the other test it waits for signals.
#[tokio::test]
async fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let token = stop::on_signal().expect("signals can be heard");
    println!("\nlistening");
    token.cancelled().await;
    println!("stopping");
    std::future::pending::<()>().await;
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
}

#[test]
fn a_second_signal_ends_a_process_that_stops_at_once() {
    for (signal, code) in [("-TERM", 143), ("-INT", 130)] {
        let mut child = Command::new(std::env::current_exe().expect("a path"))
            .args(["--exact", "signals::child", "--nocapture"])
            .env(CHILD, "1")
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        assert!(lines.any(|line| line == "listening"));
        send("-TERM", &child);
        assert!(lines.any(|line| line == "stopping"), "the first one is orderly");
        send(signal, &child);
        assert_eq!(child.wait().expect("it ends").code(), Some(code));
    }
}
