//! Brokers that can't be reached.

use std::io;
use std::sync::{Arc, Mutex};

use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaErrorCode;
use tokio::net::TcpSocket;
use tokio::time::{sleep, timeout};
use tracing_subscriber::fmt::MakeWriter;

use super::test_broker::{PATIENCE, TestBroker};
use super::test_handler::idle;
use super::*;

/// The log of a test.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn with(&self, words: &[&str]) -> Option<String> {
        let text = String::from_utf8_lossy(&self.0.lock().expect("no panic inside")).into_owned();
        text.lines().find(|line| words.iter().all(|word| line.contains(word))).map(str::to_owned)
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic inside").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

async fn until<T>(mut seen: impl FnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            match seen() {
                Some(seen) => return seen,
                None => sleep(Duration::from_millis(20)).await,
            }
        }
    };
    timeout(PATIENCE, looking).await.expect("seen in time")
}

#[tokio::test]
async fn brokers_that_nobody_reaches_are_warned_of_and_named_in_the_last_error() {
    // The tasks of this test run on its own thread.
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt().with_writer(lines.clone()).with_ansi(false).finish();
    let _subscribed = tracing::subscriber::set_default(subscriber);
    // It has a port, at which it does not listen.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let address = socket.local_addr().expect("bound").to_string();
    let runner = KafkaRunner::new(&KafkaOptions::new(&address, "g"), idle()).expect("valid options");
    let error = until(|| runner.last_error()).await;
    assert!(error.contains("brokers are down") && error.contains(&address), "{error}");
    let warned = until(|| lines.with(&["WARN", "kafka_group=\"g\"", &address])).await;
    assert!(warned.contains("the brokers can't be used"), "{warned}");
}

#[tokio::test]
async fn the_last_error_is_over_once_a_broker_answers() {
    let broker = TestBroker::start().await;
    let runner = KafkaRunner::new(&KafkaOptions::new(broker.servers(), "g"), idle()).expect("valid options");
    let watch = runner.parts.client.watch();
    watch.heard(&KafkaError::Global(RDKafkaErrorCode::AllBrokersDown), "down");
    assert_eq!(runner.last_error().as_deref(), Some("down"));
    until(|| runner.last_error().is_none().then_some(())).await;
}
