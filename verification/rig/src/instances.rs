//! Instances: processes of `kafka-assigner serve` that share an etcd and a Kafka.

use std::fmt::Display;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::{NamedProcess, free_port};

/// An instance listens within a second, unless the machine is very busy.
const START: Duration = Duration::from_secs(30);

/// An instance that ends in good order gives up its leadership and ends its streams.
const STOP: Duration = Duration::from_secs(15);

/// The program with the settings that all instances of a run share.
#[derive(Debug, Clone)]
pub struct Service {
    program: PathBuf,
    /// The program whose `serve` an instance is, where that is another one.
    server: Option<PathBuf>,
    kafka: String,
    folder: PathBuf,
    options: Vec<String>,
}

impl Service {
    /// The `program` `kafka-assigner` with its defaults; `kafka` is "host:port", logs go to `folder`.
    #[must_use]
    pub fn new(program: PathBuf, kafka: &str, folder: &Path) -> Self {
        Self {
            program,
            server: None,
            kafka: kafka.to_owned(),
            folder: folder.to_owned(),
            options: Vec::new(),
        }
    }

    /// With the value of an option of `kafka-assigner serve`, such as `--leader-ttl`.
    #[must_use]
    pub fn with(mut self, option: &str, value: impl Display) -> Self {
        self.options.extend([option.to_owned(), value.to_string()]);
        self
    }

    /// With a switch of `kafka-assigner serve`, such as `--kafka-tls`.
    #[must_use]
    pub fn with_switch(mut self, switch: &str) -> Self {
        self.options.push(switch.to_owned());
        self
    }

    /// With instances that another program serves, which takes the same arguments.
    #[must_use]
    pub fn served_by(mut self, server: PathBuf) -> Self {
        self.server = Some(server);
        self
    }

    fn command(&self, id: &str, etcd: &str, listen: SocketAddr) -> Command {
        let mut command = Command::new(self.server.as_ref().unwrap_or(&self.program));
        command.arg("serve").args(["--instance", id, "--etcd", etcd, "--kafka", &self.kafka]);
        command.args(["--listen", &listen.to_string(), "--http-listen", "127.0.0.1:0"]).args(&self.options);
        command
    }

    /// Runs `kafka-assigner group set`, as operators do.
    fn set_group(&self, instance: SocketAddr, group: &str, settings: &[&str]) -> Result<()> {
        let mut command = Command::new(&self.program);
        command.args(["group", "set", group, "--server", &format!("http://{instance}")]).args(settings);
        let answer = command.stdin(Stdio::null()).output().context("the command can't be run")?;
        if !answer.status.success() {
            let said = String::from_utf8_lossy(&answer.stderr);
            bail!("the group {group} can't be set to {}: {said}", settings.join(" "));
        }
        Ok(())
    }
}

/// Running instances. Those who call one know it by its place, whose address its successor takes.
#[derive(Debug)]
pub struct Instances {
    service: Service,
    places: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    address: SocketAddr,
    process: Option<NamedProcess>,
}

impl Instances {
    /// None yet.
    #[must_use]
    pub const fn new(service: Service) -> Self {
        Self { service, places: Vec::new() }
    }

    /// Starts the instance `id` at a new place, on the `etcd` with these URLs, separated by commas.
    ///
    /// # Errors
    /// When it does not start; its log is in the text.
    ///
    /// # Cancel safety
    /// Cancelled, the place exists and no instance runs there.
    pub async fn add(&mut self, id: &str, etcd: &str) -> Result<()> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        self.places.push(Place { address, process: None });
        self.start_at(self.places.len() - 1, id, etcd).await
    }

    /// Starts the instance `id` at a place where none runs. Each has a new name, as a pod of a deployment has.
    ///
    /// # Errors
    /// When it does not start; its log is in the text.
    ///
    /// # Panics
    /// Where there is no such place.
    ///
    /// # Cancel safety
    /// Cancelled, no instance runs there.
    pub async fn start_at(&mut self, place: usize, id: &str, etcd: &str) -> Result<()> {
        let address = self.places[place].address;
        let log = self.service.folder.join(format!("{id}.log"));
        let mut process = NamedProcess::start(id, self.service.command(id, etcd, address), log)?;
        process.listens(address, START).await?;
        self.places[place].process = Some(process);
        Ok(())
    }

    /// The addresses, by place.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.places.iter().map(|place| place.address).collect()
    }

    /// The URLs, by place and separated by commas.
    #[must_use]
    pub fn endpoints(&self) -> String {
        urls(&self.addresses())
    }

    /// Sets a group, or creates it, with the command that operators have.
    ///
    /// # Errors
    /// When no instance runs, or the command fails; its words are in the text.
    pub fn set_group(&self, group: &str, settings: &[&str]) -> Result<()> {
        let running = self.places.iter().find(|place| place.process.is_some());
        self.service.set_group(running.context("no instance runs")?.address, group, settings)
    }

    /// The place of the instance `id`, where it runs.
    #[must_use]
    pub fn place_of(&self, id: &str) -> Option<usize> {
        let is_it = |process: &NamedProcess| process.name() == id;
        self.places.iter().position(|place| place.process.as_ref().is_some_and(is_it))
    }

    /// Kills the instance at a place, if one runs there.
    ///
    /// # Panics
    /// Where there is no such place.
    pub fn kill(&mut self, place: usize) {
        self.places[place].process = None;
    }

    /// The process at a place.
    ///
    /// # Errors
    /// When none runs there.
    ///
    /// # Panics
    /// Where there is no such place.
    pub fn running(&self, place: usize) -> Result<&NamedProcess> {
        self.places[place].process.as_ref().with_context(|| format!("no instance runs at place {place}"))
    }

    fn processes(&mut self) -> impl Iterator<Item = &mut NamedProcess> {
        self.places.iter_mut().filter_map(|place| place.process.as_mut())
    }

    /// The instances that ended although nobody ended them, with how.
    ///
    /// # Errors
    /// When the system can't tell.
    pub fn deaths(&mut self) -> Result<Vec<String>> {
        self.processes().filter_map(|process| process.death().transpose()).collect()
    }

    /// Ends all of them in good order, one after the other.
    ///
    /// # Errors
    /// When one does not end, or with another code than 0.
    ///
    /// # Cancel safety
    /// Cancelled, all are killed.
    pub async fn stop(self) -> Result<()> {
        for process in self.places.into_iter().filter_map(|place| place.process) {
            process.stop(STOP).await?;
        }
        Ok(())
    }
}

/// The URLs of servers at these addresses, separated by commas.
#[must_use]
pub fn urls(addresses: &[SocketAddr]) -> String {
    addresses.iter().map(|address| format!("http://{address}")).collect::<Vec<_>>().join(",")
}

/// Whole seconds as the command line has them: `3s`.
#[must_use]
pub fn seconds(span: Duration) -> String {
    format!("{}s", span.as_secs())
}
