//! Servers in processes of their own.

use std::env;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use kafka_assigner_rig::{NamedProcess, free_port};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::machine::{processor_time, resident_kib};

/// A server starts within a fraction of a second.
const START: Duration = Duration::from_secs(20);

/// A server; it ends with this value.
#[derive(Debug)]
pub(crate) struct Child {
    /// The URL at which it is reached.
    pub(crate) address: String,
    process: NamedProcess,
}

impl Child {
    /// Starts this very program as `what`, and waits until it listens.
    pub(crate) async fn start(what: &str, arguments: &[&str]) -> Result<Self> {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let mut command = Command::new(env::current_exe()?);
        command.arg(what).arg(listen.to_string()).args(arguments);
        let mut process = NamedProcess::start_shown(what, command)?;
        process.listens(listen, START).await?;
        Ok(Self { address: format!("http://{listen}"), process })
    }

    /// The time for which it has used a processor.
    pub(crate) fn processor_time(&self) -> Result<Duration> {
        processor_time(self.process.id())
    }

    /// Its resident memory.
    pub(crate) fn resident_kib(&self) -> Result<u64> {
        resident_kib(self.process.id())
    }
}

/// Lets this process and those that it starts have `count` files and connections open.
pub(crate) fn allow_connections(count: usize) -> Result<()> {
    let wanted = u64::try_from(count)?;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).with_context(|| format!("{count} connections are not allowed here"))
}
