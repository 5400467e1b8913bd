//! `cargo xtask bench client`: what the client library costs, next to a plain consumer of librdkafka; see
//! `verification/bench`.

use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use kafka_assigner_rig::Process;

use crate::interrupt::Interrupt;
use crate::{run, servers};

/// All of it takes eight minutes on two cores.
const BOUND: Duration = Duration::from_secs(15 * 60);

/// A look at a topic that is not there yet must not make it.
const PROPERTIES: [&str; 1] = ["auto.create.topics.enable=false"];

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The only case to measure: 1k, 100b, 100b-batch, idle or backlog.
    #[arg(long, value_name = "CASE")]
    case: Option<String>,
    /// One JSON object a case in place of a table.
    #[arg(long)]
    json: bool,
}

/// Builds the benchmark as programs are shipped, starts the servers and measures; the code is 1 where an aim is missed.
pub(super) fn run(arguments: &Arguments, interrupt: &Interrupt) -> Result<ExitCode> {
    let programs = run::build(&["kafka-assigner-bench"], run::Profile::Dist, interrupt)?;
    let (etcd_tool, etcd) = servers::start_etcd(interrupt)?;
    interrupt.check()?;
    let (kafka_tool, kafka) = servers::start_kafka_with(&PROPERTIES, interrupt)?;
    eprintln!("etcd {}, Kafka {}", etcd_tool.version, kafka_tool.version);
    let broker = kafka.process_id().context("the broker has ended")?;
    let mut command = Command::new(programs.join("kafka-assigner-bench"));
    command.arg("client").args(["--etcd", &etcd.endpoint(), "--kafka", &kafka.address()]);
    command.args(["--broker-process", &broker.to_string()]).args(arguments.json.then_some("--json"));
    command.args(arguments.case.iter().flat_map(|case| ["--case", case])).stdin(Stdio::null());
    let mut process = Process::spawn(&mut command).context("failed to start the measurement")?;
    let status = interrupt.wait("the measurement", BOUND, || Ok(process.exit_status()?))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
