//! `cargo xtask e2e --scenario NAME`: one situation in many groups side by side.

use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::Result;

use super::{Arguments, folder, play};
use crate::interrupt::Interrupt;
use crate::{run, servers, tools};

/// The scenarios.
pub(super) const NAMES: [&str; 10] = [
    CACHE,
    "churn",
    EDGES,
    KAFKA_GROUPS,
    "killed",
    NATIVE,
    "panics",
    "recreate",
    RESTORED_STORE,
    "slow-drain",
];

/// The one without a service.
const NATIVE: &str = "native";

/// The one that restarts caches.
const CACHE: &str = "cache";

/// The one that starts brokers of its own, and reads from some of them over TLS.
const EDGES: &str = "edges";

/// The feature that it needs.
const SECURED: &str = "kafka-assigner-e2e/secured";

/// The one that needs Kafka's own tools.
const KAFKA_GROUPS: &str = "kafka-groups";

/// The one that needs etcdutl.
const RESTORED_STORE: &str = "restored-store";

/// The packages whose programs take part: an instance, and the one that plays and is the consumers too.
const PACKAGES: [&str; 2] = ["kafka-assigner-cli", "kafka-assigner-e2e"];

/// The packages where there is no service.
const NATIVE_PACKAGES: [&str; 2] = ["kafka-assigner-example-native-consumer", "kafka-assigner-e2e"];

/// The packages where caches are restarted.
const CACHE_PACKAGES: [&str; 3] =
    ["kafka-assigner-cli", "kafka-assigner-e2e", "kafka-assigner-example-cache"];

/// A scenario bounds each of its own steps; the longest takes ten minutes.
const BOUND: Duration = Duration::from_secs(20 * 60);

/// The packages of the scenario `name`.
fn packages(name: &str) -> &'static [&'static str] {
    match name {
        NATIVE => &NATIVE_PACKAGES,
        CACHE => &CACHE_PACKAGES,
        _ => &PACKAGES,
    }
}

/// Builds, starts Kafka and plays; each group of servers has an etcd of its own.
pub(super) fn run(name: &str, arguments: &Arguments, interrupt: &Interrupt) -> Result<ExitCode> {
    let features: &[&str] = if name == EDGES { &[SECURED] } else { &[] };
    let programs = run::build_with(packages(name), features, run::Profile::Release, interrupt)?;
    let etcd = tools::Etcd::provide(interrupt)?;
    let (tool, kafka) = servers::start_kafka(interrupt)?;
    let folder = folder()?;
    let mut command = Command::new(programs.join("kafka-assigner-e2e"));
    command.args(["scenario", name, "--kafka", &kafka.address()]).arg("--etcd").arg(&etcd.binary);
    command.args(["--kafka-version", &tool.version]).arg("--kafka-jars").arg(&tool.jars);
    command.arg("--programs").arg(&programs).arg("--folder").arg(folder.path());
    if name == RESTORED_STORE {
        command.arg("--etcdutl").arg(tools::Etcdutl::provide(interrupt)?.binary);
    }
    if name == KAFKA_GROUPS {
        command.arg("--kafka-tools").arg(tools::KafkaTools::provide(interrupt)?.jars);
    }
    command.args(arguments.short.then_some("--short")).args(arguments.json.then_some("--json"));
    command.stdin(Stdio::null());
    play(command, folder, BOUND, interrupt)
}
