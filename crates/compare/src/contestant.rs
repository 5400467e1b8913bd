//! Strategies, asked in names and answering in names.

mod group;
mod problem;

use kafka_assigner_strategies::kafka::{Assignment, Group, cooperative_sticky, range, roundrobin, sticky};
use kafka_assigner_strategies::{Strategy, all, by_name};

use crate::input::Input;
use crate::output::Shares;

/// A rule of Kafka's.
type Rule = fn(&Group) -> Assignment;

/// Kafka's own strategies, by name.
const RULES: [(&str, Rule); 4] = [
    ("range", range),
    ("roundrobin", roundrobin),
    ("sticky", sticky),
    ("cooperative-sticky", cooperative_sticky),
];

/// A strategy of ours.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Contestant {
    /// One that is asked what a Kafka group says of itself.
    Group(Rule),
    /// One that is asked a [`Problem`](kafka_assigner_strategies::Problem).
    Problem(&'static dyn Strategy),
}

impl Contestant {
    /// The names of all there are.
    pub(crate) fn names() -> Vec<&'static str> {
        let rules = RULES.iter().map(|(name, _)| *name);
        let others = all().iter().map(|strategy| strategy.name()).filter(|name| rule(name).is_none());
        others.chain(rules).collect()
    }

    /// The one of that name. What Kafka has too is asked what Kafka's class is asked.
    pub(crate) fn named(name: &str) -> Option<Self> {
        rule(name).map(Self::Group).or_else(|| by_name(name).map(Self::Problem))
    }

    /// Asks it. This is what is timed: from names to names, with everything in between, and with what it takes to
    /// free that.
    pub(crate) fn solve<'a>(&self, input: &'a Input) -> Shares<'a> {
        match self {
            Self::Group(rule) => group::solve(*rule, input),
            Self::Problem(strategy) => problem::solve(*strategy, input),
        }
    }
}

fn rule(name: &str) -> Option<Rule> {
    RULES.iter().find(|(known, _)| *known == name).map(|(_, rule)| *rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_is_there_once() {
        let mut names = Contestant::names();
        assert!(names.iter().all(|name| Contestant::named(name).is_some()));
        let every = all().iter().map(|strategy| strategy.name()).chain(RULES.map(|(name, _)| name));
        assert!(every.into_iter().all(|name| names.contains(&name)));
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
