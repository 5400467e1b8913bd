//! The moves of a group, as the store's history tells them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kafka_assigner_audit::Micros;
use kafka_assigner_core::key::{Key, Layout};
use kafka_assigner_core::reason::{FenceReason, Reason};
use kafka_assigner_core::record::{Assignment, Consumer, Handoff, HandoffRecord, Phase, Standing, decode};
use kafka_assigner_types::id::{HandoffId, TopicPartition};
use kafka_assigner_types::kv::Change;

use super::chronicle::Seen;

/// A planned move of one unit: attempts until one reaches its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlannedMove {
    /// Handoffs, one after the other.
    pub(crate) attempts: usize,
    /// When the first of them began.
    pub(crate) begun: Micros,
    /// When the unit was at its new owner, and the old one had let go; `None` = never.
    pub(crate) ended: Option<Micros>,
}

/// What happened in a group.
#[derive(Debug, Clone, Default)]
pub(crate) struct GroupHistory {
    /// The planned moves, by the unit's first partition.
    pub(crate) moves: BTreeMap<TopicPartition, Vec<PlannedMove>>,
    /// Grants to an old owner because the new one never worked.
    pub(crate) given_back: usize,
    /// Consumers that planning passed over for a partition.
    pub(crate) avoided: usize,
    /// Sessions that were ended, or ran out: those that left are none.
    pub(crate) sessions_ended: usize,
}

impl PlannedMove {
    /// The time that it took, up to `now` where it has not ended.
    pub(crate) fn lasted(&self, now: Micros) -> Duration {
        Duration::from_micros(self.ended.unwrap_or(now).saturating_sub(self.begun))
    }
}

impl GroupHistory {
    /// Reads what was seen of the group at `layout`. Members in `leaving` were asked to leave: the end of their
    /// registrations counts only where the service ended them.
    pub(crate) fn read(seen: &[Seen], layout: &Layout, leaving: &[&str]) -> Self {
        let mut reader = Reader { leaving, ..Reader::default() };
        for Seen { at, change } in seen {
            match (layout.decode(change.key()), change) {
                (Some(Key::Handoff(unit)), change) => reader.handoff(&unit, change, *at),
                (Some(Key::Assignment(at)), Change::Put(record)) => {
                    decode(&record.value)
                        .into_iter()
                        .for_each(|assignment| reader.assignment(&at, &assignment));
                }
                (Some(Key::Consumer(name)), change) => reader.consumer(name.as_str(), change),
                _ => {}
            }
        }
        reader.history.given_back = reader.given_back.len();
        reader.history.avoided = reader.avoided.len();
        reader.history.sessions_ended = reader.sessions_ended.len();
        reader.history
    }

    /// All of the moves.
    pub(crate) fn all(&self) -> impl Iterator<Item = &PlannedMove> {
        self.moves.values().flatten()
    }
}

/// What was read so far.
#[derive(Debug, Default)]
struct Reader<'s> {
    leaving: &'s [&'s str],
    history: GroupHistory,
    /// Handoffs whose records are there.
    under_way: BTreeMap<TopicPartition, Handoff>,
    begun: BTreeSet<HandoffId>,
    owners: BTreeMap<TopicPartition, String>,
    given_back: BTreeSet<(TopicPartition, u64)>,
    avoided: BTreeSet<(TopicPartition, String)>,
    /// Sessions, by consumer and incarnation.
    sessions: BTreeMap<String, String>,
    sessions_ended: BTreeSet<(String, String)>,
}

impl Reader<'_> {
    fn handoff(&mut self, unit: &TopicPartition, change: &Change, at: Micros) {
        match change {
            Change::Put(record) => {
                if let Ok(HandoffRecord::Lead(handoff)) = decode(&record.value) {
                    self.attempt(unit, *handoff, at);
                }
            }
            Change::Delete { .. } => self.cleared(unit, at),
        }
    }

    fn attempt(&mut self, unit: &TopicPartition, handoff: Handoff, at: Micros) {
        if self.begun.insert(handoff.id.clone()) {
            let moves = self.history.moves.entry(unit.clone()).or_default();
            match moves.last_mut().filter(|last| last.ended.is_none()) {
                Some(last) => last.attempts += 1,
                None => moves.push(PlannedMove { attempts: 1, begun: at, ended: None }),
            }
        }
        self.under_way.insert(unit.clone(), handoff);
    }

    /// The record of a handoff is gone: the attempt is over, and the unit may be where it was to go.
    fn cleared(&mut self, unit: &TopicPartition, at: Micros) {
        let Some(handoff) = self.under_way.remove(unit) else { return };
        let is_there = self.owners.get(unit).is_some_and(|owner| owner == handoff.new.name.as_str());
        let has_moved = handoff.phase == Phase::Complete || is_there && handoff.phase != Phase::Cancelled;
        if let Some(last) = self.history.moves.get_mut(unit).and_then(|moves| moves.last_mut()) {
            last.ended = has_moved.then_some(at);
        }
    }

    fn assignment(&mut self, at: &TopicPartition, assignment: &Assignment) {
        match &assignment.owner {
            Some(owner) => drop(self.owners.insert(at.clone(), owner.name.to_string())),
            None => drop(self.owners.remove(at)),
        }
        if matches!(assignment.why, Reason::GivenBack { .. }) {
            self.given_back.insert((at.clone(), assignment.highest_epoch().0));
        }
        let avoided = assignment.avoid.iter().map(|avoid| (at.clone(), avoid.consumer.to_string()));
        self.avoided.extend(avoided);
    }

    fn consumer(&mut self, name: &str, change: &Change) {
        let left = self.leaving.contains(&name);
        let Change::Put(record) = change else {
            let session = self.sessions.remove(name).filter(|_| !left);
            self.sessions_ended.extend(session.map(|session| (name.to_owned(), session)));
            return;
        };
        let Ok(consumer) = decode::<Consumer>(&record.value) else { return };
        let session = consumer.incarnation.to_string();
        match &consumer.standing {
            Standing::Ending(FenceReason::Left) if left => {}
            Standing::Ending(_) => drop(self.sessions_ended.insert((name.to_owned(), session.clone()))),
            _ => {}
        }
        let before = self.sessions.insert(name.to_owned(), session.clone());
        let before = before.filter(|before| *before != session);
        self.sessions_ended.extend(before.map(|before| (name.to_owned(), before)));
    }
}
