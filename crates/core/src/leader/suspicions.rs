//! The sessions whose processes seem to be dead, as the leader has seen them: [`Suspicions`].
//!
//! A mark counts from the leader's first sight of it, by its own clock. A leader that loses touch with the store loses its
//! term and with it this memory, so no mark counts that nobody could have removed. Forgetting costs time only.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::deaths::Deaths;
use crate::claim::{Leases, Remaining, margin_of};
use crate::reason::FenceReason;
use crate::record::{Consumer, Standing, Suspicion};
use crate::state::{GroupState, Versioned};
use kafka_assigner_types::id::{Incarnation, Member, TopicPartition};
use kafka_assigner_types::kv::LeaseId;
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::name::MemberName;

/// For how long a mark that was removed makes its name wait longer the next time: long against what cuts connections
/// again and again, short against the life of a process.
const REMEMBERED: Duration = Duration::from_secs(600);

/// The most times that the wait of a name is doubled: 32 times the group's setting, which is more than a session's time
/// to live at the defaults, so that its end decides.
const MOST_DOUBLINGS: u32 = 5;

/// The time after which the store is asked again about a lease of which it did not say what is left.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// The marks that stand, the names whose marks did not last, and those that were taken over.
#[derive(Debug, Clone, Default)]
pub(super) struct Suspicions {
    marks: BTreeMap<MemberName, MarkSighting>,
    false_alarms: BTreeMap<MemberName, FalseAlarms>,
    deaths: Deaths,
    /// The leases that this pass asks about though their sessions are not over.
    asked: BTreeSet<LeaseId>,
}

/// A mark, and since when the leader sees it.
#[derive(Debug, Clone)]
pub(super) struct MarkSighting {
    incarnation: Incarnation,
    pub(super) mark: Suspicion,
    pub(super) since: Moment,
    /// The earliest moment at which a third is left of the lease.
    pub(super) ask_at: Moment,
}

/// The marks of one name that did not last.
#[derive(Debug, Clone)]
struct FalseAlarms {
    count: u32,
    last: Moment,
}

impl Suspicions {
    /// Takes in the registration of `name`.
    pub(super) fn see(&mut self, state: &GroupState, name: &MemberName, now: Moment) {
        let Some(consumer) = state.registration(name) else {
            if !state.consumers().contains_key(name) {
                self.marks.remove(name);
            }
            return;
        };
        let member = Member { name: name.clone(), incarnation: consumer.incarnation.clone() };
        if consumer.standing == Standing::Ending(FenceReason::Suspected) {
            self.deaths.note(state, &member, consumer, now);
        }
        match state.suspicion(&member) {
            Some(mark) => self.note_mark(name, consumer, mark, now),
            None => self.note_none(name, consumer, now),
        }
    }

    fn note_mark(
        &mut self,
        name: &MemberName,
        consumer: &Versioned<Consumer>,
        mark: &Suspicion,
        now: Moment,
    ) {
        let known = self.marks.get(name);
        if known.is_some_and(|seen| seen.incarnation == consumer.incarnation && seen.mark == *mark) {
            return;
        }
        let margin = margin_of(Duration::from_millis(consumer.ttl_ms));
        let ask_at = now + Duration::from_millis(mark.rest_ms).saturating_sub(margin);
        let (incarnation, mark) = (consumer.incarnation.clone(), mark.clone());
        self.marks.insert(name.clone(), MarkSighting { incarnation, mark, since: now, ask_at });
    }

    /// A session that is here without the mark that it had was heard.
    fn note_none(&mut self, name: &MemberName, consumer: &Consumer, now: Moment) {
        let before = self.marks.remove(name).filter(|seen| seen.incarnation == consumer.incarnation);
        if before.is_none() || consumer.is_ending() {
            return;
        }
        self.false_alarms.retain(|_, alarms| now < alarms.last + REMEMBERED);
        let alarms = self.false_alarms.entry(name.clone()).or_insert(FalseAlarms { count: 0, last: now });
        (alarms.count, alarms.last) = (alarms.count.saturating_add(1), now);
    }

    /// The mark of `name` as it was seen.
    pub(super) fn sighting(&self, name: &MemberName) -> Option<&MarkSighting> {
        self.marks.get(name)
    }

    /// The names that are marked.
    pub(super) fn names(&self) -> impl Iterator<Item = &MemberName> {
        self.marks.keys()
    }

    /// By how much a name waits longer whose marks did not last.
    pub(super) fn doubling(&self, name: &MemberName, now: Moment) -> u32 {
        let alarms = self.false_alarms.get(name).filter(|alarms| now < alarms.last + REMEMBERED);
        1 << alarms.map_or(0, |alarms| alarms.count.min(MOST_DOUBLINGS))
    }

    /// The processes that were taken over, each for a time to live.
    pub(super) fn taken_over(&self, now: Moment) -> impl Iterator<Item = &str> {
        self.deaths.processes(now)
    }

    /// The moments at which a process counts no more as taken over.
    pub(super) fn forgotten(&self) -> impl Iterator<Item = Moment> {
        self.deaths.forgotten()
    }

    /// True if the owners of `at` before the session `incarnation` were taken over, twice within ten minutes.
    pub(super) fn owners_die(&self, at: &TopicPartition, incarnation: &Incarnation, now: Moment) -> bool {
        self.deaths.of_unit(at, incarnation, now)
    }

    /// Notes the leases that this pass asks about though their sessions are not over.
    pub(super) fn note_asked(&mut self, asked: BTreeSet<LeaseId>) {
        self.asked = asked;
    }

    /// True if the rest of `lease` was read while its session was there: it may have been kept alive since.
    pub(super) fn is_asked(&self, lease: LeaseId) -> bool {
        self.asked.contains(&lease)
    }

    /// Takes in what is left of the leases that were asked about.
    pub(super) fn hear(&mut self, state: &GroupState, leases: &Leases, now: Moment) {
        for (name, seen) in &mut self.marks {
            let Some(consumer) = state.registration(name).filter(|c| self.asked.contains(&c.lease)) else {
                continue;
            };
            let margin = margin_of(Duration::from_millis(consumer.ttl_ms));
            match leases.remaining(consumer.lease) {
                Some(Remaining::Left(left)) if left > margin => seen.ask_at = now + (left - margin),
                Some(_) => {}
                None => seen.ask_at = now + ASK_AGAIN,
            }
        }
    }

    /// Counts the marks from the times that stand in them, by the wall clock, for plans that are only looked at.
    pub(super) fn backdate(&mut self, wall: kafka_assigner_types::moment::WallMillis) {
        for seen in self.marks.values_mut() {
            let age = Duration::from_millis(wall.0.saturating_sub(seen.mark.since.0));
            seen.since = Moment(seen.since.0.saturating_sub(age));
            seen.ask_at = Moment(seen.ask_at.0.saturating_sub(age));
        }
    }
}
