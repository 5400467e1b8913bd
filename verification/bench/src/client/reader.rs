//! A reading process: the runner, or a plain consumer, with what it reports on its standard output.
//!
//! | line | when |
//! | --- | --- |
//! | `ready` | it reads all partitions |
//! | `rest`, `rested NANOS` | in the case `idle`: a while begins, and has ended, with the CPU time of it |
//! | `measured NANOS` | where records are counted: the CPU time for each, from the first tenth of them to the last one |

mod meter;
mod ours;
mod plain;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;

use super::case::Case;
use meter::Meter;

/// The most records of a batch in the case `100b-batch`.
const BATCH: usize = 500;

/// The time for one record in the case `backlog`: every partition begins soon, and none gets far.
const SLOW: Duration = Duration::from_millis(50);

/// The side whose reading is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Side {
    /// The runner of the client library.
    Ours,
    /// A consumer of librdkafka.
    Plain,
}

/// The arguments of a reading process.
#[derive(Debug, clap::Args)]
pub(crate) struct ReaderArguments {
    side: Side,
    case: Case,
    /// The broker, as "host:port".
    kafka: String,
    /// The URL of the instance that serves it.
    instance: String,
    /// The name of the group, of the service and of Kafka.
    group: String,
}

/// Reads until the process is killed.
///
/// # Errors
/// Kafka or the service refuses it.
pub(crate) async fn run(arguments: ReaderArguments) -> Result<()> {
    let meter = Arc::new(Meter::new(arguments.case));
    match arguments.side {
        Side::Ours => ours::read(&arguments, meter).await,
        Side::Plain => tokio::task::spawn_blocking(move || plain::read(&arguments, &meter)).await?,
    }
}
