//! The search for a world in which a hole shows.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::hole::Hole;
use crate::simulate::{Options, simulate};

/// A hole that does not show in so many worlds is not seen. The rarest needs some hundred.
pub const MOST_HUNTED: u64 = 1_500;

/// The first of `seeds` worlds in which `hole` breaks its [invariant](Hole::invariant), on `threads` threads; `None` where
/// it breaks in none of them. What else breaks there does not count.
///
/// # Panics
/// As [`simulate`].
#[must_use]
pub fn hunt(hole: Hole, seeds: u64, threads: usize) -> Option<u64> {
    let (next, found) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| search(hole, seeds, &next, &found));
        }
    });
    // Every seed below the lowest one that was found has been looked at: they are taken in their order.
    Some(found.into_inner()).filter(|seed| *seed < seeds)
}

fn search(hole: Hole, seeds: u64, next: &AtomicU64, found: &AtomicU64) {
    let options = Options { hole: Some(hole), ..Options::default() };
    while found.load(Ordering::SeqCst) == u64::MAX {
        let seed = next.fetch_add(1, Ordering::SeqCst);
        if seed >= seeds {
            return;
        }
        if hole.may_show(seed) && hole.is_shown(&simulate(seed, options)) {
            found.fetch_min(seed, Ordering::SeqCst);
        }
    }
}
