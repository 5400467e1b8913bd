//! The arguments of a run.

use std::path::PathBuf;

use kafka_assigner_types::mode::Mode;

use crate::scale::{FULL, SHORT, Scale};

/// Puts instances and consumers through joins, departures and deaths, and counts what came of it.
#[derive(Debug, Clone, clap::Parser)]
pub(crate) struct Arguments {
    /// The URL of an etcd that is used by nobody else
    #[arg(long)]
    pub(crate) etcd: String,
    /// Its version, for the report
    #[arg(long)]
    pub(crate) etcd_version: String,
    /// A Kafka broker, as "host:port"
    #[arg(long)]
    pub(crate) kafka: String,
    /// Its version, for the report
    #[arg(long)]
    pub(crate) kafka_version: String,
    /// The folder with the programs: an instance, a consumer, a writer and a router
    #[arg(long)]
    pub(crate) programs: PathBuf,
    /// A folder for logs and journals
    #[arg(long)]
    pub(crate) folder: PathBuf,
    /// What the group promises: overlap, exclusive or routed
    #[arg(long, default_value = "overlap")]
    pub(crate) mode: Mode,
    /// About 20 000 records in half a minute
    #[arg(long)]
    short: bool,
    /// Print nothing but the report
    #[arg(long)]
    pub(crate) json: bool,
}

impl Arguments {
    /// How much is done.
    pub(crate) const fn scale(&self) -> &'static Scale {
        if self.short { &SHORT } else { &FULL }
    }
}
