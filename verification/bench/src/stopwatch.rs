//! Times, and what stands for many of them.

use std::time::{Duration, Instant};

/// Runs `work` and returns what it came to, with how long it took.
pub(crate) fn timed<R>(work: impl FnOnce() -> R) -> (R, Duration) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed())
}

/// The middle one, which a neighbour's burst of work does not move; zero of none.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// In milliseconds.
pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// In microseconds.
pub(crate) fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
