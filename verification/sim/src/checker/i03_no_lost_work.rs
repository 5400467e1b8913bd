//! I3: in the strict modes a new owner starts where the old one stopped, or at the committed offset where nobody told.
//!
//! Each process that stops says an offset that nobody else says, and commits it; and so does each that begins. Whoever is told an offset to start from is told the last
//! one that was said of that partition since somebody started, or has worked since it was told it before: once it has
//! stopped, for whatever reason, that offset is over. The last one that is committed is right as well. What was said of a topic that was gone, or has another id, says
//! nothing of the one that took its place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

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
    /// Everything that was ever said of this log.
    ever: BTreeSet<Offset>,
    /// True if the store went back, and nobody has started at an old note since.
    may_be_old: bool,
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
        let is_excused = is_over && topic_id.is_none() && self.is_old_note(offset);
        self.may_be_old &= !is_excused;
        let is_over = is_over && !is_excused;
        self.said.clear();
        self.started = Some(offset);
        is_over.then(|| format!("process {process} starts from {offset}, which is over"))
    }

    /// True if `offset` may be the note of a backup, which counts where nobody knows of which topic a committed offset is.
    fn is_old_note(&self, offset: Offset) -> bool {
        self.may_be_old && (offset == Offset::ZERO || self.ever.contains(&offset))
    }

    fn stop(&mut self, offset: Offset) {
        self.said.insert(offset);
        self.ever.insert(offset);
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

    fn went_back(&mut self, _at: Duration, _state: &Arc<GroupState>, _findings: &mut Findings) {
        self.places.values_mut().for_each(|place| place.may_be_old = true);
    }

    fn entry(&mut self, entry: &Entry, findings: &mut Findings) {
        match &entry.what {
            What::Stopped { at, offset, .. } => self.place(at).stop(*offset),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(number: i64) -> Offset {
        Offset::new(number).expect("not negative")
    }

    /// The log of a partition at which two processes have stopped, and in which a third one works.
    fn worked_on(topic_id: Option<TopicId>) -> Place {
        let mut place = Place::default();
        place.stop(offset(10));
        place.stop(offset(20));
        assert_eq!(place.started((3, Epoch(5)), (offset(20), topic_id)), None);
        place.commit(Epoch(5), CommittedOffset { offset: offset(30), topic_id });
        place
    }

    fn is_over(place: &mut Place, start: i64, topic_id: Option<TopicId>) -> bool {
        place.started((4, Epoch(6)), (offset(start), topic_id)).is_some()
    }

    #[test]
    fn an_old_note_is_excused_once_after_a_restore_where_no_ids_are_known() {
        assert!(is_over(&mut worked_on(None), 20, None), "the store did not go back");
        for note in [0, 10, 20] {
            let mut place = worked_on(None);
            place.may_be_old = true;
            assert!(!is_over(&mut place, note, None), "{note} may be in the backup");
            assert!(is_over(&mut place, note, None), "{note} once");
        }
        let mut place = worked_on(None);
        place.may_be_old = true;
        assert!(is_over(&mut place, 19, None), "nobody ever stopped there");
    }

    #[test]
    fn an_old_note_is_never_excused_where_ids_are_known() {
        let id = TopicId::new([7; 16]);
        for note in [0, 10, 20] {
            let mut place = worked_on(id);
            place.may_be_old = true;
            assert!(is_over(&mut place, note, id), "{note}");
        }
        assert!(!is_over(&mut worked_on(id), 30, id), "it is committed");
        assert!(is_over(&mut worked_on(id), 30, TopicId::new([8; 16])), "in another topic");
    }
}
