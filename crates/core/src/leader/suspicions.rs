//! The sessions whose processes seem to be dead, as the leader has seen them: [`Suspicions`].
//!
//! A mark counts from the leader's first sight of it, by its own clock. A leader that loses touch with the store loses its
//! term and with it this memory, so no mark counts that nobody could have removed. Forgetting costs time only.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::Memory;
use super::deaths::{Deaths, MarkedSession};
use super::takeovers::Takeovers;
use crate::claim::{Leases, Remaining, margin_of};
use crate::reason::FenceReason;
use crate::record::{Consumer, Standing, Suspicion};
use crate::state::GroupState;
use kafka_assigner_types::id::{Incarnation, Member, TopicPartition};
use kafka_assigner_types::kv::LeaseId;
use kafka_assigner_types::moment::{Moment, WallMillis};
use kafka_assigner_types::name::MemberName;

/// For how long a mark that was removed makes its name wait longer the next time: long against what cuts connections
/// again and again, short against the life of a process.
const ALARMS_COUNT: Duration = Duration::from_secs(600);

/// The most times that the wait of a name is doubled: 32 times the group's setting, which is more than a session's time
/// to live at the defaults, so that its end decides.
const MOST_DOUBLINGS: u32 = 5;

/// The time after which the store is asked again about a lease of which it did not say what is left, or was not asked
/// when a third was left of it.
pub(super) const ASK_SUSPECT_AGAIN: Duration = Duration::from_millis(500);

/// The marks that stand, the names whose marks did not last, and those that were taken over.
#[derive(Debug, Clone, Default)]
pub(super) struct Suspicions {
    marks: BTreeMap<MemberName, MarkSighting>,
    false_alarms: BTreeMap<MemberName, FalseAlarms>,
    /// Shared with those who explain what the leader does.
    deaths: Arc<Deaths>,
    /// The leases that this pass asks about though their sessions are not over.
    asked: BTreeSet<LeaseId>,
    /// True if a suspect owns something in `overlap` of which the last plan did not know.
    has_turned: bool,
}

/// A mark, and since when the leader sees it. It is kept until the registration goes or can't be read, also while that is
/// ending.
#[derive(Debug, Clone)]
pub(super) struct MarkSighting {
    session: MarkedSession,
    pub(super) mark: Suspicion,
    pub(super) since: Moment,
    /// The earliest moment at which a third is left of the lease.
    pub(super) ask_at: Moment,
    /// The moment at which something may become of it, by the last plan; `None`: never by time alone.
    due: Option<Moment>,
    /// True if it owned something in `overlap` at the last plan. Until there is one, it counts as if it did.
    owns_overlap: bool,
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
        // Nobody removes the mark of one that can't be read, though it may be heard; so it counts anew when it can be.
        let Some(consumer) = state.registration(name) else {
            self.marks.remove(name);
            return;
        };
        let session = MarkedSession::of(name, consumer);
        if consumer.standing == Standing::Ending(FenceReason::Suspected) {
            let owned = state.concerned(name).filter(|at| state.owner(at).as_ref() == Some(&session.member));
            Arc::make_mut(&mut self.deaths).note(&session, owned, now);
        }
        match consumer.suspicion() {
            Some(mark) => self.note_mark(session, mark, now),
            None => self.note_none(&session.member, consumer, now),
        }
    }

    fn note_mark(&mut self, session: MarkedSession, mark: &Suspicion, now: Moment) {
        let known = self.marks.get(&session.member.name);
        if known.is_some_and(|seen| seen.session == session && seen.mark == *mark) {
            return;
        }
        let rest = Duration::from_millis(mark.rest_ms).saturating_sub(margin_of(session.ttl));
        let (name, mark, ask_at) = (session.member.name.clone(), mark.clone(), now + rest);
        let sighting = MarkSighting { session, mark, since: now, ask_at, due: None, owns_overlap: true };
        self.marks.insert(name, sighting);
    }

    /// A session that is here without the mark that it had was heard. One that is being ended keeps it: the grace of its
    /// name counts from then on.
    fn note_none(&mut self, member: &Member, consumer: &Consumer, now: Moment) {
        let is_known = self.marks.get(&member.name).is_some_and(|seen| seen.session.member == *member);
        if is_known && consumer.is_ending() {
            return;
        }
        self.marks.remove(&member.name);
        if !is_known {
            return;
        }
        self.false_alarms.retain(|_, alarms| now < alarms.last + ALARMS_COUNT);
        let new = FalseAlarms { count: 0, last: now };
        let alarms = self.false_alarms.entry(member.name.clone()).or_insert(new);
        (alarms.count, alarms.last) = (alarms.count.saturating_add(1), now);
    }

    /// Takes in that the session `member`, which owned `units`, was ended because its process seemed to be dead. Its
    /// registration may be gone before anybody sees that.
    pub(super) fn note_takeover(&mut self, member: &Member, units: &[TopicPartition], now: Moment) {
        let seen = self.marks.get(&member.name).filter(|seen| seen.session.member == *member);
        if let Some(seen) = seen {
            Arc::make_mut(&mut self.deaths).note(&seen.session, units.iter(), now);
        }
    }

    /// Takes in the owner of `at`: one that gets something in `overlap`, or has it there from now on, may be ended sooner
    /// than the last plan knew.
    pub(super) fn see_unit(&mut self, state: &GroupState, at: &TopicPartition) {
        let granted = state.assignment(at).filter(|assignment| !assignment.mode.is_strict());
        let Some(owner) = granted.and_then(|assignment| assignment.owner.as_ref()) else { return };
        let marked = self.marks.get(&owner.name).filter(|seen| owner.is(&seen.session.member));
        self.has_turned |= marked.is_some_and(|seen| !seen.owns_overlap);
    }

    /// True if what the last plan knew of a suspect is not true any more; from now on that is known.
    pub(super) const fn take_turned(&mut self) -> bool {
        std::mem::replace(&mut self.has_turned, false)
    }

    /// Takes in what a plan found for all suspects at `now`.
    pub(super) fn note_plan(&mut self, takeovers: &Takeovers, now: Moment) {
        self.has_turned = false;
        for (name, seen) in &mut self.marks {
            let outcome = takeovers.outcome(name);
            seen.due = outcome.and_then(|outcome| outcome.due(now));
            // One that is being ended gets nothing any more, and what it has is no news.
            seen.owns_overlap = outcome.map_or(seen.owns_overlap, |outcome| outcome.owns_overlap);
        }
    }

    /// The mark of `name` as it was seen.
    pub(super) fn sighting(&self, name: &MemberName) -> Option<&MarkSighting> {
        self.marks.get(name)
    }

    /// The names that are marked, or were when their sessions began to be ended.
    pub(super) fn names(&self) -> impl Iterator<Item = &MemberName> {
        self.marks.keys()
    }

    /// By how much a name waits longer whose marks did not last.
    pub(super) fn doubling(&self, name: &MemberName, now: Moment) -> u32 {
        let alarms = self.false_alarms.get(name).filter(|alarms| now < alarms.last + ALARMS_COUNT);
        1 << alarms.map_or(0, |alarms| alarms.count.min(MOST_DOUBLINGS))
    }

    /// The processes that were taken over, each for a time to live.
    pub(super) fn taken_over(&self, now: Moment) -> impl Iterator<Item = &str> {
        self.deaths.processes(now)
    }

    /// The moments at which something may become of a suspect.
    pub(super) fn times(&self) -> impl Iterator<Item = Moment> {
        let ends = self.deaths.ends().filter(|_| !self.marks.is_empty());
        self.marks.values().filter_map(|seen| seen.due).chain(ends)
    }

    /// True if the owners of `at` before the session `incarnation` were taken over, twice within ten minutes.
    pub(super) fn owners_die(&self, at: &TopicPartition, incarnation: &Incarnation, now: Moment) -> bool {
        self.deaths.of_unit(at, incarnation, now)
    }

    /// The sessions that were taken over. A copy costs next to nothing.
    pub(super) const fn deaths(&self) -> &Arc<Deaths> {
        &self.deaths
    }

    /// Remembers `deaths` in place of what it knew of them.
    pub(super) fn remember(&mut self, deaths: Arc<Deaths>) {
        self.deaths = deaths;
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
    pub(super) fn note_rests(&mut self, state: &GroupState, leases: &Leases, now: Moment) {
        for (name, seen) in &mut self.marks {
            let Some(consumer) = state.registration(name).filter(|c| self.asked.contains(&c.lease)) else {
                continue;
            };
            let margin = margin_of(seen.session.ttl);
            match leases.remaining(consumer.lease) {
                Some(Remaining::Left(left)) if left > margin => seen.ask_at = now + (left - margin),
                Some(_) => {}
                None => seen.ask_at = now + ASK_SUSPECT_AGAIN,
            }
        }
    }

    /// Counts the marks from the times that stand in them, by the wall clock, for plans that are only looked at.
    pub(super) fn backdate(&mut self, wall: WallMillis) {
        for seen in self.marks.values_mut() {
            let age = Duration::from_millis(wall.0.saturating_sub(seen.mark.since.0));
            seen.since = Moment(seen.since.0.saturating_sub(age));
            seen.ask_at = Moment(seen.ask_at.0.saturating_sub(age));
        }
    }
}

impl Memory {
    /// True if the owners of `at` die one after the other, and that of now is taken over: the end of its session is waited
    /// for.
    #[must_use]
    pub fn owners_die(&self, state: &GroupState, at: &TopicPartition, now: Moment) -> bool {
        let owner = state.owner(at).filter(|owner| state.is_taken_over(owner));
        owner.is_some_and(|owner| self.suspicions.owners_die(at, &owner.incarnation, now))
    }

    /// The sessions that were taken over lately. A copy costs next to nothing.
    #[must_use]
    pub const fn deaths(&self) -> &Arc<Deaths> {
        self.suspicions.deaths()
    }

    /// Notes the leases that are asked about though their sessions are here: nothing is granted on what is left of them.
    pub fn note_asked_early(&mut self, leases: impl IntoIterator<Item = LeaseId>) {
        self.suspicions.note_asked(leases.into_iter().collect());
    }

    /// True if the rest of `lease` was asked for while its session was there.
    #[must_use]
    pub fn is_asked_early(&self, lease: LeaseId) -> bool {
        self.suspicions.is_asked(lease)
    }
}
