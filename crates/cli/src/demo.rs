//! `demo`: the whole way through in one process, and at the end the counts.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kafka_assigner_demo::{Options, RunReport, run};
use kafka_assigner_types::mode::Mode;
use tokio_util::sync::CancellationToken;

use crate::command_error::CommandError;
use crate::output;

/// The arguments of `demo`.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Duration of the run, at least 30s; without it the scenario is repeated until Ctrl-C
    #[arg(long = "for", value_name = "DURATION", value_parser = humantime::parse_duration)]
    duration: Option<Duration>,
    /// Partitions of the topic
    #[arg(long, value_name = "N", default_value_t = 24)]
    partitions: u32,
    /// Records per second in each partition
    #[arg(long, value_name = "N", default_value_t = 50)]
    rate: u32,
    /// The group's mode: overlap, exclusive or routed
    #[arg(long, value_name = "MODE", default_value_t = Mode::Overlap)]
    mode: Mode,
    /// Brokers of a real cluster ("host:port,…"); a topic is created there. Without it a cluster is embedded
    #[arg(long, value_name = "BROKERS")]
    brokers: Option<String>,
    /// Produce the lines of this file, a record a line, in place of made-up records
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Repeat the choices of another run
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Print the result as one JSON object, the last line of standard output
    #[arg(long)]
    json: bool,
}

impl Demo {
    /// Runs the demonstration, and prints what it came to.
    ///
    /// # Errors
    /// [`CommandError`], also where something was lost.
    pub(crate) async fn run(self) -> Result<(), CommandError> {
        let interrupt = CancellationToken::new();
        let ended = tokio::spawn(cancel_on_interrupt(interrupt.clone()));
        let json = self.json;
        let report = run(self.options(), interrupt).await?;
        ended.abort();
        print(&report, json)?;
        if report.is_clean() { Ok(()) } else { Err(CommandError::DemoUnclean) }
    }

    fn options(self) -> Options {
        Options {
            duration: self.duration,
            partitions: self.partitions,
            rate: self.rate,
            mode: self.mode,
            brokers: self.brokers,
            input: self.input,
            seed: self.seed,
            json: self.json,
        }
    }
}

async fn cancel_on_interrupt(interrupt: CancellationToken) {
    if tokio::signal::ctrl_c().await.is_ok() {
        interrupt.cancel();
    }
}

fn print(report: &RunReport, json: bool) -> Result<(), CommandError> {
    if json {
        let line = serde_json::to_string(report).expect("a report has text keys and finite numbers only");
        return output::print(&format!("{line}\n"));
    }
    let events: String = if std::io::stdout().is_terminal() { said(report) } else { String::new() };
    output::print(&format!("{events}{report}"))
}

/// The events, which the live view took with it.
fn said(report: &RunReport) -> String {
    let line =
        |at_ms: u64, text: &str| format!("{:>6.1}s  {text}\n", Duration::from_millis(at_ms).as_secs_f64());
    report.events.iter().map(|event| line(event.at_ms, &event.text)).collect()
}
