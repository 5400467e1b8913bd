//! The routers: processes of the example router.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use kafka_assigner_rig::{NamedProcess, free_port};
use tokio::sync::watch;

use crate::arguments::Arguments;
use crate::consumers::GROUP;
use crate::load::TOPIC;

/// A router listens once it has a table.
const START: Duration = Duration::from_secs(20);

/// It answers what it holds, which has a bound of ten seconds, and waits for callers to leave for five.
const STOP: Duration = Duration::from_secs(25);

/// The running routers, the oldest first.
#[derive(Debug)]
pub(crate) struct Routers {
    arguments: Arguments,
    started: usize,
    running: VecDeque<Router>,
    /// Where callers find them.
    addresses: watch::Sender<Vec<SocketAddr>>,
}

#[derive(Debug)]
struct Router {
    address: SocketAddr,
    process: NamedProcess,
}

impl Routers {
    /// None yet.
    pub(crate) fn new(arguments: &Arguments) -> Self {
        let (arguments, addresses) = (arguments.clone(), watch::Sender::default());
        Self { arguments, started: 0, running: VecDeque::new(), addresses }
    }

    /// Where those that take requests are, from now on.
    pub(crate) fn addresses(&self) -> watch::Receiver<Vec<SocketAddr>> {
        self.addresses.subscribe()
    }

    /// Another one joins; returns its name.
    pub(crate) async fn join(&mut self, endpoints: &str) -> Result<String> {
        let name = format!("router-{}", self.started + 1);
        self.start(name.clone(), endpoints).await?;
        Ok(name)
    }

    async fn start(&mut self, name: String, endpoints: &str) -> Result<()> {
        self.started += 1;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let log = self.arguments.folder.join(format!("{name}.{}.log", self.started));
        let mut command = Command::new(self.arguments.programs.join("kafka-assigner-example-router"));
        command.args(["--name", &name, "--group", GROUP, "--topic", TOPIC]);
        command.args(["--endpoints", endpoints, "--listen", &address.to_string()]);
        let mut process = NamedProcess::start(name, command, log)?;
        process.listens(address, START).await?;
        self.running.push_back(Router { address, process });
        self.tell();
        Ok(())
    }

    /// The oldest leaves in good order; returns its name.
    pub(crate) async fn leave(&mut self) -> Result<String> {
        let Router { process, .. } = self.running.pop_front().context("no router runs")?;
        let name = process.name().to_owned();
        // Callers go elsewhere while it answers what it holds.
        self.tell();
        process.stop(STOP).await?;
        Ok(name)
    }

    /// The oldest leaves in good order, and comes back under its name; returns it.
    pub(crate) async fn restart(&mut self, endpoints: &str) -> Result<String> {
        let name = self.leave().await?;
        self.start(name.clone(), endpoints).await?;
        Ok(name)
    }

    /// All of them leave.
    pub(crate) async fn stop(mut self) -> Result<()> {
        while !self.running.is_empty() {
            self.leave().await?;
        }
        Ok(())
    }

    fn tell(&self) {
        self.addresses.send_replace(self.running.iter().map(|router| router.address).collect());
    }
}
