//! Explores every mode and every broken variant, and tells what was seen.

use std::io;
use std::process::ExitCode;

use clap::Parser;
use kafka_assigner_model::report::Report;
use mimalloc::MiMalloc;

/// States are copied by the million, most of them to be dropped at once.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Explores the handoff protocol state by state: what must hold does, and every rule taken out is missed.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask model")]
struct Arguments {
    /// Print everything as one line of JSON, last.
    #[arg(long)]
    json: bool,
    /// Explore only what has this in its name.
    #[arg(long)]
    only: Option<String>,
    /// Print the steps that lead to what is violated.
    #[arg(long)]
    trace: bool,
}

fn main() -> io::Result<ExitCode> {
    let arguments = Arguments::parse();
    let report = Report::make(arguments.only.as_deref().unwrap_or_default(), arguments.trace);
    let mut out = io::stdout().lock();
    if arguments.json {
        report.write_json(&mut out)?;
    } else {
        report.write_table(&mut out)?;
    }
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
