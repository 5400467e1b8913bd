//! The servers of a test run.

use std::ffi::OsString;

use anyhow::Result;
use kafka_assigner_rig as testkit;
use testkit::{ETCD_BINARY_VARIABLE, ETCD_VARIABLE, EtcdConfig, KAFKA_JARS_VARIABLE, KAFKA_VARIABLE};

use crate::interrupt::Interrupt;
use crate::tools;

/// The servers that tests run against; everything stops when this is dropped.
#[derive(Debug)]
pub(crate) struct Servers {
    etcd: Result<(tools::Etcd, testkit::Etcd)>,
    kafka: Result<(tools::Kafka, testkit::Kafka)>,
}

impl Servers {
    /// Provides and starts what can be had; the rest is reported by [`Servers::report`].
    pub(crate) fn start(interrupt: &Interrupt) -> Result<Self> {
        let etcd = start_etcd(interrupt);
        interrupt.check()?;
        let kafka = start_kafka(interrupt);
        interrupt.check()?;
        Ok(Self { etcd, kafka })
    }

    /// The variables that tell tests where the servers are.
    pub(crate) fn variables(&self) -> Vec<(&'static str, OsString)> {
        let mut variables = Vec::new();
        if let Ok((tool, etcd)) = &self.etcd {
            variables.push((ETCD_VARIABLE, etcd.endpoint().into()));
            variables.push((ETCD_BINARY_VARIABLE, tool.binary.clone().into()));
        }
        if let Ok((tool, kafka)) = &self.kafka {
            variables.push((KAFKA_VARIABLE, kafka.address().into()));
            variables.push((KAFKA_JARS_VARIABLE, tool.jars.clone().into()));
        }
        variables
    }

    /// One line a server: its version and origin, or why there is none.
    pub(crate) fn report(&self) -> String {
        let etcd = match &self.etcd {
            Ok((tool, etcd)) => format!("{} ({}) at {}", tool.version, tool.origin, etcd.endpoint()),
            Err(error) => format!("none: {error:#}"),
        };
        let kafka = match &self.kafka {
            Ok((tool, kafka)) => format!("{} ({}) at {}", tool.version, tool.origin, kafka.address()),
            Err(error) => format!("none: {error:#}"),
        };
        format!("etcd   {etcd}\nKafka  {kafka}")
    }
}

/// Finds or makes etcd, and starts one.
pub(crate) fn start_etcd(interrupt: &Interrupt) -> Result<(tools::Etcd, testkit::Etcd)> {
    let tool = tools::Etcd::provide(interrupt)?;
    let etcd = testkit::Etcd::start(&EtcdConfig::new(tool.binary.clone()))?;
    Ok((tool, etcd))
}

/// Finds or fetches Kafka, and starts one.
pub(crate) fn start_kafka(interrupt: &Interrupt) -> Result<(tools::Kafka, testkit::Kafka)> {
    start_kafka_with(&[], interrupt)
}

/// The same, with more of the broker's own properties.
pub(crate) fn start_kafka_with(
    properties: &[&str],
    interrupt: &Interrupt,
) -> Result<(tools::Kafka, testkit::Kafka)> {
    let tool = tools::Kafka::provide(interrupt)?;
    let kafka = testkit::Kafka::start_with(&tool.jars, properties)?;
    Ok((tool, kafka))
}
