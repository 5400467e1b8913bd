//! The time that Kafka's side may take, for a cell and for all of them.

use std::time::{Duration, Instant};

use crate::side::LIMIT;

/// The time that the quick part of the grid may take in all: four minutes, less what it takes to start and to end.
const QUICK: Duration = Duration::from_secs(230);

/// The time that our side of a cell takes, and some more.
const OURS: Duration = Duration::from_secs(1);

/// Less than this is not worth starting a Java for.
const LEAST: Duration = Duration::from_secs(3);

/// The time that is left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance {
    end: Option<Instant>,
}

impl Allowance {
    /// For the quick part of the grid, or as long as it takes.
    pub(crate) fn from_now(quick: bool) -> Self {
        Self { end: quick.then(|| Instant::now() + QUICK) }
    }

    /// The time that Kafka's side of a cell may take with `cells` more to come; `None` if it has to be left out.
    pub(crate) fn limit(self, cells: usize) -> Option<Duration> {
        let Some(end) = self.end else { return Some(LIMIT) };
        let reserved = OURS * u32::try_from(cells).unwrap_or(u32::MAX);
        let left = end.saturating_duration_since(Instant::now()).saturating_sub(reserved);
        (left >= LEAST).then(|| left.min(LIMIT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_grid_takes_as_long_as_it_takes() {
        assert_eq!(Allowance::from_now(false).limit(10_000), Some(LIMIT));
    }

    #[test]
    fn what_is_left_is_shared_with_the_cells_to_come() {
        let allowance = Allowance::from_now(true);
        assert_eq!(allowance.limit(10), Some(LIMIT));
        assert!(allowance.limit(220).is_some_and(|limit| limit <= Duration::from_secs(10)));
        assert_eq!(allowance.limit(229), None);
    }
}
