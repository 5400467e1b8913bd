//! Holders of copies of a slot's state today: [`Copies`].

use super::copartitioned_set::CopartitionedSet;
use crate::{MemberIndex, Problem};

/// A member that holds copies of a slot's units. The smaller, the sooner it can take over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Copy {
    /// The number of units that have copies elsewhere and none here.
    missing: u32,
    /// The lag of its worst copy, in records.
    lag: u64,
    pub(super) member: MemberIndex,
}

impl Copy {
    /// True if it can take over without reading much first.
    pub(super) fn is_warm(&self, problem: &Problem) -> bool {
        self.missing == 0 && self.lag <= problem.options().acceptable_lag
    }
}

/// Looks copies up, slot by slot, in memory of its own.
#[derive(Debug)]
pub(super) struct Copies<'p> {
    problem: &'p Problem,
    found: Vec<Copy>,
}

impl<'p> Copies<'p> {
    pub(super) fn new(problem: &'p Problem) -> Self {
        Self { problem, found: Vec::new() }
    }

    /// The members that hold copies of units of `slot`, who can take over soonest first.
    pub(super) fn of(&mut self, set: &CopartitionedSet, slot: u32) -> &[Copy] {
        self.found.clear();
        if self.problem.has_standbys() {
            self.collect(set, slot);
        }
        &self.found
    }

    fn collect(&mut self, set: &CopartitionedSet, slot: u32) {
        let copied =
            set.units(slot).map(|unit| self.problem.standbys(unit)).filter(|copies| !copies.is_empty());
        let mut units = 0;
        for standbys in copied {
            units += 1;
            for standby in standbys {
                self.count(standby.member, standby.lag);
            }
        }
        for copy in &mut self.found {
            copy.missing = units - copy.missing;
        }
        self.found.sort_unstable();
    }

    /// Counts one more copy at `member`; until all are counted `missing` says how many it has.
    fn count(&mut self, member: MemberIndex, lag: u64) {
        match self.found.iter_mut().find(|copy| copy.member == member) {
            Some(copy) => {
                copy.missing += 1;
                copy.lag = copy.lag.max(lag);
            }
            None => self.found.push(Copy { missing: 1, lag, member }),
        }
    }
}
