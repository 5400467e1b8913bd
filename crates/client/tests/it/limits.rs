//! Handlers that can't own any number of partitions.

use async_trait::async_trait;
use kafka_assigner_client::{Consumer, ConsumerError, HandlerError, OwnedContext, PartitionHandler, Stopped};
use tokio_util::sync::CancellationToken;

use crate::consumer::options;
use crate::fake::Fake;

struct ForTwo;

#[async_trait]
impl PartitionHandler for ForTwo {
    async fn assigned(&self, _: &OwnedContext) -> Result<(), HandlerError> {
        Ok(())
    }

    fn most_partitions(&self) -> Option<u32> {
        Some(2)
    }
}

// The third partition would never begin.
#[tokio::test(start_paused = true)]
async fn a_consumer_that_may_get_more_than_its_handler_can_own_is_refused_at_its_start() {
    for (max_partitions, is_refused) in [(0, true), (3, true), (2, false), (1, false)] {
        let options = kafka_assigner_client::ConsumerOptions { max_partitions, ..options() };
        let fake = Fake::new();
        fake.leave_alone();
        let consumer = Consumer::over(options, fake.clone()).expect("valid options");
        let stop = CancellationToken::new();
        stop.cancel();
        let end = consumer.run_in_place(ForTwo, stop).await;
        match is_refused {
            true => {
                assert_eq!(end, Err(ConsumerError::PartitionLimit { max_partitions, most: 2 }));
                assert_eq!(fake.asked(), [], "nothing has begun");
            }
            false => assert!(matches!(end, Ok(Stopped::Left | Stopped::WithoutSession)), "{end:?}"),
        }
    }
}
