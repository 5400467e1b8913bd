//! The percentiles of durations.

use serde::Serialize;

/// Durations in milliseconds: how many, the middle, the ninety-ninth percentile, the longest. All zero where there
/// are none.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Spread {
    /// The number of values.
    pub count: usize,
    /// Half of them are at most this long.
    pub p50: f64,
    /// All but a hundredth of them are at most this long.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl Spread {
    /// The spread of durations in microseconds.
    #[must_use]
    pub fn of(mut micros: Vec<u64>) -> Self {
        micros.sort_unstable();
        let millis = |rank: usize| micros.get(rank).map_or(0.0, |micros| to_millis(*micros));
        Self {
            count: micros.len(),
            p50: millis(rank(micros.len(), 50)),
            p99: millis(rank(micros.len(), 99)),
            max: millis(micros.len().saturating_sub(1)),
        }
    }
}

/// The nearest rank: the least one that at least `percent` of `count` do not exceed.
const fn rank(count: usize, percent: usize) -> usize {
    (count * percent).div_ceil(100).saturating_sub(1)
}

fn to_millis(micros: u64) -> f64 {
    std::time::Duration::from_micros(micros).as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_nearest_and_nothing_spreads_to_zero() {
        let spread = Spread::of((1..=200).map(|n| n * 1_000).collect());
        assert_eq!((spread.count, spread.p50, spread.p99, spread.max), (200, 100.0, 198.0, 200.0));
        assert_eq!(Spread::of(vec![]), Spread::default());
        assert_eq!(Spread::of(vec![7_000]).p50, 7.0);
    }
}
