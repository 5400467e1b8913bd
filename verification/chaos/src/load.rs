//! The load of the run: a topic, and records for every partition of it.

use std::time::Duration;

use anyhow::Result;
use kafka_assigner_rig::producer::{Content, Load, Production};

/// The topic.
pub(crate) const TOPIC: &str = "chaos";

/// Its partitions: so many that each join and each leave moves some of them.
pub(crate) const PARTITIONS: i32 = 48;

/// The time between two records of one partition.
const INTERVAL: Duration = Duration::from_millis(100);

/// Starts to produce records.
pub(crate) fn start(kafka: &str) -> Result<Production> {
    let load =
        Load { topic: TOPIC.to_owned(), partitions: PARTITIONS, interval: INTERVAL, linger: Duration::ZERO };
    Production::start(kafka, load, |_, _| Content { key: None, value: "record".to_owned() })
}
