//! The abilities of the output: colours, and the width of a terminal.

use std::env;
use std::ffi::OsStr;
use std::io::{self, IsTerminal as _};

/// The abilities of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// The output is a terminal: long cells are cut so that a row fits its width.
    pub(crate) terminal: bool,
    /// All columns, and nothing is cut.
    pub(crate) wide: bool,
    /// The output shows colours, and the user has not switched them off.
    pub(crate) colours: bool,
}

impl Style {
    /// The style for the standard output.
    pub(crate) fn of_stdout() -> Self {
        Self::new(io::stdout().is_terminal(), env::var_os("NO_COLOR").as_deref())
    }

    /// Colours only on a terminal, and not where `NO_COLOR` is set to anything (no-color.org).
    pub(crate) fn new(terminal: bool, no_color: Option<&OsStr>) -> Self {
        let minds = no_color.is_some_and(|value| !value.is_empty());
        Self { terminal, wide: false, colours: terminal && !minds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_need_a_terminal_and_nobody_who_minds() {
        assert!(Style::new(true, None).colours);
        assert!(Style::new(true, Some("".as_ref())).colours);
        assert!(!Style::new(true, Some("1".as_ref())).colours);
        assert!(!Style::new(false, None).colours);
    }
}
