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

/// The time within which `percent` of them were; zero of none.
pub(crate) fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    let place = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times.get(place).copied().unwrap_or_default()
}

/// In milliseconds.
pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// In microseconds.
pub(crate) fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_times() {
        let times: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!((ms(percentile(&times, 50)), ms(percentile(&times, 99))), (100.0, 198.0));
        assert_eq!(percentile(&times[..1], 99), times[0]);
        assert_eq!(percentile(&[], 99), Duration::ZERO);
    }
}
