//! The cost of the client library's runner next to a plain consumer of librdkafka, which reads the same records with the
//! same fetch settings.
//!
//! | case | what is read | what is measured |
//! | --- | --- | --- |
//! | `1k`, `100b` | records of that size, one call for each | user and system time of the reading process for each record |
//! | `100b-batch` | the same in batches | the same, next to a plain consumer that takes them one by one |
//! | `idle` | 900 partitions without a record | CPU of the process and of the broker, less what the broker takes without it |
//! | `backlog` | 1 000 partitions that are taken up slowly | resident memory |
//!
//! Each reader is a process of its own, served by a real instance in the mode `overlap`. Both sides read in turns, and the
//! median of five runs counts, so that other people's work meets both alike.

mod backlog;
mod case;
mod cpu_share;
mod idle;
pub(crate) mod reader;
mod records;
mod row;
mod stage;
mod throughput;

use std::process::ExitCode;

use anyhow::Result;

use crate::machine::Machine;
pub(crate) use case::Case;
pub(crate) use stage::ServersOfRun;
use stage::Stage;

/// The measured cases and the servers.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    servers: ServersOfRun,
    /// The only case to measure.
    #[arg(long = "case", value_name = "CASE")]
    only: Option<Case>,
    /// One JSON object a case in place of a table.
    #[arg(long)]
    json: bool,
}

/// Measures, and fails where an aim is missed.
///
/// # Errors
/// A server or a reader fails.
///
/// # Cancel safety
/// Cancelled, the readers are killed.
pub(crate) async fn run(arguments: Arguments) -> Result<ExitCode> {
    eprintln!("{}", Machine::look()?);
    let stage = Stage::set(arguments.servers).await?;
    let mut are_met = true;
    for case in Case::ALL.into_iter().filter(|case| arguments.only.is_none_or(|only| only == *case)) {
        let row = match case {
            Case::Kilobyte | Case::Small | Case::SmallBatch => throughput::measure(&stage, case).await?,
            Case::Idle => idle::measure(&stage).await?,
            Case::Backlog => backlog::measure(&stage).await?,
        };
        are_met &= row.tell(arguments.json)?;
    }
    Ok(if are_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
