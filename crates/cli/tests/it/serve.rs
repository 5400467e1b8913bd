//! `serve` as a process.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::timeout;

/// Starting and stopping take well under a second; a loaded machine gets some more.
const PATIENCE: Duration = Duration::from_secs(60);

struct Served {
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
    /// The folder with its file.
    directory: TempDir,
}

impl Served {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(arguments: &[&str]) -> Self {
        let directory = TempDir::new().expect("a directory for the store");
        let mut child = command(&directory).args(arguments).spawn().expect("the program starts");
        let stderr = child.stderr.take().expect("it is piped");
        Self { child, lines: BufReader::new(stderr).lines(), directory }
    }

    /// The fields of the first log line with that message.
    async fn logged(&mut self, message: &str) -> Value {
        let find = async {
            while let Some(line) = self.lines.next_line().await.expect("the log is text") {
                let line: Value = serde_json::from_str(&line).expect("the log is JSON");
                if line["fields"]["message"] == message {
                    return line["fields"].clone();
                }
            }
            panic!("the log ended without {message:?}");
        };
        timeout(PATIENCE, find).await.expect("it is logged in time")
    }

    async fn stop(&mut self) -> Option<i32> {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok()).expect("it runs");
        let pid = Pid::from_raw(id).expect("no process has the id 0");
        kill_process(pid, Signal::TERM).expect("it can be told to stop");
        let status = timeout(PATIENCE, self.child.wait()).await.expect("it stops in time");
        status.expect("it can be waited for").code()
    }
}

fn command(directory: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kafka-assigner"));
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--log-format", "json"])
        .env("KAFKA_ASSIGNER_DATA", directory.path().join("store.redb"))
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

async fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("HTTP is served");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("it is sent");
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.expect("an answer").expect("text");
    answer
}

#[tokio::test]
async fn an_instance_starts_with_its_configuration_answers_and_stops_when_told() {
    let mut served = Served::start();
    let listening = served.logged("listening").await;
    served.logged("started").await;
    let http = listening["http"].as_str().expect("an address").to_owned();
    assert!(get(&http, "/livez").await.starts_with("HTTP/1.1 200"));
    assert!(get(&http, "/metrics").await.contains("kafka_assigner"));
    assert!(served.directory.path().join("store.redb").exists());
    assert_eq!(served.stop().await, Some(0));
}

#[tokio::test]
async fn a_watch_whose_instance_dies_says_so_in_words() {
    let mut served = Served::start();
    let listening = served.logged("listening").await;
    served.logged("starting").await;
    let url = format!("http://{}", listening["grpc"].as_str().expect("an address"));
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kafka-assigner"));
        command.args(arguments).args(["--server", &url]).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        command
    };
    let created = timeout(PATIENCE, run(&["group", "set", "g"]).output()).await.unwrap().unwrap();
    assert!(created.status.success(), "{created:?}");
    let mut watch = run(&["watch", "g"]).spawn().expect("the program starts");
    let mut shown = BufReader::new(watch.stdout.take().expect("it is piped")).lines();
    timeout(PATIENCE, shown.next_line()).await.expect("the present state").expect("text");
    served.child.kill().await.expect("it can be killed");
    let ended = timeout(PATIENCE, watch.wait_with_output()).await.expect("it ends in time").unwrap();
    let words = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(3), "{words}");
    assert!(
        words.starts_with(&format!("error: the connection to {url} was lost\nhint: run it again")),
        "{words}"
    );
}

#[tokio::test]
async fn an_etcd_that_does_not_answer_is_waited_for_and_told_in_words() {
    let mut served = Served::start_with(&["--etcd", "http://127.0.0.1:1"]);
    let listening = served.logged("listening").await;
    let http = listening["http"].as_str().expect("an address").to_owned();
    let waiting = served.logged("waiting for the store").await;
    let error = waiting["error"].as_str().expect("the reason");
    assert!(error.contains("refused") && !error.contains("Error("), "{error}");
    assert!(get(&http, "/livez").await.starts_with("HTTP/1.1 200"));
    let ready = get(&http, "/readyz").await;
    assert!(ready.starts_with("HTTP/1.1 503") && ready.contains("failed store: not reached yet"), "{ready}");
    assert_eq!(served.stop().await, Some(0));
}

#[tokio::test]
async fn a_file_in_use_is_refused_by_name() {
    let mut served = Served::start();
    served.logged("starting").await;
    let second = timeout(PATIENCE, command(&served.directory).output()).await.unwrap().unwrap();
    let words = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{words}");
    assert!(words.contains("store.redb can't be used: it is in use"), "{words}");
    assert_eq!(served.stop().await, Some(0));
}
