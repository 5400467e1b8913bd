//! The schedule of faults, their lengths and times: decided by the seed alone.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use crate::fault::Fault;

/// The shortest and the longest rest after a fault, in milliseconds: neither is everything always broken, nor does
/// everything always come to rest.
const REST_MS: (u64, u64) = (1_000, 4_000);

/// One fault of a track, with what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// The fault that happens.
    pub(crate) fault: Fault,
    /// The time for which it lasts.
    pub(crate) lasts: Duration,
    /// The time afterwards during which nothing happens.
    pub(crate) rest: Duration,
    /// To whom, of those who are there.
    pub(crate) choice: usize,
}

/// The endless steps of one track. Each of its faults comes once before any comes again.
#[derive(Debug)]
pub(crate) struct Schedule {
    dice: StdRng,
    faults: &'static [Fault],
    bag: Vec<Fault>,
}

impl Schedule {
    /// The steps of the track with these faults.
    pub(crate) fn new(seed: u64, faults: &'static [Fault]) -> Self {
        // Tracks of one run differ in their first faults.
        let track = faults.first().map_or(0, |first| *first as u64);
        let dice = StdRng::seed_from_u64(seed.wrapping_mul(64).wrapping_add(track));
        Self { dice, faults, bag: Vec::new() }
    }

    fn millis(&mut self, (least, most): (u64, u64)) -> Duration {
        Duration::from_millis(self.dice.random_range(least..=most))
    }
}

impl Iterator for Schedule {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.bag.is_empty() {
            self.bag = self.faults.to_vec();
            self.bag.shuffle(&mut self.dice);
        }
        let fault = self.bag.pop()?;
        let (lasts, rest) = (self.millis(fault.lasts_ms()), self.millis(REST_MS));
        Some(Step { fault, lasts, rest, choice: self.dice.random_range(0..usize::MAX) })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const TRACKS: [&[Fault]; 6] = [
        Fault::OF_CONSUMERS,
        Fault::OF_INSTANCES,
        Fault::OF_ROUTERS,
        Fault::OF_ETCD,
        Fault::OF_WAYS,
        Fault::OF_KAFKA,
    ];

    /// The faults that begin and end within so many seconds, when nothing takes longer than it has to.
    fn within(seconds: u64, seed: u64, faults: &'static [Fault]) -> BTreeSet<Fault> {
        let mut left = Duration::from_secs(seconds);
        let mut seen = BTreeSet::new();
        for step in Schedule::new(seed, faults) {
            let Some(after) = left.checked_sub(step.lasts) else { break };
            seen.insert(step.fault);
            left = after.saturating_sub(step.rest);
        }
        seen
    }

    #[test]
    fn every_fault_of_every_track_happens_within_two_minutes_whatever_the_seed() {
        for seed in 0..200 {
            for faults in TRACKS {
                let all: BTreeSet<Fault> = faults.iter().copied().collect();
                assert_eq!(within(100, seed, faults), all, "seed {seed}");
            }
        }
    }

    #[test]
    fn a_seed_decides_everything() {
        let steps = |seed| Schedule::new(seed, Fault::OF_CONSUMERS).take(20).collect::<Vec<_>>();
        assert_eq!(steps(7), steps(7));
        assert_ne!(steps(7), steps(8));
    }
}
