//! Errors in the status of a consumer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use kafka_assigner_client::{Consumer, HandlerError, OwnedContext, PartitionHandler};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::consumer::options;
use crate::fake::{Fake, Pulse};

struct Broken;

#[async_trait]
impl PartitionHandler for Broken {
    async fn assigned(&self, _: &OwnedContext) -> Result<(), HandlerError> {
        Ok(())
    }

    fn last_error(&self) -> Option<String> {
        Some("no broker".to_owned())
    }
}

#[tokio::test(start_paused = true)]
async fn the_error_of_what_a_handler_works_with_stands_in_the_status_unless_instances_are_away() {
    let fake = Fake::new();
    let consumer = Consumer::over(options(), fake.clone()).expect("valid options");
    let mut handle = consumer.handle();
    let stop = CancellationToken::new();
    let running = tokio::spawn(consumer.run_in_place(Broken, stop.clone()));
    let is_of = |text: &'static str| {
        move |status: &kafka_assigner_client::ConsumerStatus| {
            status.last_error.as_ref().is_some_and(|error| error.contains(text))
        }
    };
    let status = handle.wait_for(is_of("no broker")).await.expect("it runs");
    assert!(status.session.is_some());
    fake.pulse(Pulse::Silence);
    handle.wait_for(is_of("no answer in time")).await.expect("it runs");
    running.abort();
}

/// Works until its brokers are away.
struct Breaking(Arc<AtomicBool>);

#[async_trait]
impl PartitionHandler for Breaking {
    async fn assigned(&self, _: &OwnedContext) -> Result<(), HandlerError> {
        Ok(())
    }

    fn last_error(&self) -> Option<String> {
        self.0.load(Ordering::SeqCst).then(|| "no broker".to_owned())
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_that_comes_while_nothing_else_happens_stands_in_the_status_soon() {
    let broken = Arc::new(AtomicBool::new(false));
    let fake = Fake::granting(Duration::from_secs(30 * 60));
    let consumer = Consumer::over(options(), fake).expect("valid options");
    let mut handle = consumer.handle();
    let running = tokio::spawn(consumer.run_in_place(Breaking(broken.clone()), CancellationToken::new()));
    handle.wait_for(|status| status.session.is_some()).await.expect("it runs");
    tokio::time::sleep(Duration::from_secs(60)).await;
    broken.store(true, Ordering::SeqCst);
    let since = Instant::now();
    handle.wait_for(|status| status.last_error.is_some()).await.expect("it runs");
    assert!(since.elapsed() <= Duration::from_secs(5), "{:?}", since.elapsed());
    running.abort();
}
