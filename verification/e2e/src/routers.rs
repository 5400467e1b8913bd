//! The routers: processes of the example router.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kafka_assigner_rig::{Process, free_port};
use tokio::sync::watch;

use crate::arguments::Arguments;
use crate::consumers::GROUP;
use crate::moment::until;
use crate::topic;

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
    name: String,
    address: SocketAddr,
    process: Process,
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
        let path = self.arguments.folder.join(format!("{name}.{}.log", self.started));
        let log = File::create(&path)?;
        let mut command = Command::new(self.arguments.programs.join("kafka-assigner-example-router"));
        command.args(["--name", &name, "--group", GROUP, "--topic", topic::NAME]);
        command.args(["--endpoints", endpoints, "--listen", &address.to_string()]);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let mut process = Process::spawn(&mut command).with_context(|| format!("{name} can't be started"))?;
        until(&format!("the start of {name}"), START, || {
            if let Some(status) = process.exit_status()? {
                bail!("{name} ended with {status}:\n{}", fs::read_to_string(&path)?);
            }
            Ok(TcpStream::connect(address).ok())
        })
        .await?;
        self.running.push_back(Router { name, address, process });
        self.tell();
        Ok(())
    }

    /// The oldest leaves in good order; returns its name.
    pub(crate) async fn leave(&mut self) -> Result<String> {
        let Router { name, mut process, .. } = self.running.pop_front().context("no router runs")?;
        process.terminate()?;
        self.tell();
        let status = until(&format!("the end of {name}"), STOP, || Ok(process.exit_status()?)).await?;
        if !status.success() {
            bail!("{name} ended with {status}");
        }
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
