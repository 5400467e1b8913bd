//! Log lines: to the standard error, for people or for programs.

use std::env;
use std::io::{self, IsTerminal as _};

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt, registry};

use crate::config::{LogFormat, LogLevel};
use crate::output::Style;

/// Begins to write what happens. To be called once in a process.
pub(super) fn begin(level: &LogLevel, format: LogFormat) {
    let filter: Targets = level.to_string().parse().expect("the level was checked when it was read");
    let style = Style::new(io::stderr().is_terminal(), env::var_os("NO_COLOR").as_deref());
    let lines = fmt::layer().with_writer(io::stderr);
    let lines = match format {
        LogFormat::Text => lines.with_ansi(style.colours).boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    registry().with(lines.with_filter(filter)).init();
}
