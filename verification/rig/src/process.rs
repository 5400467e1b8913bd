//! Child processes that can't outlive us.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::wait::holds_within;

/// A child process with everything that it starts, ended when this value is dropped.
///
/// The child leads a process group of its own, so one signal reaches its children too. A watchdog shell
/// holds the other end of a pipe to us and ends the group once we are gone, however that came about
/// (`kill -9` included).
#[derive(Debug)]
pub struct Process {
    child: Child,
    watchdog: Child,
}

impl Process {
    /// Starts `command` as the leader of a new process group.
    ///
    /// # Errors
    /// When the program, or the watchdog's `sh`, can't be started.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let mut child = command.process_group(0).spawn()?;
        match watchdog(child.id()) {
            Ok(watchdog) => Ok(Self { child, watchdog }),
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error)
            }
        }
    }

    /// The process id, which is the group's id too.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The exit status of the child, or `None` while it runs.
    ///
    /// # Errors
    /// When the system can't tell.
    pub fn exit_status(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Stops the whole group from running without ending it, as a machine that hangs.
    ///
    /// # Errors
    /// When the group is gone, or does not stand still.
    pub fn freeze(&self) -> io::Result<()> {
        self.signal(Signal::STOP)?;
        // A busy machine stops its threads one after the other, and one that still runs still answers.
        if holds_within(STOPS_WITHIN, || is_stopped(self.id())) {
            return Ok(());
        }
        Err(io::Error::other(format!("process {} did not stop", self.id())))
    }

    /// Lets a frozen group go on.
    ///
    /// # Errors
    /// When the group is gone.
    pub fn thaw(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    /// Asks the group to end in good order.
    ///
    /// # Errors
    /// When the group is gone.
    pub fn terminate(&self) -> io::Result<()> {
        self.signal(Signal::TERM)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process_group(Pid::from_child(&self.child), signal)?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and a group that is gone already is the usual one.
        let _ = self.signal(Signal::KILL);
        // Before its pipe closes, or it would signal a group id that may belong to somebody else by then.
        let _ = self.watchdog.kill();
        let _ = self.watchdog.wait();
        let _ = self.child.wait();
    }
}

/// The longest time for the threads of a stopped process to stand still.
const STOPS_WITHIN: Duration = Duration::from_secs(10);

/// True if every thread of a process stands still, as Linux tells it; elsewhere nobody can tell.
fn is_stopped(process: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return true };
    threads.flatten().all(|thread| {
        let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        status.lines().any(|line| line.starts_with("State:\tT"))
    })
}

/// Waits for the end of its standard input, which comes when we are gone, then ends the group.
///
/// `read` is the shell's own: a `cat` would be left behind whenever the shell is ended.
fn watchdog(group: u32) -> io::Result<Child> {
    Command::new("sh")
        .args(["-c", r#"read -r end; kill -s KILL -- "-$1""#, "watchdog", &group.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::holds_within;

    const BOUND: Duration = Duration::from_secs(10);

    /// A shell that starts a child of its own and writes the child's id to `file`.
    fn parent_of_sleeper(file: &Path) -> Process {
        let script = format!("sleep 60 & echo $! > {0}.new && mv {0}.new {0}; wait", file.display());
        Process::spawn(Command::new("sh").args(["-c", &script])).unwrap()
    }

    fn runs(pid: &str) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    }

    #[test]
    fn dropping_ends_grandchildren_too() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let process = parent_of_sleeper(&file);
        assert!(holds_within(BOUND, || file.exists()));
        let sleeper = fs::read_to_string(&file).unwrap();
        assert!(runs(&sleeper));

        drop(process);

        assert!(holds_within(BOUND, || !runs(&sleeper)), "the grandchild is still running");
    }

    #[test]
    fn a_request_to_end_can_be_answered() {
        let script = "trap 'exit 7' TERM; echo > $0; while :; do sleep 0.01; done";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ready");
        let mut process = Process::spawn(Command::new("sh").args(["-c", script]).arg(&file)).unwrap();
        assert!(holds_within(BOUND, || file.exists()));

        process.terminate().unwrap();

        let mut status = None;
        assert!(holds_within(BOUND, || {
            status = process.exit_status().unwrap();
            status.is_some()
        }));
        assert_eq!(status.unwrap().code(), Some(7));
    }

    #[test]
    fn the_watchdog_ends_the_group_when_its_pipe_closes() {
        let mut process = Process::spawn(Command::new("sleep").arg("60")).unwrap();

        drop(process.watchdog.stdin.take());

        assert!(holds_within(BOUND, || process.exit_status().unwrap().is_some()));
    }
}
