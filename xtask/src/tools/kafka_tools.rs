//! The command-line tools of Apache Kafka with Kafka Streams: a folder of jars, run with Java.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::cache::Entry;
use super::kafka::copy_jars;
use crate::interrupt::Interrupt;

/// The artifacts that are fetched; of the same version as the broker.
const ARTIFACTS: [&str; 2] = ["kafka-tools", "kafka-streams"];

/// The tools of Kafka 4.4.0.
#[derive(Debug)]
pub(crate) struct KafkaTools {
    /// The folder with their jars.
    pub(crate) jars: PathBuf,
}

impl KafkaTools {
    /// Finds them, or fetches 115 MB with Maven.
    pub(crate) fn provide(interrupt: &Interrupt) -> Result<Self> {
        let entry = Entry::new("kafka-tools-4.4.0");
        if let Some(jars) = entry.existing() {
            return Ok(Self { jars });
        }
        eprintln!("fetching Kafka's tools with Maven");
        let jars = entry.fill(|folder| copy_jars(folder, &ARTIFACTS, interrupt));
        Ok(Self { jars: jars.context("no tools of Kafka: install Maven to fetch them")? })
    }
}
