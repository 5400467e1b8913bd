//! Asking before something is deleted.

use std::io::{self, BufRead, IsTerminal as _, Write};

use clap::Args;

use crate::command_error::CommandError;

/// The flag that answers beforehand.
#[derive(Debug, Args)]
pub(crate) struct ConfirmationFlag {
    /// Do not ask; needed where there is no terminal
    #[arg(long)]
    yes: bool,
}

impl ConfirmationFlag {
    /// Returns where the operator wants `what`, such as "delete group orders".
    ///
    /// # Errors
    /// [`CommandError::Declined`], [`CommandError::Unconfirmed`] where nobody can be asked, and [`CommandError::Output`].
    pub(crate) fn get(&self, what: &str) -> Result<(), CommandError> {
        if self.yes {
            return Ok(());
        }
        let can_ask = io::stdin().is_terminal() && io::stderr().is_terminal();
        if !can_ask {
            return Err(CommandError::Unconfirmed { what: what.to_owned() });
        }
        match ask(what, &mut io::stdin().lock(), &mut io::stderr()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(CommandError::Declined),
            Err(error) => Err(CommandError::Output(error)),
        }
    }
}

/// Only a clear yes counts.
fn ask(what: &str, input: &mut impl BufRead, output: &mut impl Write) -> io::Result<bool> {
    write!(output, "{what}? [y/N] ")?;
    output.flush()?;
    let mut answer = String::new();
    input.read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(answer: &str) -> (bool, String) {
        let mut asked = Vec::new();
        let yes = ask("delete group a", &mut answer.as_bytes(), &mut asked).unwrap();
        (yes, String::from_utf8(asked).unwrap())
    }

    #[test]
    fn only_a_clear_yes_counts() {
        assert_eq!(answered("y\n"), (true, "delete group a? [y/N] ".to_owned()));
        assert!(answered("Yes\n").0);
        for no in ["", "\n", "n\n", "yes please\n"] {
            assert!(!answered(no).0, "{no:?}");
        }
    }
}
