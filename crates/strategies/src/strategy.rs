//! The trait of all strategies, and the list of them.

use std::fmt;

use crate::{Balanced, CopartitionedSticky, JumpHash, Placement, Problem, StickyBalanced, kafka};

/// A rule that decides who should own what.
///
/// A strategy is a pure function: equal problems get equal placements on every machine. It never
/// panics, and what cannot be placed comes back as unassigned with a reason.
pub trait Strategy: fmt::Debug + Send + Sync {
    /// The name it is chosen by, such as `sticky-balanced`.
    fn name(&self) -> &'static str;

    /// Its rule, in one line for people.
    fn summary(&self) -> &'static str;

    /// Places every unit of `problem` that a member can take.
    fn assign(&self, problem: &Problem) -> Placement;

    /// The part that today's owners have in it, for what [`sets`](crate::sets) settles around it. By default they
    /// matter.
    fn manner(&self) -> Manner {
        Manner::Sticky
    }
}

/// The part that today's owners have in what a strategy decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// None: it places everything anew.
    Anew,
    /// Units stay where they are as far as its rule allows.
    Sticky,
    /// As [`Sticky`](Self::Sticky); it evens out how many partitions members have, with the fewest moves.
    Partitions,
    /// As [`Sticky`](Self::Sticky); it evens out loads for capacities, with the fewest moves.
    Loads,
}

/// Every strategy, in the order in which to list them for people.
pub const fn all() -> &'static [&'static dyn Strategy] {
    &[
        &Balanced,
        &StickyBalanced,
        &CopartitionedSticky,
        &JumpHash,
        &kafka::Range,
        &kafka::RoundRobin,
        &kafka::Sticky,
        &kafka::CooperativeSticky,
    ]
}

/// The strategy of that name, if there is one.
pub fn by_name(name: &str) -> Option<&'static dyn Strategy> {
    all().iter().copied().find(|strategy| strategy.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_strategy_is_found_by_its_name() {
        let names: Vec<_> = all().iter().map(|strategy| strategy.name()).collect();
        let ours = ["balanced", "sticky-balanced", "copartitioned-sticky", "jump-hash"];
        let kafkas = ["range", "roundrobin", "sticky", "cooperative-sticky"];
        assert_eq!(names, [ours, kafkas].concat());
        for name in names {
            assert_eq!(by_name(name).unwrap().name(), name);
        }
        assert!(by_name("best").is_none());
    }
}
