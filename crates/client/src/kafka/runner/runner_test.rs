use tokio::sync::Notify;
use tokio::time::timeout;

use super::*;
use crate::claim::SessionClaim;
use crate::context::{Alarm, Edges};
use crate::gate::Gate;
use crate::kafka::Record;
use crate::moment::Clock;

struct Idle;

#[async_trait]
impl PartitionHandler for Idle {
    async fn assigned(&self, _: &OwnedContext) -> Result<(), HandlerError> {
        Ok(())
    }
}

#[async_trait]
impl RecordHandler for Idle {
    type State = ();

    fn catch_up(&self, _: &TopicPartition, (): &mut (), _: &Record) -> Result<(), HandlerError> {
        Ok(())
    }

    async fn process(&self, _: &OwnedContext, (): &mut (), _: &Record) -> Result<(), HandlerError> {
        Ok(())
    }
}

fn owned() -> OwnedContext {
    let (clock, wake) = (Clock::start(), Arc::new(Notify::new()));
    OwnedContext {
        group: "g".into(),
        partition: TopicPartition::new("t", 0),
        claim: SessionClaim::new(clock.clone()).partition(5, true),
        start_offset: None,
        resumed: false,
        gate: Gate::new(wake.clone()).into(),
        edges: Edges::new(clock).into(),
        alarm: Alarm::new(wake),
        cancelled: CancellationToken::new(),
    }
}

// Once a partition is lost, others may be told that nothing acts for it any more.
#[tokio::test]
async fn a_partition_is_lost_only_when_the_commit_under_way_has_landed() {
    let runner = KafkaRunner::new(&KafkaOptions::new("127.0.0.1:1", "g"), Idle).expect("valid options");
    let (under_way, context) = (runner.client.turn().await, owned());
    let mut lost = runner.lost(&context);
    assert!(timeout(Duration::from_millis(200), &mut lost).await.is_err(), "it did not wait");
    drop(under_way);
    lost.await;
}

#[tokio::test]
async fn an_interval_of_commits_that_can_not_be_kept_is_refused() {
    let options = KafkaOptions { commit_interval: Duration::ZERO, ..KafkaOptions::new("127.0.0.1:1", "g") };
    let refused = KafkaRunner::new(&options, Idle).expect_err("no interval");
    let text = refused.to_string();
    assert!(text.contains("commit_interval = 0ns") && text.contains("longer than 0"), "{text}");
}

#[tokio::test]
async fn any_number_of_records_at_once_is_accepted() {
    for concurrency in [0, usize::MAX] {
        let options = KafkaOptions { concurrency, ..KafkaOptions::new("127.0.0.1:1", "g") };
        KafkaRunner::new(&options, Idle).expect("valid options");
    }
}
