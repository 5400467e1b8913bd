//! The choice of the instance to call.

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
    pub(crate) fn leave(&mut self, endpoint: &str) {
        if self.current() == endpoint {
            self.rotate();
        }
    }

    pub(crate) fn rotate(&mut self) {
        self.pinned = (self.pinned + 1) % self.known.len().max(1);
    }

    pub(crate) fn pin(&mut self, endpoint: &str) {
        if let Some(found) = self.known.iter().position(|e| e == endpoint) {
            self.pinned = found;
        }
    }

    /// Replaces what was learned before. Configured endpoints stay: they may be a load balancer's.
    pub(crate) fn learn(&mut self, told: &[String]) {
        if told.is_empty() {
            return;
        }
        let current = self.current().to_owned();
        let new = told.iter().take(MAX_LEARNED).filter(|e| !self.configured.contains(e));
        self.known = self.configured.iter().chain(new).cloned().collect();
        if let Some(found) = self.known.iter().position(|e| *e == current) {
            self.pinned = found;
        } else {
            self.pinned = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoints() -> Endpoints {
        Endpoints::new(vec!["a".into(), "b".into()], 0)
    }

    #[test]
    fn rotation_visits_configured_and_learned_ones() {
        let mut endpoints = endpoints();
        endpoints.learn(&["c".into(), "a".into()]);
        let mut seen = Vec::new();
        for _ in 0..4 {
            seen.push(endpoints.current().to_owned());
            endpoints.rotate();
        }
        assert_eq!(seen, ["a", "b", "c", "a"]);
    }

    #[test]
    fn the_pin_stays_when_the_list_changes_around_it() {
        let mut endpoints = endpoints();
        endpoints.learn(&["c".into(), "d".into()]);
        endpoints.pin("d");
        endpoints.learn(&["d".into(), "c".into()]);
        assert_eq!(endpoints.current(), "d");
        endpoints.learn(&["c".into()]);
        assert_eq!(endpoints.current(), "a");
    }
}
