//! Times, and what stands for many of them.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// At least so many runs count, on either side.
const RUNS: usize = 5;

/// Fast ones are repeated for so long, and so often at most.
const MEASURED: Duration = Duration::from_millis(300);
const MOST_RUNS: usize = 25;

/// The median time of a warm run of `work`. What it comes to is dropped when the clock has stopped.
pub(crate) fn median<R>(work: impl Fn() -> R) -> Duration {
    timed(&work);
    let mut times = Vec::with_capacity(MOST_RUNS);
    let mut sum = Duration::ZERO;
    while times.len() < RUNS || (times.len() < MOST_RUNS && sum < MEASURED) {
        let time = timed(&work);
        times.push(time);
        sum += time;
    }
    times.sort_unstable();
    times[times.len() / 2]
}

fn timed<R>(work: impl Fn() -> R) -> Duration {
    let start = Instant::now();
    let done = black_box(work());
    let time = start.elapsed();
    drop(done);
    time
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn fast_work_runs_often_and_not_for_ever() {
        let runs = Cell::new(0);
        median(|| runs.set(runs.get() + 1));
        assert_eq!(runs.get(), 1 + MOST_RUNS);
    }

    #[test]
    fn slow_work_runs_as_often_as_it_has_to() {
        let runs = Cell::new(0);
        let time = median(|| {
            runs.set(runs.get() + 1);
            std::thread::sleep(MEASURED / 4);
        });
        assert_eq!(runs.get(), 1 + RUNS);
        assert!(time >= MEASURED / 4);
    }
}
