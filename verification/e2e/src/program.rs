//! The parts that this program plays.

use crate::arguments::Arguments;
use crate::scenario::Settings;
use crate::scenario::{EdgeWorkerSettings, ServerSettings, WorkerSettings};

/// Real instances and consumers as processes, next to a real etcd and a real Kafka.
#[derive(Debug, clap::Parser)]
pub(crate) enum Program {
    /// Joins, departures and deaths, one after the other, in one group
    Play(Arguments),
    /// One situation in many groups side by side
    Scenario(Settings),
    /// The consumers of a scenario, until SIGTERM
    Work(WorkerSettings),
    /// The consumers of the edges, until SIGTERM
    EdgeWork(EdgeWorkerSettings),
    /// An instance that also has a strategy that panics, until SIGTERM
    Serve(ServerSettings),
}
