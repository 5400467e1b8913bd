//! Topics with records to read.

use std::time::Duration;

use anyhow::{Result, ensure};
use kafka_assigner_client::kafka::rdkafka::ClientConfig;
use kafka_assigner_client::kafka::rdkafka::error::{KafkaError, RDKafkaErrorCode};
use kafka_assigner_client::kafka::rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use kafka_assigner_rig::{topics, until};

use super::case::Case;

/// A broker makes a thousand partitions within seconds.
const CREATION: Duration = Duration::from_secs(60);

/// The last records of a topic; a busy broker takes tens of megabytes a second.
const FLUSH: Duration = Duration::from_secs(60);

/// A full queue of the producer has room again sooner.
const ROOM: Duration = Duration::from_millis(10);

/// So many waits for room in a row mean that the broker hangs.
const MOST_WAITS: u32 = 6_000;

/// Batches as busy producers have them.
const SETTINGS: [(&str, &str); 4] =
    [("batch.size", "65536"), ("linger.ms", "20"), ("acks", "1"), ("queue.buffering.max.kbytes", "131072")];

/// Makes the topic of a case with all of its records, unless another case has made it.
pub(super) async fn provide(kafka: &str, case: Case) -> Result<()> {
    if topics::partitions(kafka, case.topic())? > 0 {
        return Ok(());
    }
    topics::create(kafka, case.topic(), i32::try_from(case.partitions())?).await?;
    let wanted = usize::try_from(case.partitions())?;
    let is_there = || {
        let is_led = topics::leaderless(kafka, case.topic())? == 0;
        Ok((is_led && topics::partitions(kafka, case.topic())? == wanted).then_some(()))
    };
    until("the creation of a topic", CREATION, is_there).await?;
    let kafka = kafka.to_owned();
    tokio::task::spawn_blocking(move || produce(&kafka, case)).await?
}

/// All partitions side by side, so that batches of each fill up. Blocks.
fn produce(kafka: &str, case: Case) -> Result<()> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", kafka);
    for (key, value) in SETTINGS {
        config.set(key, value);
    }
    let producer: BaseProducer = config.create()?;
    let most = (0..case.partitions()).map(|partition| case.records_of(partition).0).max();
    for number in 0..most.unwrap_or_default() {
        for partition in 0..case.partitions() {
            let (records, size) = case.records_of(partition);
            if number < records {
                send(&producer, case.topic(), partition, size)?;
            }
        }
    }
    Ok(producer.flush(FLUSH)?)
}

fn send(producer: &BaseProducer, topic: &str, partition: u32, size: usize) -> Result<()> {
    let value = &[b'x'; 1024][..size];
    let mut record =
        BaseRecord::<[u8; 0], [u8]>::to(topic).partition(i32::try_from(partition)?).payload(value);
    for _ in 0..MOST_WAITS {
        match producer.send(record) {
            Ok(()) => return Ok(()),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), same)) => record = same,
            Err((error, _)) => return Err(error.into()),
        }
        producer.poll(ROOM);
    }
    ensure!(false, "the broker takes no records");
    Ok(())
}
