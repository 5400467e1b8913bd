//! The processes of a scenario's consumers.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use kafka_assigner_audit::Micros;
use kafka_assigner_rig::clock::wall;
use kafka_assigner_rig::{NamedProcess, within};

/// The longest departure: 30 s to hand over, 10 s for what is in the works, and the machine.
const LEAVE: Duration = Duration::from_secs(60);

/// The time between two looks at a process.
const LOOK: Duration = Duration::from_millis(10);

/// The consumers of some groups, each a process.
#[derive(Debug)]
pub(crate) struct Workers {
    program: PathBuf,
    /// The part of the program that each plays.
    part: &'static str,
    folder: PathBuf,
    arguments: Vec<String>,
    running: Vec<NamedProcess>,
}

/// A consumer that was killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Killed {
    /// Its name.
    pub(crate) name: String,
    /// Its process, as sinks have it.
    pub(crate) process: String,
    /// The time.
    pub(crate) at: Micros,
}

impl Workers {
    /// None yet. `arguments` are those that all have in common.
    pub(crate) const fn new(program: PathBuf, folder: PathBuf, arguments: Vec<String>) -> Self {
        Self { program, part: "work", folder, arguments, running: Vec::new() }
    }

    /// The same workers, of which those that join from now on play another part of the program.
    pub(crate) const fn playing(mut self, part: &'static str) -> Self {
        self.part = part;
        self
    }

    /// The same workers with one more argument for those that join from now on.
    pub(crate) fn with(mut self, option: &str, value: impl Into<String>) -> Self {
        self.arguments.extend([option.to_owned(), value.into()]);
        self
    }

    /// The same workers with another value of an argument for those that join from now on.
    pub(crate) fn instead(mut self, option: &str, value: impl Into<String>) -> Self {
        let place = self.arguments.iter().position(|argument| argument == option);
        if let Some(given) = place.and_then(|place| self.arguments.get_mut(place + 1)) {
            *given = value.into();
        }
        self
    }

    /// The consumer `name` joins the groups of the workers.
    pub(crate) fn join(&mut self, name: &str) -> Result<()> {
        let log = self.folder.join(format!("{name}.log"));
        let mut command = Command::new(&self.program);
        command.arg(self.part).args(["--name", name]).args(&self.arguments);
        self.running.push(NamedProcess::start(name, command, log)?);
        Ok(())
    }

    /// The number of those that run.
    pub(crate) const fn size(&self) -> usize {
        self.running.len()
    }

    /// Takes the process with the name `name` out of the workers.
    fn take(&mut self, name: &str) -> Result<NamedProcess> {
        let place = self.running.iter().position(|process| process.name() == name);
        Ok(self.running.remove(place.with_context(|| format!("{name} does not run"))?))
    }

    /// Kills the consumer `name`.
    pub(crate) fn kill(&mut self, name: &str) -> Result<Killed> {
        let process = self.take(name)?;
        let killed =
            Killed { name: name.to_owned(), process: format!("{name}#{}", process.id()), at: wall() };
        drop(process);
        Ok(killed)
    }

    /// The consumer `name` is asked to leave; returns when it has.
    pub(crate) async fn leave(&mut self, name: &str) -> Result<()> {
        self.take(name)?.stop(LEAVE).await
    }

    /// The consumer `name` is asked to leave, and killed where it has not within `grace`, as Kubernetes does. True = it left.
    pub(crate) async fn leaves_within(&mut self, name: &str, grace: Duration) -> Result<bool> {
        let mut process = self.take(name)?;
        process.terminate()?;
        let ended = within(grace, LOOK, || process.death()).await?;
        Ok(ended.is_some())
    }

    /// The number of those that ended although nobody asked them to.
    pub(crate) fn deaths(&mut self) -> Result<usize> {
        let deaths: Result<Vec<_>> = self.running.iter_mut().map(NamedProcess::death).collect();
        Ok(deaths?.into_iter().flatten().count())
    }

    /// All that run are asked to leave at once, and have to.
    pub(crate) async fn end(mut self) -> Result<()> {
        for process in &mut self.running {
            if process.death()?.is_none() {
                process.terminate()?;
            }
        }
        for process in &mut self.running {
            process.ends(LEAVE).await?;
        }
        Ok(())
    }
}
