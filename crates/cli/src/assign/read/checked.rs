//! A line that makes sense: [`Checked`], with positions in place of names.

use std::collections::HashMap;

use kafka_assigner_strategies::{Capacity, Options, Problem, Weight};

use super::input::{self, Input, InputMember, InputPair, InputTopic, StandbyCounts};
use super::pins;
use super::refused::Refused;

/// A line of which every name is known and every number within its bounds.
#[derive(Debug)]
pub(in crate::assign) struct Checked<'a> {
    /// The line.
    pub(in crate::assign) input: &'a Input,
    /// The place of each topic in the line.
    pub(in crate::assign) topics: HashMap<&'a str, usize>,
    /// By member: the topics that it is subscribed to and that there are, ascending.
    pub(in crate::assign) subscribed: Vec<Vec<usize>>,
    /// By topic: how many standbys are wanted.
    pub(in crate::assign) standbys: Vec<u32>,
    /// Topics whose partitions of equal number move together; each at most once.
    pub(in crate::assign) sets: Vec<Vec<usize>>,
    /// Topic, partition and member.
    pub(in crate::assign) pins: Vec<(usize, u32, usize)>,
    /// Topic, partition and member.
    pub(in crate::assign) bans: Vec<(usize, u32, usize)>,
    /// The trade-offs that strategies may make.
    pub(in crate::assign) options: Options,
}

impl<'a> Checked<'a> {
    /// Checks a line.
    ///
    /// # Errors
    /// The first value that can't be.
    pub(in crate::assign) fn new(input: &'a Input) -> Result<Self, Refused> {
        let topics = names(&input.topics, |topic| &topic.0, |at| format!("topics[{at}][0]"))?;
        let members = names(&input.members, |member| &member.id, |at| format!("members[{at}].id"))?;
        sizes(&input.topics)?;
        input.topics.iter().enumerate().try_for_each(|(at, topic)| details(at, topic))?;
        input.members.iter().enumerate().try_for_each(|(at, member)| capacity(at, member))?;
        let pair = PairLookup { input, topics: &topics, members: &members };
        let (sets, pins) = (sets(input, &topics)?, pair.known(&input.pins, "pins")?);
        pins::check(input, &sets, &pins)?;
        Ok(Self {
            standbys: standbys(input, &topics)?,
            sets,
            pins,
            bans: pair.known(&input.bans, "bans")?,
            options: options(&input.options)?,
            subscribed: input.members.iter().map(|member| subscribed(member, &topics)).collect(),
            input,
            topics,
        })
    }

    /// The topic of that name, where there is one and the member is subscribed to it.
    pub(in crate::assign) fn topic_of(&self, member: usize, name: &str) -> Option<usize> {
        let topic = self.topics.get(name)?;
        self.subscribed[member].binary_search(topic).is_ok().then_some(*topic)
    }

    /// The number of partitions of a topic.
    pub(in crate::assign) fn partitions(&self, topic: usize) -> u32 {
        self.input.topics[topic].1
    }

    /// The partition of that number, where the topic has it.
    pub(in crate::assign) fn partition(&self, topic: usize, number: i64) -> Option<u32> {
        u32::try_from(number).ok().filter(|partition| *partition < self.partitions(topic))
    }
}

/// The place of everything, by name.
fn names<'a, T>(
    items: &'a [T],
    name: impl Fn(&'a T) -> &'a String,
    field: impl Fn(usize) -> String,
) -> Result<HashMap<&'a str, usize>, Refused> {
    let mut known = HashMap::with_capacity(items.len());
    for (at, name) in items.iter().map(name).enumerate() {
        if known.insert(name.as_str(), at).is_some() {
            return Err(Refused::value(field(at), name, "it is there twice, and must be unique"));
        }
    }
    Ok(known)
}

/// A limit of what can be placed at once, and so of memory.
fn sizes(topics: &[InputTopic]) -> Result<(), Refused> {
    let mut units = 0;
    for (at, topic) in topics.iter().enumerate() {
        units += u64::from(topic.1);
        if units > Problem::MAX_UNITS as u64 {
            let must = format!("all topics together may have at most {} partitions", Problem::MAX_UNITS);
            return Err(Refused::value(format!("topics[{at}][1]"), topic.1, must));
        }
    }
    Ok(())
}

fn subscribed(member: &InputMember, topics: &HashMap<&str, usize>) -> Vec<usize> {
    let mut known: Vec<usize> =
        member.topics.iter().filter_map(|name| topics.get(name.as_str()).copied()).collect();
    known.sort_unstable();
    known.dedup();
    known
}

fn details(at: usize, InputTopic(_, partitions, racks, weights): &InputTopic) -> Result<(), Refused> {
    let one_each = |field: usize, length: Option<usize>| match length {
        Some(length) if length != *partitions as usize => {
            let error =
                format!("{length} entries are refused: each of the {partitions} partitions must have one");
            Err(Refused { field: format!("topics[{at}][{field}]"), error })
        }
        _ => Ok(()),
    };
    one_each(2, racks.as_ref().map(Vec::len))?;
    one_each(3, weights.as_ref().map(Vec::len))?;
    let wrong = weights.iter().flatten().position(|weight| Weight::new(*weight).is_none());
    wrong.zip(weights.as_ref()).map_or(Ok(()), |(partition, weights)| {
        let must = format!("a weight must be from 0 to {:.0}", Weight::MAX);
        Err(Refused::value(format!("topics[{at}][3][{partition}]"), weights[partition], must))
    })
}

fn capacity(at: usize, member: &InputMember) -> Result<(), Refused> {
    match member.capacity {
        Some(capacity) if Capacity::new(capacity).is_none() => {
            let must = format!("a capacity must be from {} to {:.0}", Capacity::MIN, Capacity::MAX);
            Err(Refused::value(format!("members[{at}].capacity"), capacity, must))
        }
        _ => Ok(()),
    }
}

fn options(told: &input::Options) -> Result<Options, Refused> {
    let default = Options::default();
    let tolerance = match told.tolerance {
        None => default.tolerance,
        Some(share) if (0.0..=1.0).contains(&share) => {
            (share * f64::from(Options::MAX_TOLERANCE)).round() as u32
        }
        Some(share) => {
            let must = "a tolerance must be from 0 to 1, a share of the mean load";
            return Err(Refused::value("options.tolerance".to_owned(), share, must));
        }
    };
    let acceptable_lag = told.acceptable_lag.unwrap_or(default.acceptable_lag);
    Ok(Options { tolerance, acceptable_lag, movement_budget: told.movement_budget, ..default })
}

fn standbys(input: &Input, topics: &HashMap<&str, usize>) -> Result<Vec<u32>, Refused> {
    let named = match &input.standbys {
        StandbyCounts::All(count) => return Ok(vec![*count; input.topics.len()]),
        StandbyCounts::Of(named) => named,
    };
    let mut counts = vec![None; input.topics.len()];
    for (name, count) in named {
        let place = || format!("standbys.{name}");
        let topic = known(topics, name, "topic", place)?;
        if counts[topic].replace(*count).is_some() {
            return Err(Refused::value(place(), name, "it is there twice"));
        }
    }
    Ok(counts.into_iter().map(Option::unwrap_or_default).collect())
}

fn sets(input: &Input, topics: &HashMap<&str, usize>) -> Result<Vec<Vec<usize>>, Refused> {
    let mut taken = vec![false; input.topics.len()];
    let mut sets = Vec::with_capacity(input.copartition.len());
    for (at, names) in input.copartition.iter().enumerate() {
        let mut set = Vec::with_capacity(names.len());
        for (position, name) in names.iter().enumerate() {
            let place = || format!("copartition[{at}][{position}]");
            let topic = known(topics, name, "topic", place)?;
            if std::mem::replace(&mut taken[topic], true) {
                return Err(Refused::value(place(), name, "a topic must be in one set, and once"));
            }
            set.push(topic);
        }
        sets.push(set);
    }
    Ok(sets)
}

/// The place of the topic or the member of that name.
fn known(
    names: &HashMap<&str, usize>,
    name: &str,
    what: &str,
    place: impl Fn() -> String,
) -> Result<usize, Refused> {
    let unknown = || Refused::value(place(), name, format!("there is no such {what}"));
    names.get(name).copied().ok_or_else(unknown)
}

/// The line and its names, to look up pins and bans.
struct PairLookup<'a> {
    input: &'a Input,
    topics: &'a HashMap<&'a str, usize>,
    members: &'a HashMap<&'a str, usize>,
}

impl PairLookup<'_> {
    fn known(&self, pairs: &[InputPair], field: &str) -> Result<Vec<(usize, u32, usize)>, Refused> {
        pairs.iter().enumerate().map(|(at, pair)| self.one(pair, &format!("{field}[{at}]"))).collect()
    }

    fn one(
        &self,
        InputPair(topic, partition, member): &InputPair,
        place: &str,
    ) -> Result<(usize, u32, usize), Refused> {
        let at = known(self.topics, topic, "topic", || format!("{place}[0]"))?;
        let partitions = self.input.topics[at].1;
        if *partition >= partitions {
            let must = format!("topic {topic:?} has {partitions} partitions, numbered from 0");
            return Err(Refused::value(format!("{place}[1]"), partition, must));
        }
        Ok((at, *partition, known(self.members, member, "member", || format!("{place}[2]"))?))
    }
}
