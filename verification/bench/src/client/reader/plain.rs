//! A consumer of librdkafka with the runner's settings and a queue for each partition, each with a thread of its own, as rdkafka
//! has it: partitions are read side by side, as by the runner.

use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result};
use kafka_assigner_client::kafka::KafkaOptions;
use kafka_assigner_client::kafka::rdkafka::consumer::base_consumer::PartitionQueue;
use kafka_assigner_client::kafka::rdkafka::consumer::{BaseConsumer, Consumer as _, DefaultConsumerContext};
use kafka_assigner_client::kafka::rdkafka::error::KafkaError;
use kafka_assigner_client::kafka::rdkafka::util::Timeout;
use kafka_assigner_client::kafka::rdkafka::{Message as _, Offset, TopicPartitionList};

use super::meter::{Meter, Tally};
use super::{ReaderArguments, SLOW};
use crate::client::case::Case;

/// The stack of a thread that takes records: a thousand of them must not count as memory of records.
const STACK: usize = 64 * 1024;

type PlainQueue = PartitionQueue<DefaultConsumerContext>;

/// Reads until the process is killed. Blocks.
pub(super) fn read(arguments: &ReaderArguments, meter: &Arc<Meter>) -> Result<()> {
    let consumer = KafkaOptions::new(&arguments.kafka, &arguments.group).client_config().create();
    let (consumer, case): (Arc<BaseConsumer>, Case) = (Arc::new(consumer?), arguments.case);
    let queues = (0..case.partitions()).map(|partition| split(&consumer, case, partition));
    let queues = queues.collect::<Result<Vec<_>>>()?;
    assign(&consumer, case)?;
    for queue in queues {
        let meter = meter.clone();
        thread::Builder::new().stack_size(STACK).spawn(move || take(&queue, case, &meter))?;
    }
    // The consumer's own events; nothing comes here that ends it.
    loop {
        drop(consumer.poll(Timeout::Never));
    }
}

fn split(consumer: &Arc<BaseConsumer>, case: Case, partition: u32) -> Result<PlainQueue> {
    consumer.split_partition_queue(case.topic(), i32::try_from(partition)?).context("there is no queue")
}

fn assign(consumer: &BaseConsumer, case: Case) -> Result<()> {
    let mut list = TopicPartitionList::new();
    for partition in 0..case.partitions() {
        list.add_partition_offset(case.topic(), i32::try_from(partition)?, Offset::Beginning)?;
    }
    Ok(consumer.incremental_assign(&list)?)
}

/// Takes the records of a partition as they come, or slowly. Errors of brokers pass.
fn take(queue: &PlainQueue, case: Case, meter: &Meter) {
    let (mut tally, mut has_begun) = (Tally::default(), false);
    loop {
        match queue.poll(Timeout::Never) {
            Some(Ok(record)) => meter.count(&mut tally, record.payload()),
            Some(Err(KafkaError::PartitionEOF(_))) | None => {}
            Some(Err(error)) => eprintln!("{error}"),
        }
        if !has_begun {
            has_begun = true;
            meter.begin();
        }
        if case == Case::Backlog {
            thread::sleep(SLOW);
        }
    }
}
