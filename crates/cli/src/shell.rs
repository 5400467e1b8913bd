//! `completions` and `man`: what shells and manuals know of the commands.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::command_error::CommandError;
use crate::output;

/// The arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    /// Writes the shell's completions of `command` to the standard output.
    ///
    /// # Errors
    /// [`CommandError::Output`].
    pub(crate) fn run(self, mut command: Command) -> Result<(), CommandError> {
        let name = command.get_name().to_owned();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, name, &mut script);
        output::print(&String::from_utf8_lossy(&script))
    }
}

/// The arguments of `man`.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The directory, which must exist
    #[arg(value_name = "DIRECTORY", default_value = ".")]
    directory: PathBuf,
}

impl Man {
    /// Writes a page for `command` and for each of its commands.
    ///
    /// # Errors
    /// [`CommandError::Output`].
    pub(crate) fn run(self, command: Command) -> Result<(), CommandError> {
        clap_mangen::generate_to(command, self.directory).map_err(CommandError::Output)
    }
}
