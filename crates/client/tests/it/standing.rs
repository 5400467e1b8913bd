//! Partitions that stand, as the service and users see them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kafka_assigner_client::kafka::{
    KafkaOptions, KafkaRunner, OpenedState, PartitionContext, Preparation, Record, RecordError,
    RecordHandler, StateSnapshot,
};
use kafka_assigner_client::{Consumer, ConsumerStatus, TopicPartition};
use kafka_assigner_proto::v1::{AssignedPartition, Snapshot};

use rdkafka::mocking::MockCluster;
use tokio::time::{Duration, sleep};
use tokio_util::sync::CancellationToken;

use crate::consumer::{grant, options};
use crate::fake::Fake;

/// Can't open any state, and counts how often it was asked to.
#[derive(Clone, Default)]
struct Closed(Arc<AtomicUsize>);

impl RecordHandler for Closed {
    type State = ();

    async fn open(&self, _: &Preparation, _: Option<StateSnapshot>) -> Result<OpenedState<()>, RecordError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Err(RecordError::stop("the disk is gone"))
    }

    async fn catch_up(&self, _: &TopicPartition, (): &mut (), _: &Record) -> Result<(), RecordError> {
        Ok(())
    }

    async fn process(&self, _: &PartitionContext, (): &mut (), _: &Record) -> Result<(), RecordError> {
        Ok(())
    }
}

/// A partition whose start is known, though a broker is asked for what is committed as well.
fn started() -> Snapshot {
    let assigned = vec![AssignedPartition { start_offset: Some(3), ..grant(0, 5, "") }];
    Snapshot { assigned, ..Snapshot::default() }
}

// Each try would be two writes at the service: the mark that goes, and the mark that comes.
#[tokio::test(start_paused = true)]
async fn a_partition_whose_state_is_not_opened_stands_in_each_report_and_in_the_status_until_it_goes() {
    let (fake, handler, stop) = (Fake::new(), Closed::default(), CancellationToken::new());
    fake.show(started());
    // Answers come while the test's clock stands.
    let broker = MockCluster::new(1).expect("a broker in this process");
    broker.create_topic("t", 1, 1).expect("created");
    let runner = KafkaRunner::new(&KafkaOptions::new(broker.bootstrap_servers(), "g"), handler.clone());
    let consumer = Consumer::over(options(), fake.clone()).expect("valid options");
    let mut handle = consumer.handle();
    let runner = runner.expect("valid options");
    let watch = runner.handle();
    let running = tokio::spawn(consumer.run_in_place(runner, stop.clone()));
    let stands = |status: &ConsumerStatus| status.stopped.len() == 1;
    handle.wait_for(stands).await.expect("it runs");
    for _ in 0..300 {
        sleep(Duration::from_millis(100)).await;
        assert!(stands(&handle.status()), "after {} tries", handler.0.load(Ordering::SeqCst));
    }
    assert!(handler.0.load(Ordering::SeqCst) > 5, "it is tried all the time");
    let reports = fake.stopped();
    let told = reports.iter().skip_while(|stopped| stopped.is_empty());
    assert!(told.clone().count() > 4 && told.clone().all(|stopped| stopped.len() == 1), "{reports:?}");
    fake.push(crate::consumer::unassign(0));
    handle.wait_for(|status| status.stopped.is_empty()).await.expect("it runs");
    while !watch.stopped().is_empty() {
        sleep(Duration::from_millis(10)).await;
    }
    running.abort();
}
