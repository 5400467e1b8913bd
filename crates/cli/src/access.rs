//! `access`: makes tokens for callers, and looks at an access file before an instance does; no instance is asked.

mod check;
mod token;

use clap::Subcommand;

use crate::command_error::CommandError;

/// The commands about who may do what.
#[derive(Debug, Subcommand)]
pub(crate) enum AccessCommand {
    /// Make a bearer token, and the entry for it in the access file
    Token(token::MakeToken),
    /// Read an access file as an instance does, and show what a caller may do
    Check(check::CheckFile),
}

impl AccessCommand {
    /// Carries the command out.
    ///
    /// # Errors
    /// [`CommandError`].
    pub(crate) fn run(self) -> Result<(), CommandError> {
        match self {
            Self::Token(make) => make.run(),
            Self::Check(check) => check.run(),
        }
    }
}
