//! I3: in the strict modes a new owner starts where the old one stopped, or at the committed offset where nobody told.
//!
//! Each process that stops says an offset that nobody else says, and commits it; and so does each that begins. Whoever is told an offset to start from is told the last
//! one that was said of that partition since somebody started, or has worked since it was told it before: once it has
//! stopped, for whatever reason, that offset is over. The last one that is committed is right as well. What was said of a topic that was gone, or has another id, says
//! nothing of the one that took its place.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_client::CommittedOffset;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{Assignment, Topic};
use kafka_assigner_core::state::GroupState;
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use kafka_assigner_types::name::TopicName;
use kafka_assigner_types::topic_id::TopicId;

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
    /// The last offset that was committed: its owner has gone on since, or has stopped there.
    committed: Option<CommittedOffset>,
    /// The process that started last, for as long as it works.
    keeper: Option<u32>,
    /// The highest epoch so far.
    highest: Epoch,
    /// The highest one of the topic that was there before: such a grant may still begin.
    former: Epoch,
}

impl Place {
    fn started(
        &mut self,
        (process, epoch): (u32, Epoch),
        (offset, topic_id): (Offset, Option<TopicId>),
    ) -> Option<String> {
        let goes_on = self.started == Some(offset) && self.keeper == Some(process);
        if goes_on || epoch <= self.former {
            return None;
        }
        // Nothing is done while nobody has started: the beginning is right.
        let is_first = offset == Offset::ZERO && self.started.is_none();
        let is_committed = self.committed == Some(CommittedOffset { offset, topic_id });
        let is_over = !is_first && !is_committed && !self.said.contains(&offset);
        self.said.clear();
        self.started = Some(offset);
        is_over.then(|| format!("process {process} starts from {offset}, which is over"))
    }

    /// Where ids are not known, an owner in the former topic is told by its epoch.
    fn commit(&mut self, epoch: Epoch, committed: CommittedOffset) {
        if committed.topic_id.is_some() || epoch > self.former {
            self.committed = Some(committed);
        }
    }

    /// The log is another one, of which nobody has said anything: or the same once more, if its id says so.
    fn renew(&mut self) {
        let (highest, committed) = (self.highest, self.committed.filter(|offset| offset.topic_id.is_some()));
        *self = Self { highest, former: highest, committed, ..Self::default() };
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
            What::Committed { at, epoch, committed, .. } => self.place(at).commit(*epoch, *committed),
            What::Started { process, at, epoch, start } => {
                let place = self.place(at);
                let (by, told) = ((*process, *epoch), start.offset.map(|offset| (offset, start.topic_id)));
                let what = told.and_then(|told| place.started(by, told));
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
