//! Programs in Java beside the scenarios: one file each, run from its source with the classes of a Kafka.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

/// A program: the name of its file, and its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct JavaProgram {
    pub(super) file: &'static str,
    pub(super) source: &'static str,
}

impl JavaProgram {
    /// The command that runs it with the classes in `jars`; its source is written into `folder`.
    ///
    /// # Errors
    /// Where the source can't be written.
    pub(super) fn command(self, jars: &Path, folder: &Path) -> Result<Command> {
        let file = folder.join(self.file);
        std::fs::write(&file, self.source).with_context(|| format!("failed to write {}", file.display()))?;
        let mut command = Command::new("java");
        // Its members carry text in UTF-8, whatever the locale says.
        command.arg("-Xmx256m").arg("-Dfile.encoding=UTF-8").arg("-cp").arg(jars.join("*")).arg(file);
        Ok(command)
    }
}
