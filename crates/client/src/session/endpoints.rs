//! The choice of the instance to call.

use crate::backoff::Dice;

/// The known instances, one of them pinned until it fails.
#[derive(Debug, Clone)]
pub(crate) struct Endpoints {
    configured: Vec<String>,
    /// Configured ones first, then what instances told.
    known: Vec<String>,
    pinned: usize,
}

/// More than any sensible number of instances; a longer list from the wire is cut.
const MAX_LEARNED: usize = 64;

impl Endpoints {
    /// `configured` must not be empty; `start` picks the first one pinned, so that a fleet spreads.
    pub(crate) fn new(configured: Vec<String>, start: usize) -> Self {
        let pinned = start % configured.len().max(1);
        Self { known: configured.clone(), configured, pinned }
    }

    pub(crate) fn current(&self) -> &str {
        self.known.get(self.pinned).map_or("", String::as_str)
    }

    /// All that are known.
    pub(crate) fn all(&self) -> impl Iterator<Item = &String> {
        self.known.iter()
    }

    /// Pins another one than `endpoint`, if there is one.
    pub(crate) fn leave(&mut self, endpoint: &str, dice: &mut Dice) {
        if self.current() == endpoint {
            self.change(dice);
        }
    }

    /// Pins any other one. At random, or all clients of an instance that stops would go to the same one.
    pub(crate) fn change(&mut self, dice: &mut Dice) {
        let others = self.known.len().saturating_sub(1);
        if others > 0 {
            self.pinned = (self.pinned + 1 + dice.below(others)) % self.known.len();
        }
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
