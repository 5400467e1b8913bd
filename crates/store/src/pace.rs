//! The pace of checks that each of many needs now and then.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The time between the checks of two of many.
const APART: Duration = Duration::from_secs(1);

/// The longest interval of one, however many there are. It bounds the time for which a fault stays that nothing but the
/// check finds; a thousand cost the store three reads a second then.
const LONGEST: Duration = Duration::from_secs(300);

/// The interval of checks that each of many needs. Together they cost about one a second, until each would wait for more
/// than five minutes.
///
/// Clones are handles of the same. It is asked before each wait, so it follows the number that was [told](Self::share) last.
#[derive(Debug, Clone)]
pub struct CheckPace {
    shortest: Duration,
    many: Arc<AtomicUsize>,
}

impl CheckPace {
    /// The pace of checks that are `shortest` apart as long as there are few.
    #[must_use]
    pub fn new(shortest: Duration) -> Self {
        Self { shortest, many: Arc::default() }
    }

    /// Tells how many are checked at this pace.
    pub fn share(&self, many: usize) {
        self.many.store(many, Ordering::Relaxed);
    }

    /// The interval as it is now.
    #[must_use]
    pub fn interval(&self) -> Duration {
        interval(self.shortest, self.many.load(Ordering::Relaxed))
    }
}

fn interval(shortest: Duration, many: usize) -> Duration {
    let spread = APART.saturating_mul(u32::try_from(many).unwrap_or(u32::MAX));
    spread.min(LONGEST).max(shortest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_grows_with_the_number_and_no_longer_than_five_minutes() {
        let seconds = |shortest, many| interval(Duration::from_secs(shortest), many).as_secs();
        assert_eq!([0, 1, 60, 100].map(|many| seconds(60, many)), [60, 60, 60, 100]);
        assert_eq!([300, 1_000, usize::MAX].map(|many| seconds(60, many)), [300, 300, 300]);
        assert_eq!(seconds(1_000, 1_000), 1_000, "never more often than it was asked for");
    }

    #[test]
    fn all_clones_follow_the_number() {
        let pace = CheckPace::new(Duration::from_secs(60));
        let of_a_view = pace.clone();
        pace.share(200);
        assert_eq!(of_a_view.interval(), Duration::from_secs(200));
        pace.share(3);
        assert_eq!(of_a_view.interval(), Duration::from_secs(60));
    }
}
