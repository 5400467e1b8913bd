use kafka_assigner_client::prelude::*;

struct Counter;

impl RecordHandler for Counter {
    type State = u64; // one for each partition; rebuilt by the new owner before it takes over

    async fn open(&self, _: &Preparation, _: Option<StateSnapshot>) -> Result<OpenedState<u64>, RecordError> {
        Ok(OpenedState::empty(0)) // all records since the beginning are missing
    }

    async fn catch_up(&self, _: &TopicPartition, count: &mut u64, _: &Record) -> Result<(), RecordError> {
        *count += 1; // state only: another owner handles this record
        Ok(())
    }

    async fn process(
        &self,
        context: &PartitionContext,
        count: &mut u64,
        record: &Record,
    ) -> Result<(), RecordError> {
        *count += 1;
        println!("{} @ {}: record number {count}", context.partition(), record.offset());
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let options = ConsumerOptions {
        group: "orders-counter".into(), // Kafka's group, under which offsets are committed, has the same name
        topics: vec!["orders".into()],
        ..ConsumerOptions::new("worker-1", ["http://127.0.0.1:7420"])
    };
    let kafka = KafkaOptions::for_consumer(&options, "127.0.0.1:9092");
    let runner = KafkaRunner::new(&kafka, Counter)?;
    // Ctrl-C or SIGTERM: the partitions are handed over first, then `run` returns.
    Consumer::new(options)?.run(runner, stop::on_signal()?).await?;
    Ok(())
}
