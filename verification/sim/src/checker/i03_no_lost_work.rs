//! I3: in the strict modes a new owner starts where the old one stopped, or at the committed offset where nobody told.
//!
//! Each process that stops says an offset that nobody else says. Whoever is told an offset to start from is told the last
//! one that was said of that partition since somebody started, or has worked since it was told it before: once it has
//! stopped, for whatever reason, that offset is over. What was said of a topic that was gone, or has another id, says
//! nothing of the one that took its place.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{Assignment, Topic};
use kafka_assigner_core::state::GroupState;
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use kafka_assigner_types::name::TopicName;

use super::{Findings, Invariant, Step};
use crate::history::{Entry, What};

#[derive(Debug, Default)]
pub(super) struct NoLostWork {
    places: BTreeMap<TopicPartition, Place>,
}

#[derive(Debug, Default)]
struct Place {
    /// Everything that was said since somebody last started from something that was said: one of it counts.
    said: BTreeSet<Offset>,
    started: Option<Offset>,
    /// The process that started last, for as long as it works.
    keeper: Option<u32>,
    /// The highest epoch so far.
    highest: Epoch,
    /// The highest one of the topic that was there before: such a grant may still begin.
    former: Epoch,
}

impl Place {
    fn started(&mut self, process: u32, epoch: Epoch, offset: Offset) -> Option<String> {
        let goes_on = self.started == Some(offset) && self.keeper == Some(process);
        if goes_on || epoch <= self.former {
            return None;
        }
        // Nothing is done while nobody has started: the beginning is right.
        let is_first = offset == Offset::ZERO && self.started.is_none();
        let is_over = !is_first && !self.said.contains(&offset);
        self.said.clear();
        self.started = Some(offset);
        is_over.then(|| format!("process {process} starts from {offset}, which is over"))
    }

    /// The log is another one, of which nobody has said anything.
    fn renew(&mut self) {
        *self = Self { highest: self.highest, former: self.highest, ..Self::default() };
    }
}

impl NoLostWork {
    fn place(&mut self, at: &TopicPartition) -> &mut Place {
        self.places.entry(at.clone()).or_default()
    }
}

/// True if another topic took the place of the one with that name, or it went, or came.
fn is_another(step: &Step<'_>, name: &TopicName) -> bool {
    match (topic(step.before, name), topic(step.after, name)) {
        (Some(before), Some(after)) => before.since != after.since || after.partitions < before.partitions,
        (before, after) => before.is_some() != after.is_some(),
    }
}

fn topic<'s>(state: &'s GroupState, name: &TopicName) -> Option<&'s Topic> {
    state.topics().get(name)?.last_good()
}

impl Invariant for NoLostWork {
    fn step(&mut self, step: &Step<'_>, _findings: &mut Findings) {
        for (key, _) in step.changes {
            match key {
                Key::Assignment(at) => {
                    let highest = step.after.assignment(at).map(Assignment::highest_epoch);
                    let place = self.place(at);
                    place.highest = place.highest.max(highest.unwrap_or_default());
                }
                Key::Topic(name) if is_another(step, name) => {
                    let places = self.places.iter_mut().filter(|(at, _)| at.topic == *name);
                    places.for_each(|(_, place)| place.renew());
                }
                _ => {}
            }
        }
    }

    fn entry(&mut self, entry: &Entry, findings: &mut Findings) {
        match &entry.what {
            What::Stopped { at, offset, .. } => drop(self.place(at).said.insert(*offset)),
            What::Started { process, at, epoch, offset } => {
                let place = self.place(at);
                let what = offset.and_then(|offset| place.started(*process, *epoch, offset));
                place.keeper = Some(*process);
                what.into_iter().for_each(|what| findings.report(entry.at, format!("{at}: {what}")));
            }
            What::Ended { process, at, .. } => {
                let place = self.place(at);
                place.keeper = place.keeper.filter(|keeper| keeper != process);
            }
            _ => {}
        }
    }
}
