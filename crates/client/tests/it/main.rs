//! Whole consumers against a scripted service within the process, on a paused clock.

mod consumer;
mod fake;
#[cfg(feature = "kafka")]
mod kafka;
mod recorder;
