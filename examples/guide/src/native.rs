//! `docs/guide/native.md`.

use std::error::Error;

use kafka_assigner_native_consumer::{
    KafkaConnection, NativeConsumer, NativeOptions, OwnedPartition, PartitionBatch, RecordStream, StartAt,
    TopicChoice,
};

/// A task for each partition, until the consumer can't go on.
///
/// # Errors
/// An option is refused, or the group does not take the member.
///
/// # Cancel safety
/// Dropped, it has the consumer leave its group.
pub async fn consume(brokers: &str) -> Result<(), Box<dyn Error>> {
    let topics = TopicChoice::named(["clicks", "orders"])?;
    let mut options = NativeOptions {
        strategies: vec!["balanced".to_owned()],
        start_at: StartAt::Earliest,
        ..NativeOptions::new(KafkaConnection::new(Vec::new()), "billing", topics)
    };
    options.set([("bootstrap.servers", brokers), ("session.timeout.ms", "45000")])?;
    let mut consumer = NativeConsumer::start(options)?;
    while let Some(partition) = consumer.next_partition().await? {
        tokio::spawn(handle(partition));
    }
    Ok(())
}

async fn handle(mut partition: OwnedPartition) {
    // None: it is to be given up. What is done is committed before others get it.
    while let Some(batch) = partition.next_batch().await {
        write(&batch).await;
        if partition.commit_through(batch.last_offset()).await.is_err() {
            // Lost: others may have it already.
            return;
        }
    }
}

async fn write(batch: &PartitionBatch) {
    println!("{} records of {}", batch.records.len(), batch.partition);
}

/// All records of a consumer, one after the other.
///
/// # Errors
/// The consumer can't go on, or a partition can't be read.
///
/// # Cancel safety
/// Dropped, it has the consumer leave its group.
pub async fn stream(consumer: NativeConsumer) -> Result<(), Box<dyn Error>> {
    let mut records = RecordStream::new(consumer);
    while let Some(record) = records.recv().await? {
        println!("{}: {:?}", record.partition, record.record.value);
        // Refused where the partition was lost meanwhile.
        records.done(&record).ok();
    }
    Ok(())
}
