//! Log lines: to the standard error, for people or for programs.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::panic::{self, PanicHookInfo};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, thread};

use kafka_assigner_server::grpc::AUDIT_TARGET;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt, registry};

use crate::config::{LogFormat, LogLevel};
use crate::output::Style;

/// Begins to write what happens, panics too. To be called once in a process.
pub(super) fn begin(level: &LogLevel, format: LogFormat) {
    let filter: Targets = level.to_string().parse().expect("the level was checked when it was read");
    // The lines of the audit are kept whatever else is left out.
    let filter = filter.with_target(AUDIT_TARGET, LevelFilter::INFO);
    let style = Style::new(io::stderr().is_terminal(), env::var_os("NO_COLOR").as_deref());
    let lines = fmt::layer().with_writer(io::stderr);
    let lines = match format {
        LogFormat::Text => lines.with_ansi(style.colours).boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    registry().with(lines.with_filter(filter)).init();
    panic::set_hook(Box::new(tell_panic));
}

/// The time for which panics at one place of the program are told no more: what follows from each is told by whoever
/// catches it.
const QUIET: Duration = Duration::from_secs(60);

/// The places of panics, each with the time at which it was told last. A program has only so many.
static TOLD: Mutex<BTreeMap<String, Instant>> = Mutex::new(BTreeMap::new());

/// A panic is a line like any other, so that whoever collects the log finds it.
fn tell_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.get(&place).is_some_and(|at| at.elapsed() < QUIET) {
        return;
    }
    told.insert(place, Instant::now());
    drop(told);
    let thread = thread::current().name().unwrap_or("unnamed").to_owned();
    let at = panic.location().map(ToString::to_string);
    let message = panic.payload_as_str().unwrap_or("no message");
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then(|| backtrace.to_string());
    tracing::error!(message, at, thread, backtrace, "the program panicked");
}
