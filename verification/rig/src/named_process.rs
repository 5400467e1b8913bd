//! Processes of a run: an instance, a consumer, a router.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::{Process, until};

/// A running process with a name; it is killed when this is dropped.
#[derive(Debug)]
pub struct NamedProcess {
    name: String,
    /// The file of its outputs; `None` = its outputs are those of this process.
    log: Option<PathBuf>,
    process: Process,
}

impl NamedProcess {
    /// Starts `command`, whose outputs go to the new file `log`.
    ///
    /// # Errors
    /// When the file can't be made, or the program can't be started.
    pub fn start(name: impl Into<String>, mut command: Command, log: PathBuf) -> Result<Self> {
        let file = File::create(&log).with_context(|| format!("{} can't be made", log.display()))?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        Self::spawn(name.into(), command, Some(log))
    }

    /// Starts `command`, whose outputs are those of this process.
    ///
    /// # Errors
    /// When the program can't be started.
    pub fn start_shown(name: impl Into<String>, command: Command) -> Result<Self> {
        Self::spawn(name.into(), command, None)
    }

    fn spawn(name: String, mut command: Command, log: Option<PathBuf>) -> Result<Self> {
        let process = Process::spawn(&mut command).with_context(|| format!("{name} can't be started"))?;
        Ok(Self { name, log, process })
    }

    /// The name that it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The id of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The outputs so far; nothing where they are those of this process.
    #[must_use]
    pub fn log(&self) -> String {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        self.log.as_ref().map_or_else(String::new, read)
    }

    /// Waits until it accepts connections at `address`.
    ///
    /// # Errors
    /// When it ends before, with its log, or does not listen within `bound`.
    ///
    /// # Cancel safety
    /// Cancel safe: the process goes on.
    pub async fn listens(&mut self, address: SocketAddr, bound: Duration) -> Result<()> {
        until(&format!("the start of {}", self.name), bound, || {
            self.must_run()?;
            Ok(TcpStream::connect(address).ok())
        })
        .await?;
        Ok(())
    }

    /// Fails where it has ended.
    ///
    /// # Errors
    /// When it has, with its log.
    pub fn must_run(&mut self) -> Result<()> {
        match self.death()? {
            Some(death) => bail!("{death}; its log is\n{}", self.log()),
            None => Ok(()),
        }
    }

    /// The words that say how it ended; `None` while it runs.
    ///
    /// # Errors
    /// When the system can't tell.
    pub fn death(&mut self) -> Result<Option<String>> {
        let status = self.process.exit_status()?;
        Ok(status.map(|status| format!("{} ended with {status}", self.name)))
    }

    /// Asks it to end, with SIGTERM.
    ///
    /// # Errors
    /// When it is gone.
    pub fn terminate(&self) -> Result<()> {
        self.process.terminate().with_context(|| format!("{} is gone", self.name))
    }

    /// Waits until it has ended; it must have been asked to.
    ///
    /// # Errors
    /// When it does not end within `bound`.
    ///
    /// # Cancel safety
    /// Cancel safe: the process goes on.
    pub async fn ends(&mut self, bound: Duration) -> Result<ExitStatus> {
        until(&format!("the end of {}", self.name), bound, || Ok(self.process.exit_status()?)).await
    }

    /// Asks it to end, and waits until it has, in good order.
    ///
    /// # Errors
    /// When it is gone, does not end within `bound`, or ends with another code than 0.
    ///
    /// # Cancel safety
    /// Cancelled, the process is killed.
    pub async fn stop(mut self, bound: Duration) -> Result<()> {
        self.terminate()?;
        self.ends_well(bound).await
    }

    /// Waits until it has ended in good order; it must have been asked to.
    ///
    /// # Errors
    /// When it does not end within `bound`, or ends with another code than 0.
    ///
    /// # Cancel safety
    /// Cancel safe: the process goes on.
    pub async fn ends_well(&mut self, bound: Duration) -> Result<()> {
        let status = self.ends(bound).await?;
        if !status.success() {
            bail!("{} ended with {status}", self.name);
        }
        Ok(())
    }

    /// Stops it from running. Blocks until it stands still.
    ///
    /// # Errors
    /// When it is gone.
    pub fn freeze(&self) -> Result<()> {
        self.process.freeze().with_context(|| format!("{} is gone", self.name))
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// When it is gone.
    pub fn thaw(&self) -> Result<()> {
        self.process.thaw().with_context(|| format!("{} is gone", self.name))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const BOUND: Duration = Duration::from_secs(10);

    fn shell(script: &str, log: PathBuf) -> NamedProcess {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        NamedProcess::start("it", command, log).unwrap()
    }

    #[tokio::test]
    async fn a_process_that_ends_before_it_listens_shows_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = shell("echo no such option >&2; exit 3", folder.path().join("log"));
        // Port 1 is nobody's.
        let error = process.listens((Ipv4Addr::LOCALHOST, 1).into(), BOUND).await.unwrap_err().to_string();
        assert!(
            error.contains("it ended with exit status: 3") && error.contains("no such option"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_stop_in_good_order_has_the_code_0() {
        let folder = tempfile::tempdir().unwrap();
        for (code, is_good) in [(0, true), (7, false)] {
            let log = folder.path().join(code.to_string());
            let script = format!("trap 'exit {code}' TERM; echo ready; while :; do sleep 0.01; done");
            let process = shell(&script, log);
            let ready = || Ok(process.log().contains("ready").then_some(()));
            until("the trap", BOUND, ready).await.unwrap();
            assert_eq!(process.stop(BOUND).await.is_ok(), is_good);
        }
    }
}
