//! Faults are forgiven for a while: whoever puts one in says whom it concerns, and until when.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::history::{Entry, Scope, What};

/// Everything that was forgiven so far.
#[derive(Debug, Default)]
pub(super) struct Excuses(Vec<Excuse>);

#[derive(Debug)]
struct Excuse {
    from: Duration,
    until: Duration,
    scope: Scope,
}

impl Excuses {
    pub(super) fn entry(&mut self, entry: &Entry) {
        if let What::Excused { scope, until } = &entry.what {
            self.0.push(Excuse { from: entry.at, until: *until, scope: scope.clone() });
        }
    }

    /// True if something concerns one of `involved` at that time, or did at most `patience` before.
    pub(super) fn forgives(&self, involved: &BTreeSet<Arc<str>>, now: Duration, patience: Duration) -> bool {
        self.overlapping(involved, (now, now), patience).next().is_some()
    }

    /// The time by which something has to be that was to be by `by`: each excuse that overlaps the time since `since` gives
    /// `patience` after its end.
    pub(super) fn put_off(
        &self,
        involved: &BTreeSet<Arc<str>>,
        (since, mut by): (Duration, Duration),
        patience: Duration,
    ) -> Duration {
        loop {
            let ends = self.overlapping(involved, (since, by), patience).map(|e| e.until + patience);
            match ends.filter(|end| *end > by).max() {
                Some(later) => by = later,
                None => return by,
            }
        }
    }

    fn overlapping(
        &self,
        involved: &BTreeSet<Arc<str>>,
        (from, until): (Duration, Duration),
        patience: Duration,
    ) -> impl Iterator<Item = &Excuse> {
        self.0.iter().filter(move |excuse| {
            excuse.from <= until && from <= excuse.until + patience && excuse.concerns(involved)
        })
    }
}

impl Excuse {
    fn concerns(&self, involved: &BTreeSet<Arc<str>>) -> bool {
        match &self.scope {
            Scope::Everyone => true,
            Scope::Member(name) => involved.contains(name),
            Scope::Requests => false,
        }
    }
}
