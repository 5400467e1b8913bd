//! The instance of this project's service: a process of `kafka-assigner serve`.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kafka_assigner_rig::{Process, free_port};

use crate::arguments::Measure;
use crate::moment::within;
use crate::system::SESSION_TIMEOUT;

/// An instance listens within a second, unless the machine is very busy.
const START: Duration = Duration::from_secs(20);

/// A running instance, which ends with this value.
#[derive(Debug)]
pub(crate) struct Instance {
    server: PathBuf,
    /// Where it is reached, as a URL.
    pub(crate) endpoint: String,
    _process: Process,
}

impl Instance {
    /// Starts one, and waits until it listens.
    pub(crate) async fn start(arguments: &Measure) -> Result<Self> {
        let (port, log) = (free_port()?, arguments.folder.join("instance.log"));
        let mut process = Process::spawn(&mut command(arguments, port, File::create(&log)?)?)
            .with_context(|| format!("{} can't be started", arguments.server.display()))?;
        let listening = within(START, || {
            if let Some(status) = process.exit_status()? {
                bail!("the instance ended with {status}:\n{}", fs::read_to_string(&log)?);
            }
            Ok(TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).ok())
        });
        listening.await?.context("the instance does not listen")?;
        let endpoint = format!("http://127.0.0.1:{port}");
        Ok(Self { server: arguments.server.clone(), endpoint, _process: process })
    }

    /// Creates a group that is set so, with the command that operators have.
    pub(crate) fn create_group(&self, group: &str, settings: &[&str]) -> Result<()> {
        let mut command = Command::new(&self.server);
        command.args(["group", "set", group, "--server", &self.endpoint]).args(settings);
        let answer = command.stdin(Stdio::null()).output().context("the command can't be run")?;
        if !answer.status.success() {
            bail!("the group can't be created: {}", String::from_utf8_lossy(&answer.stderr));
        }
        Ok(())
    }
}

fn command(arguments: &Measure, port: u16, log: File) -> Result<Command> {
    let mut command = Command::new(&arguments.server);
    command.arg("serve").args(["--instance", "gap", "--etcd", &arguments.etcd, "--kafka", &arguments.kafka]);
    command.args(["--listen", &format!("127.0.0.1:{port}"), "--http-listen", "127.0.0.1:0"]);
    command.args(["--group-session-timeout", &format!("{}s", SESSION_TIMEOUT.as_secs())]);
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    Ok(command)
}
