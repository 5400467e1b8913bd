//! Errors in the status of a consumer.

use async_trait::async_trait;
use kafka_assigner_client::{Consumer, HandlerError, OwnedContext, PartitionHandler};
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
