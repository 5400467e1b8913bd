//! A consumer of librdkafka with a queue for each partition and the runner's settings, on one thread that takes the queues
//! in turns: the least that reading costs.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use kafka_assigner_client::kafka::KafkaOptions;
use kafka_assigner_client::kafka::rdkafka::consumer::base_consumer::PartitionQueue;
use kafka_assigner_client::kafka::rdkafka::consumer::{BaseConsumer, Consumer as _, DefaultConsumerContext};
use kafka_assigner_client::kafka::rdkafka::error::KafkaError;
use kafka_assigner_client::kafka::rdkafka::{Message as _, Offset, TopicPartitionList};

use super::ReaderArguments;
use super::meter::{Meter, Tally};
use crate::client::case::Case;

/// So many records of a partition are taken before another one gets its turn.
const TURN: usize = 1_000;

/// How often the consumer's own events are asked for.
const EVENTS: Duration = Duration::from_secs(1);

/// One partition that is read.
struct PlainPartition {
    queue: PartitionQueue<DefaultConsumerContext>,
    tally: Tally,
    has_begun: bool,
}

/// Reads until the process is killed. Blocks.
pub(super) fn read(arguments: &ReaderArguments, meter: &Meter) -> Result<()> {
    let consumer = KafkaOptions::new(&arguments.kafka, &arguments.group).client_config().create();
    let consumer: Arc<BaseConsumer> = Arc::new(consumer?);
    let (turns, coming) = channel();
    let mut partitions = split(&consumer, arguments.case, &turns)?;
    assign(&consumer, arguments.case)?;
    thread::spawn(move || {
        loop {
            drop(consumer.poll(EVENTS));
        }
    });
    take(&mut partitions, (&turns, &coming), meter, arguments.case == Case::Backlog)
}

/// A queue that is not empty any more asks for a turn.
fn split(consumer: &Arc<BaseConsumer>, case: Case, turns: &Sender<u32>) -> Result<Vec<PlainPartition>> {
    let queue_of = |partition: u32| {
        let number = i32::try_from(partition)?;
        let mut queue = consumer.split_partition_queue(case.topic(), number).context("no queue")?;
        let turns = turns.clone();
        queue.set_nonempty_callback(move || {
            // The receiver lives as long as the process.
            let _ = turns.send(partition);
        });
        Ok(PlainPartition { queue, tally: Tally::default(), has_begun: false })
    };
    (0..case.partitions()).map(queue_of).collect()
}

fn assign(consumer: &BaseConsumer, case: Case) -> Result<()> {
    let mut list = TopicPartitionList::new();
    for partition in 0..case.partitions() {
        list.add_partition_offset(case.topic(), i32::try_from(partition)?, Offset::Beginning)?;
    }
    Ok(consumer.incremental_assign(&list)?)
}

/// Takes records as they come; only the first of each partition where `is_slow`.
fn take(
    partitions: &mut [PlainPartition],
    (turns, coming): (&Sender<u32>, &Receiver<u32>),
    meter: &Meter,
    is_slow: bool,
) -> Result<()> {
    while let Ok(number) = coming.recv() {
        let partition = &mut partitions[number as usize];
        if is_slow && partition.has_begun {
            continue;
        }
        let most = if is_slow { 1 } else { TURN };
        if partition.take(most, meter)? == TURN {
            turns.send(number)?;
        }
    }
    Ok(())
}

impl PlainPartition {
    /// Takes what is there, `most` at most. Returns how many that were.
    fn take(&mut self, most: usize, meter: &Meter) -> Result<usize> {
        for taken in 0..most {
            match self.queue.poll(Duration::ZERO) {
                Some(Ok(record)) => meter.count(&mut self.tally, record.payload()),
                Some(Err(KafkaError::PartitionEOF(_))) => {}
                Some(Err(error)) => return Err(error.into()),
                None => return Ok(taken),
            }
            if !self.has_begun {
                self.has_begun = true;
                meter.begin();
            }
        }
        Ok(most)
    }
}
