//! `access token`.

use clap::Args;
use kafka_assigner_access::{CallerName, CallerToken};
use serde::Serialize;

use crate::command_error::CommandError;
use crate::output::{Output, Report, TextPage};

/// Makes a token.
#[derive(Debug, Args)]
pub(crate) struct MakeToken {
    /// The caller that will hold it
    #[arg(value_name = "CALLER", value_parser = caller)]
    caller: CallerName,
    #[command(flatten)]
    output: Output,
}

/// Reads a caller's name from the command line.
pub(super) fn caller(text: &str) -> Result<CallerName, String> {
    CallerName::new(text).map_err(|_| {
        "it must have 1 to 249 printable characters, no space, quote or \"*\" among them".to_owned()
    })
}

/// A token that was made.
#[derive(Debug, Serialize)]
struct TokenMade {
    /// The caller.
    caller: CallerName,
    /// The token. It is shown here and nowhere else.
    token: String,
    /// Its hash, for the access file.
    sha256: String,
}

impl Report for TokenMade {
    fn show(&self, page: &mut TextPage) {
        page.line(format!("token for {}, shown this once: {}", self.caller, self.token));
        page.gap();
        page.line("for the access file of the instances:");
        page.gap();
        page.line("[[token]]");
        page.line(format!("caller = \"{}\"", self.caller));
        page.line(format!("sha256 = \"{}\"", self.sha256));
    }
}

impl MakeToken {
    /// Makes it and writes it to the standard output.
    ///
    /// # Errors
    /// [`CommandError::Output`].
    pub(super) fn run(self) -> Result<(), CommandError> {
        let token = CallerToken::of_random(rand::random());
        let (sha256, token) = (token.sha256(), token.reveal().to_owned());
        self.output.write(&TokenMade { caller: self.caller, token, sha256 })
    }
}
