//! The load of the run: a topic, and records for every partition of it.

use std::time::Duration;

use anyhow::Result;
use kafka_assigner_rig::producer::{Content, Load, Production};

/// The topic.
pub(crate) const TOPIC: &str = "chaos";

/// Its partitions: so many that each join and each leave moves some of them.
pub(crate) const PARTITIONS: i32 = 48;

/// The topic that is deleted and created again, with another number of partitions each time.
pub(crate) const RETURNING: &str = "returning";

/// The number from which the partitions of that topic are numbered, here and at the sink; the sink has a hundred for
/// each generation.
const RETURNING_FROM: i32 = 1_000;

/// The numbers of one generation at the sink.
const GENERATION: i32 = 100;

/// The number of a partition in histories, by which claims are compared.
pub(crate) fn number(topic: &str, partition: i32) -> i32 {
    if topic == RETURNING { RETURNING_FROM + partition } else { partition }
}

/// The number of a partition at the sink: another generation of a topic is another log.
pub(crate) const fn sink_number(number: i32, generation: i32) -> i32 {
    number + generation * GENERATION
}

/// The generation to which a number at the sink belongs.
pub(crate) const fn generation_at(sink_number: i32) -> i32 {
    (sink_number - RETURNING_FROM) / GENERATION
}

/// True if that number at the sink is one of the topic that stays.
pub(crate) const fn stays(sink_number: i32) -> bool {
    sink_number < RETURNING_FROM
}

/// The generation that a record says it is of; 0 where it says none.
pub(crate) fn generation(payload: Option<&[u8]>) -> i32 {
    let text = payload.and_then(|payload| std::str::from_utf8(payload).ok());
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// The time between two records of one partition.
const INTERVAL: Duration = Duration::from_millis(100);

/// Starts to produce records.
pub(crate) fn start(kafka: &str) -> Result<Production> {
    let load =
        Load { topic: TOPIC.to_owned(), partitions: PARTITIONS, interval: INTERVAL, linger: Duration::ZERO };
    Production::start(kafka, load, |_, _| Content { key: None, value: "record".to_owned() })
}

/// Starts to produce records into a generation of the topic that returns.
pub(crate) fn start_generation(kafka: &str, generation: i32, partitions: i32) -> Result<Production> {
    let load = Load { topic: RETURNING.to_owned(), partitions, interval: INTERVAL, linger: Duration::ZERO };
    Production::start(kafka, load, move |_, _| Content { key: None, value: generation.to_string() })
}
