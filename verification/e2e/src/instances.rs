//! The instances: processes of `kafka-assigner serve` that share the etcd.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kafka_assigner_rig::{Process, free_port};
use kafka_assigner_types::mode::Mode;

use crate::arguments::Arguments;
use crate::consumers::GROUP;
use crate::moment::until;
use crate::scale::{LEADER_TTL, MOVES_IN_FLIGHT, SESSION_TIMEOUT};

/// How many instances there are.
const INSTANCES: usize = 2;

/// An instance listens within a second, unless the machine is very busy.
const START: Duration = Duration::from_secs(20);

/// An instance that ends in good order gives up its leadership and ends its streams.
const STOP: Duration = Duration::from_secs(15);

/// The running instances.
#[derive(Debug)]
pub(crate) struct Instances {
    arguments: Arguments,
    started: usize,
    running: Vec<Instance>,
}

#[derive(Debug)]
struct Instance {
    id: String,
    port: u16,
    process: Process,
}

impl Instances {
    /// Starts all of them.
    pub(crate) async fn start(arguments: &Arguments) -> Result<Self> {
        let mut instances = Self { arguments: arguments.clone(), started: 0, running: Vec::new() };
        for _ in 0..INSTANCES {
            instances.start_at(free_port()?).await?;
        }
        Ok(instances)
    }

    /// Starts one; each has a new name, as a pod of a deployment has, and the address of the one it replaces.
    async fn start_at(&mut self, port: u16) -> Result<()> {
        self.started += 1;
        let id = format!("instance-{}", self.started);
        let log = self.arguments.folder.join(format!("{id}.log"));
        let mut process = Process::spawn(&mut self.command(&id, port, &log)?)
            .with_context(|| format!("{id} can't be started"))?;
        let what = format!("the start of {id}");
        until(&what, START, || {
            if let Some(status) = process.exit_status()? {
                bail!("{id} ended with {status}:\n{}", fs::read_to_string(&log)?);
            }
            Ok(TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).ok())
        })
        .await?;
        self.running.push(Instance { id, port, process });
        Ok(())
    }

    fn program(&self) -> Command {
        Command::new(self.arguments.programs.join("kafka-assigner"))
    }

    fn command(&self, id: &str, port: u16, log: &PathBuf) -> Result<Command> {
        let log = File::create(log)?;
        let mut command = self.program();
        command.arg("serve").args(["--instance", id]);
        command.args(["--etcd", &self.arguments.etcd, "--kafka", &self.arguments.kafka]);
        command.args(["--listen", &format!("127.0.0.1:{port}"), "--http-listen", "127.0.0.1:0"]);
        command.args(["--leader-ttl", &format!("{}s", LEADER_TTL.as_secs())]);
        command.args(["--group-session-timeout", &format!("{}s", SESSION_TIMEOUT.as_secs())]);
        command.args(["--group-max-moves-in-flight", &MOVES_IN_FLIGHT.to_string()]);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(command)
    }

    /// Where they are reached, with commas.
    pub(crate) fn endpoints(&self) -> String {
        let endpoint = |instance: &Instance| format!("http://127.0.0.1:{}", instance.port);
        self.running.iter().map(endpoint).collect::<Vec<_>>().join(",")
    }

    /// Sets the group's strategy with the command that operators have.
    pub(crate) fn set_strategy(&self, strategy: &str) -> Result<()> {
        self.set(["--strategy", strategy])
    }

    /// Has the group promise what `mode` promises.
    pub(crate) fn set_mode(&self, mode: Mode) -> Result<()> {
        self.set(["--mode", &mode.to_string()])
    }

    fn set(&self, setting: [&str; 2]) -> Result<()> {
        let instance = self.running.first().context("no instance runs")?;
        let server = format!("http://127.0.0.1:{}", instance.port);
        let mut command = self.program();
        command.args(["group", "set", GROUP, "--server", &server]).args(setting);
        let answer = command.stdin(Stdio::null()).output().context("the command can't be run")?;
        if !answer.status.success() {
            bail!("{} can't be set: {}", setting.join(" "), String::from_utf8_lossy(&answer.stderr));
        }
        Ok(())
    }

    /// Kills the instance `id`, and returns the port that it leaves.
    pub(crate) fn kill(&mut self, id: &str) -> Result<u16> {
        let position = self.running.iter().position(|instance| instance.id == id);
        let killed = self.running.remove(position.with_context(|| format!("{id}, which leads, is unknown"))?);
        drop(killed.process);
        Ok(killed.port)
    }

    /// Starts another one in the place of a killed one, and returns its name.
    pub(crate) async fn replace(&mut self, port: u16) -> Result<String> {
        self.start_at(port).await?;
        Ok(format!("instance-{}", self.started))
    }

    /// Ends all of them in good order.
    pub(crate) async fn stop(mut self) -> Result<()> {
        for Instance { id, process, .. } in &mut self.running {
            process.terminate()?;
            let status = until(&format!("the end of {id}"), STOP, || Ok(process.exit_status()?)).await?;
            if !status.success() {
                bail!("{id} ended with {status}");
            }
        }
        Ok(())
    }
}
