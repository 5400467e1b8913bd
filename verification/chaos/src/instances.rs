//! The instances: processes of `kafka-assigner serve` that share the etcd cluster.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kafka_assigner_rig::{Process, free_port};
use kafka_assigner_types::mode::Mode;

use crate::arguments::Settings;
use crate::consumers::{GROUP, SESSION_TIMEOUT};
use crate::moment::until;
use crate::network::Network;

/// How many there are: one may be gone while another is cut off.
pub(crate) const INSTANCES: usize = 3;

/// How long a dead leader leads on.
pub(crate) const LEADER_TTL: Duration = Duration::from_secs(3);

/// An instance listens within a second, unless the machine is very busy.
const START: Duration = Duration::from_secs(30);

/// How long a move may stand in one phase, and how long a warm-up may make no progress: a consumer that was given a
/// partition and is cut off must not hold it for half a minute.
pub(crate) const DEADLINE: Duration = Duration::from_secs(8);

/// The running instances. Those who call one know it by its place, which its successor takes.
#[derive(Debug)]
pub(crate) struct Instances {
    settings: Settings,
    network: Arc<Network>,
    etcd: Vec<SocketAddr>,
    places: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    port: u16,
    started: usize,
    /// The name of the one that runs there.
    id: String,
    process: Option<Process>,
}

/// How the instance at a place is called in the network.
pub(crate) fn server(place: usize) -> String {
    format!("instance-{place}")
}

impl Instances {
    /// Starts all of them, each with links of its own to the members of etcd.
    pub(crate) async fn start(
        settings: &Settings,
        network: Arc<Network>,
        etcd: Vec<SocketAddr>,
    ) -> Result<Self> {
        let mut instances = Self { settings: settings.clone(), network, etcd, places: Vec::new() };
        for place in 0..INSTANCES {
            let port = free_port()?;
            instances.places.push(Place { port, started: 0, id: String::new(), process: None });
            instances.start_at(place).await?;
        }
        Ok(instances)
    }

    /// Starts another one at a place where none runs. Each has a new name, as a pod of a deployment has.
    pub(crate) async fn start_at(&mut self, place: usize) -> Result<()> {
        let id = format!("{}.{}", server(place), self.places[place].started + 1);
        let port = self.places[place].port;
        let log = self.settings.folder.join(format!("{id}.log"));
        let mut command = self.command(place, &id, port, &log).await?;
        let mut process = Process::spawn(&mut command)
            .with_context(|| format!("{} can't be started", self.settings.server.display()))?;
        until(&format!("the start of {id}"), START, || {
            if let Some(status) = process.exit_status()? {
                bail!("{id} ended with {status}:\n{}", fs::read_to_string(&log)?);
            }
            Ok(TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).ok())
        })
        .await?;
        let started = self.places[place].started + 1;
        self.places[place] = Place { port, started, id, process: Some(process) };
        Ok(())
    }

    async fn command(&self, place: usize, id: &str, port: u16, log: &Path) -> Result<Command> {
        let log = File::create(log)?;
        let mut command = Command::new(&self.settings.server);
        command.arg("serve").args(["--instance", id]);
        command.args(["--etcd", &self.etcd_endpoints(place).await?, "--kafka", &self.settings.kafka]);
        command.args(["--listen", &format!("127.0.0.1:{port}"), "--http-listen", "127.0.0.1:0"]);
        command.args(["--leader-ttl", &seconds(LEADER_TTL)]);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(command)
    }

    /// Each prefers another member.
    async fn etcd_endpoints(&self, place: usize) -> Result<String> {
        let mut endpoints = Vec::new();
        for (member, at) in self.etcd.iter().enumerate() {
            let way = self.network.way(&server(place), &format!("etcd-{member}"), *at).await?;
            endpoints.push(format!("http://{way}"));
        }
        endpoints.rotate_left(place);
        Ok(endpoints.join(","))
    }

    /// Where they listen, by their places.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        let address = |place: &Place| SocketAddr::from((Ipv4Addr::LOCALHOST, place.port));
        self.places.iter().map(address).collect()
    }

    /// Creates the group with the command that operators have.
    pub(crate) fn create_group(&self) -> Result<()> {
        let mut command = Command::new(&self.settings.server);
        command.args(["group", "set", GROUP, "--session-timeout", &seconds(SESSION_TIMEOUT)]);
        command.args(["--warm-deadline", &seconds(DEADLINE), "--phase-deadline", &seconds(DEADLINE)]);
        command.args(["--server", &format!("http://{}", self.addresses()[0])]);
        if self.settings.mode != Mode::Overlap {
            // New groups have the mode overlap.
            command.args(["--mode", &self.settings.mode.to_string()]);
        }
        let answer = command.stdin(Stdio::null()).output().context("the command can't be run")?;
        if !answer.status.success() {
            bail!("the group can't be created: {}", String::from_utf8_lossy(&answer.stderr));
        }
        Ok(())
    }

    /// The place of the instance `id`, where it runs.
    pub(crate) fn place_of(&self, id: &str) -> Option<usize> {
        self.places.iter().position(|place| place.id == id && place.process.is_some())
    }

    /// Kills the one at a place.
    pub(crate) fn kill(&mut self, place: usize) {
        self.places[place].process = None;
    }

    /// Stops the one at a place from running. Blocks until it stands still.
    pub(crate) fn freeze(&self, place: usize) -> Result<()> {
        Ok(self.running(place)?.freeze()?)
    }

    /// Lets it go on.
    pub(crate) fn thaw(&self, place: usize) -> Result<()> {
        Ok(self.running(place)?.thaw()?)
    }

    fn running(&self, place: usize) -> Result<&Process> {
        self.places[place].process.as_ref().with_context(|| format!("{} does not run", server(place)))
    }

    /// Those that ended although nobody ended them, with how.
    pub(crate) fn deaths(&mut self) -> Result<Vec<String>> {
        let mut deaths = Vec::new();
        for Place { id, process, .. } in &mut self.places {
            let Some(process) = process else { continue };
            deaths.extend(process.exit_status()?.map(|status| format!("{id} ended with {status}")));
        }
        Ok(deaths)
    }
}

fn seconds(span: Duration) -> String {
    format!("{}s", span.as_secs())
}
