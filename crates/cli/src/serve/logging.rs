//! Log lines: to the standard error, for people or for programs.

use std::env;
use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, LogLevel};
use crate::output::Style;

/// Begins to write what happens. To be called once in a process.
pub(super) fn begin(level: &LogLevel, format: LogFormat) {
    let filter = EnvFilter::try_new(level.to_string()).expect("the level was checked when it was read");
    let style = Style::new(io::stderr().is_terminal(), env::var_os("NO_COLOR").as_deref());
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    match format {
        LogFormat::Text => lines.with_ansi(style.colours).init(),
        LogFormat::Json => lines.json().init(),
    }
}
