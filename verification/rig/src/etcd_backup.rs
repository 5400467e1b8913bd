//! A copy of an etcd member's data folder, as an operator keeps one and puts it back.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::Etcd;

/// A copy of a member's data folder.
#[derive(Debug)]
pub struct EtcdBackup(TempDir);

impl Etcd {
    /// Stops the process, copies its data folder and starts it again.
    ///
    /// # Errors
    /// Where the folder can't be copied, and as for [`restart`](Self::restart).
    pub fn back_up(&mut self) -> io::Result<EtcdBackup> {
        self.kill();
        let folder = tempfile::Builder::new().prefix("kafka-assigner-etcd-").tempdir()?;
        copy(&self.data(), folder.path())?;
        self.restart()?;
        Ok(EtcdBackup(folder))
    }

    /// Kills the process, puts a copy in the place of its data folder and starts it again.
    ///
    /// # Errors
    /// Where the folder can't be replaced, and as for [`restart`](Self::restart).
    pub fn put_back(&mut self, backup: &EtcdBackup) -> io::Result<()> {
        self.kill();
        fs::remove_dir_all(self.data())?;
        copy(backup.0.path(), &self.data())?;
        self.restart()
    }

    /// Kills the process, has the program `etcdutl` restore the database of a copy in the place of the data folder, and
    /// starts it again. Its revision is then higher by `bump` than that of the copy, with no history before. Only for a
    /// member that is alone.
    ///
    /// # Errors
    /// Where `etcdutl` fails, with its words, and as for [`put_back`](Self::put_back).
    pub fn restore(&mut self, etcdutl: &Path, backup: &EtcdBackup, bump: u64) -> io::Result<()> {
        self.kill();
        fs::remove_dir_all(self.data())?;
        let mut command = Command::new(etcdutl);
        command.args(["snapshot", "restore"]).arg(backup.0.path().join("member/snap/db"));
        // A database out of a data folder has no checksum at its end, as one that was saved has.
        command.args(["--skip-hash-check", "--mark-compacted", &format!("--bump-revision={bump}")]);
        let answer = command.args(self.membership()).stdin(Stdio::null()).output()?;
        if !answer.status.success() {
            let said = String::from_utf8_lossy(&answer.stderr);
            return Err(io::Error::other(format!("etcdutl ended with {}: {said}", answer.status)));
        }
        self.restart()
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copied = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &copied)?;
        } else {
            fs::copy(entry.path(), copied)?;
        }
    }
    Ok(())
}
