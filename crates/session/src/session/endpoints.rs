//! The choice of the instance to call.

use std::collections::BTreeSet;

use crate::backoff::Dice;

/// The known instances, one of them pinned until it fails.
#[derive(Debug, Clone)]
pub(crate) struct Endpoints {
    configured: Vec<String>,
    /// Configured ones first, then what instances told.
    known: Vec<String>,
    pinned: usize,
    /// Those that failed since one served: none is asked again before all were.
    failed: BTreeSet<String>,
}

/// More than any sensible number of instances; a longer list from the wire is cut.
const MAX_LEARNED: usize = 64;

impl Endpoints {
    /// `configured` must not be empty; `start` picks the first one pinned, so that a fleet spreads.
    pub(crate) fn new(configured: Vec<String>, start: usize) -> Self {
        let pinned = start % configured.len().max(1);
        Self { known: configured.clone(), configured, pinned, failed: BTreeSet::new() }
    }

    pub(crate) fn current(&self) -> &str {
        self.known.get(self.pinned).map_or("", String::as_str)
    }

    /// All that are known.
    pub(crate) fn all(&self) -> impl Iterator<Item = &String> {
        self.known.iter()
    }

    /// Pins another one than `endpoint`, which failed, if there is one.
    pub(crate) fn leave(&mut self, endpoint: &str, dice: &mut Dice) {
        if self.known.iter().any(|known| known == endpoint) {
            self.failed.insert(endpoint.to_owned());
        }
        if self.current() == endpoint {
            self.change(dice);
        }
    }

    /// Pins another one: of those that have not failed since one served, and where all have, any. At random, or all clients of
    /// an instance that stops would go to the same one.
    pub(crate) fn change(&mut self, dice: &mut Dice) {
        if self.others().next().is_none() {
            self.failed = BTreeSet::from([self.current().to_owned()]);
        }
        let others: Vec<usize> = self.others().collect();
        if !others.is_empty() {
            self.pinned = others[dice.below(others.len())];
        }
    }

    /// The places of those that have not failed, but for the one that is pinned.
    fn others(&self) -> impl Iterator<Item = usize> {
        let places = self.known.iter().enumerate();
        places
            .filter(|(place, known)| *place != self.pinned && !self.failed.contains(*known))
            .map(|(place, _)| place)
    }

    /// One has served: whatever failed before may have come back.
    pub(crate) fn served(&mut self) {
        self.failed.clear();
    }

    pub(crate) fn pin(&mut self, endpoint: &str) {
        if let Some(found) = self.known.iter().position(|e| e == endpoint) {
            self.pinned = found;
        }
    }

    /// Replaces what was learned before. Configured endpoints stay: they may be a load balancer's.
    pub(crate) fn learn(&mut self, told: &[String], dice: &mut Dice) {
        if told.is_empty() {
            return;
        }
        let current = self.current().to_owned();
        let new = told.iter().take(MAX_LEARNED).filter(|e| !self.configured.contains(e));
        self.known = self.configured.iter().chain(new).cloned().collect();
        self.failed.retain(|failed| self.known.contains(failed));
        if let Some(found) = self.known.iter().position(|e| *e == current) {
            self.pinned = found;
        } else {
            self.pinned = dice.below(self.known.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn endpoints() -> Endpoints {
        Endpoints::new(vec!["a".into(), "b".into()], 0)
    }

    #[test]
    fn a_change_goes_to_any_other_one() {
        let (mut endpoints, mut dice) = (endpoints(), Dice::new(1));
        endpoints.learn(&["c".into(), "a".into()], &mut dice);
        let mut seen = BTreeSet::new();
        for _ in 0..100 {
            let before = endpoints.current().to_owned();
            endpoints.change(&mut dice);
            assert_ne!(endpoints.current(), before);
            seen.insert((before, endpoints.current().to_owned()));
        }
        assert_eq!(seen.len(), 6, "from each to each: {seen:?}");
    }

    #[test]
    fn none_that_failed_is_pinned_again_before_all_have() {
        for seed in 0..50 {
            let (mut endpoints, mut dice) = (endpoints(), Dice::new(seed));
            endpoints.learn(&["c".into(), "d".into()], &mut dice);
            let mut asked = BTreeSet::new();
            for _ in 0..4 {
                let current = endpoints.current().to_owned();
                endpoints.leave(&current, &mut dice);
                asked.insert(current);
            }
            assert_eq!(asked.len(), 4, "seed {seed}");
            endpoints.served();
            assert!(endpoints.failed.is_empty());
        }
    }

    #[test]
    fn a_single_one_is_kept() {
        let (mut endpoints, mut dice) = (Endpoints::new(vec!["a".into()], 0), Dice::new(1));
        endpoints.change(&mut dice);
        endpoints.leave("a", &mut dice);
        assert_eq!(endpoints.current(), "a");
    }

    #[test]
    fn the_pin_stays_when_the_list_changes_around_it() {
        let (mut endpoints, mut dice) = (endpoints(), Dice::new(1));
        endpoints.learn(&["c".into(), "d".into()], &mut dice);
        endpoints.pin("d");
        endpoints.learn(&["d".into(), "c".into()], &mut dice);
        assert_eq!(endpoints.current(), "d");
        endpoints.learn(&["c".into()], &mut dice);
        assert_ne!(endpoints.current(), "d");
    }
}
