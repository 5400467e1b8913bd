//! Strategies, asked in names and answering in names.

mod group;
mod lots;
mod problem;

use kafka_assigner_strategies::kafka::{
    Group, GroupAssignment, cooperative_sticky, range, roundrobin, sticky,
};
use kafka_assigner_strategies::{Strategy, all, by_name};

use crate::input::Input;
use crate::output::Shares;
use lots::Lots;
use problem::Asked;

/// A rule of Kafka's.
#[derive(Debug)]
pub(crate) struct Rule {
    name: &'static str,
    assign: fn(&Group) -> GroupAssignment,
    /// True if members send what they own in user data, which it reads itself.
    takes_notes: bool,
}

const RULES: [Rule; 4] = [
    Rule { name: "range", assign: range, takes_notes: false },
    Rule { name: "roundrobin", assign: roundrobin, takes_notes: false },
    Rule { name: "sticky", assign: sticky, takes_notes: true },
    Rule { name: "cooperative-sticky", assign: cooperative_sticky, takes_notes: false },
];

/// A strategy of ours.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Contestant {
    /// One that is asked what a Kafka group says of itself.
    Group(&'static Rule),
    /// One that is asked a [`Problem`](kafka_assigner_strategies::Problem).
    Problem(&'static dyn Strategy),
}

impl Contestant {
    /// The names of all there are.
    pub(crate) fn names() -> Vec<&'static str> {
        let rules = RULES.iter().map(|rule| rule.name);
        let others = all().iter().map(|strategy| strategy.name()).filter(|name| rule(name).is_none());
        others.chain(rules).collect()
    }

    /// The one of that name. What Kafka has too is asked what Kafka's class is asked.
    pub(crate) fn named(name: &str) -> Option<Self> {
        rule(name).map(Self::Group).or_else(|| by_name(name).map(Self::Problem))
    }

    /// Makes of what members own what they say of it to this strategy. As with Kafka's, that is bytes where it takes
    /// its own notes, and reading them is timed.
    pub(crate) fn take_notes(&self, input: &mut Input) {
        let takes_notes = matches!(self, Self::Group(rule) if rule.takes_notes);
        let Input { members, topics, .. } = input;
        for member in members.iter_mut().filter(|member| takes_notes && !member.owned.is_empty()) {
            member.user_data = group::user_data(topics, &member.owned);
        }
    }

    /// The question to it, of which it may keep what a caller keeps from one event to the next.
    pub(crate) fn asked<'a>(&self, input: &'a Input) -> Question<'a> {
        match self {
            Self::Group(rule) => Question::Group(rule, input),
            Self::Problem(strategy) => Question::Problem(*strategy, Box::new(Asked::of(input))),
        }
    }

    /// Asks it, once.
    pub(crate) fn solve<'a>(&self, input: &'a Input) -> Told<'a> {
        self.asked(input).answer()
    }
}

/// A strategy and what it is asked.
#[derive(Debug)]
pub(crate) enum Question<'a> {
    Group(&'static Rule, &'a Input),
    Problem(&'static dyn Strategy, Box<Asked<'a>>),
}

impl<'a> Question<'a> {
    /// Asks from names to names, with everything in between, and with what it takes to free that.
    pub(crate) fn answer(&self) -> Told<'a> {
        match self {
            Self::Group(rule, input) => Told::Shares(group::solve(rule.assign, input)),
            Self::Problem(strategy, asked) => asked.answer(*strategy),
        }
    }
}

/// The answer of a strategy, in names.
#[derive(Debug)]
pub(crate) enum Told<'a> {
    /// The changes, if units are single partitions and there are no standbys.
    Lots(Lots),
    /// Everything.
    Shares(Shares<'a>),
}

impl<'a> Told<'a> {
    /// All of it as lists.
    pub(crate) fn shares(self, input: &'a Input) -> Shares<'a> {
        match self {
            Self::Lots(lots) => lots.shares(input),
            Self::Shares(shares) => shares,
        }
    }
}

fn rule(name: &str) -> Option<&'static Rule> {
    const { &RULES }.iter().find(|rule| rule.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_is_there_once() {
        let mut names = Contestant::names();
        assert!(names.iter().all(|name| Contestant::named(name).is_some()));
        let every = all().iter().map(|strategy| strategy.name()).chain(RULES.map(|rule| rule.name));
        assert!(every.into_iter().all(|name| names.contains(&name)));
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
