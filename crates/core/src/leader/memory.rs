//! The memory of a leader: the moments since which it has seen things as they are.
//!
//! Deadlines and graces run on the leader's own clock from its first sight of a state. Nothing of this is
//! stored: a new leader starts afresh, which costs time and never correctness.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kafka_assigner_types::claim::span;

use super::back_off::BackOffs;
use super::committed_runs::CommittedRuns;
use super::history_wait::HistoryWait;
use super::phases::{EndedPhase, PhaseKey, PhaseSpan};
use super::suspicions::Suspicions;
use super::unbegun::UnbegunGrants;
use super::warm_up::WarmUp;
use crate::claim::Leases;
use crate::key::decode_partition;
use crate::reason::CancelReason;
use crate::record::{Assignment, Avoid, Handoff, Phase};
use crate::state::{GroupState, SharedMap, Touched};
use kafka_assigner_types::id::{Epoch, Member, TopicPartition};
use kafka_assigner_types::kv::{LeaseId, Revision};
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::name::MemberName;

/// The leader's memory of one group.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    phases: SharedMap<TopicPartition, PhaseSpan>,
    deadlines: BTreeSet<(Moment, TopicPartition)>,
    avoids: BTreeMap<TopicPartition, Vec<AvoidSighting>>,
    grants: BTreeMap<TopicPartition, Granted>,
    absences: BTreeMap<MemberName, Moment>,
    leases_gone: BTreeMap<LeaseId, Moment>,
    missed_freezes: BTreeMap<MemberName, Misses>,
    pub(super) history: HistoryWait,
    back_offs: BackOffs,
    unbegun: UnbegunGrants,
    committed: CommittedRuns,
    pub(super) suspicions: Suspicions,
}

/// The number of freezes that a router has missed in a row, in whichever sessions. Those that run at the same time are
/// one: it is silent once.
#[derive(Debug, Clone)]
struct Misses {
    count: u32,
    /// The time at which the last of them was counted.
    at: Moment,
}

/// After so many freezes in a row that a router kept from ending, the next ones do not wait for it.
const MOST_MISSED_FREEZES: u32 = 2;

/// For so long after it missed a freeze a router's misses count: each try that waits for it holds requests back for nothing.
const MISSES_COUNT: Duration = Duration::from_secs(3_600);

/// A grant in `overlap` that nothing disturbs.
#[derive(Debug, Clone)]
struct Granted {
    epoch: Epoch,
    since: Moment,
}

#[derive(Debug, Clone)]
struct AvoidSighting {
    what: Avoid,
    until: Moment,
}

impl Misses {
    fn count_at(&self, now: Moment) -> bool {
        now.since(self.at) < MISSES_COUNT
    }
}

impl Memory {
    /// Takes in everything, as a new leader does, and returns the phases that are over.
    pub fn recall(&mut self, state: &GroupState, now: Moment) -> Vec<EndedPhase> {
        let there = state.handoffs().keys().chain(state.assignments().keys());
        let seen = self
            .phases
            .keys()
            .chain(self.avoids.keys())
            .chain(self.grants.keys())
            .chain(self.committed.partitions());
        let units: BTreeSet<TopicPartition> = there.chain(seen).cloned().collect();
        let progress: BTreeSet<MemberName> = state.consumers().keys().cloned().collect();
        let suspicions = progress.iter().chain(self.suspicions.names()).cloned().collect();
        self.history.see(state, now);
        let touched = Touched { membership: true, units, progress, suspicions, ..Touched::default() };
        self.observe(state, &touched, now)
    }

    /// Takes in what was touched, and returns the phases that are over.
    pub fn observe(&mut self, state: &GroupState, touched: &Touched, now: Moment) -> Vec<EndedPhase> {
        let mut ended = Vec::new();
        for unit in &touched.units {
            ended.extend(self.see_phase(state, unit, now));
            self.see_avoids(state, unit, now);
            self.see_grant(state, unit, now);
            self.suspicions.see_unit(state, unit);
            self.committed.see_unit(state, unit);
        }
        for name in &touched.progress {
            self.see_progress(state, name, now);
        }
        if touched.membership {
            self.see_absences(state, now);
        }
        for name in &touched.registrations {
            self.unbegun.see(state, name, false, now);
            self.committed.see(state, name);
            self.see_fences(state, name, now);
        }
        for name in touched.registrations.iter().chain(&touched.suspicions) {
            ended.extend(self.see_suspicion(state, name, now));
        }
        ended
    }

    /// Takes in whether the registration of `name` can be read, which is to carry the fence of a unit that it gives.
    fn see_fences(&mut self, state: &GroupState, name: &MemberName, now: Moment) {
        let is_fenced = |at: &&TopicPartition| state.handoff(at).is_some_and(|handoff| handoff.is_fenced);
        for unit in state.concerned(name).filter(is_fenced).cloned().collect::<Vec<_>>() {
            // The phase goes on, and its time begins anew: none has ended.
            let _same_phase = self.see_phase(state, &unit, now);
        }
    }

    /// Takes in whether `name` is marked. That decides whether what waits at Ready has a deadline.
    fn see_suspicion(&mut self, state: &GroupState, name: &MemberName, now: Moment) -> Vec<EndedPhase> {
        let was_marked = self.suspicions.sighting(name).is_some();
        self.suspicions.see(state, name, now);
        if !was_marked && self.suspicions.sighting(name).is_none() {
            return Vec::new();
        }
        let concerned = state.concerned(name).filter(|at| self.phases.contains_key(at));
        let concerned: Vec<TopicPartition> = concerned.cloned().collect();
        concerned.iter().filter_map(|unit| self.see_phase(state, unit, now)).collect()
    }

    /// Takes in the phase in which the handoff at `unit` stands; returns the one that it left.
    pub fn see_phase(
        &mut self,
        state: &GroupState,
        unit: &TopicPartition,
        now: Moment,
    ) -> Option<EndedPhase> {
        let Some(handoff) = state.handoff(unit) else {
            return self.forget_phase(unit).map(|seen| seen.ended(now));
        };
        self.back_offs.see(handoff, now);
        self.see_words(state, handoff);
        let key = PhaseKey::of(state, handoff);
        if self.phases.get(unit).is_some_and(|seen| seen.key == key) {
            self.note_progress(state, unit, now, |warm_up| warm_up.hear_ready(handoff));
            return None;
        }
        self.see_freeze(handoff, now);
        let before = self.forget_phase(unit);
        self.note_phase(unit.clone(), PhaseSpan::begin(state, handoff, before.as_ref(), now));
        before.filter(|seen| !seen.is_of(handoff)).map(|seen| seen.ended(now))
    }

    fn note_phase(&mut self, unit: TopicPartition, span: PhaseSpan) {
        if !span.waits_for_end() {
            self.deadlines.insert((span.deadline, unit.clone()));
        }
        self.phases.insert(unit, span);
    }

    /// A router that says its word while requests are held back works, whether it was waited for or not.
    fn see_words(&mut self, state: &GroupState, handoff: &Handoff) {
        if self.missed_freezes.is_empty() || !handoff.phase.holds_requests() {
            return;
        }
        let is_silent = |router: &MemberName| {
            let registered = state.routers().get(router).and_then(|entry| entry.readable());
            !registered.is_some_and(|r| {
                handoff.unit.iter().all(|at| state.has_said(handoff, at, router, &r.incarnation))
            })
        };
        self.missed_freezes.retain(|router, _| is_silent(router));
    }

    /// A freeze that was called off for its time names the routers that it waited for in vain.
    fn see_freeze(&mut self, handoff: &Handoff, now: Moment) {
        let was = self.phases.get(handoff.lead()).filter(|seen| seen.key.id == handoff.id);
        let Some(since) = was.filter(|seen| seen.key.phase == Phase::Freezing).map(|seen| seen.since) else {
            return;
        };
        if let Some(CancelReason::Deadline { missing, .. }) = &handoff.cancelled {
            missing.iter().for_each(|router| self.note_missed(router, since, now));
        }
    }

    /// Notes that `router` kept a freeze that began at `since` from ending.
    fn note_missed(&mut self, router: &MemberName, since: Moment, now: Moment) {
        self.missed_freezes.retain(|_, misses| misses.count_at(now));
        let known = self.missed_freezes.get(router);
        if known.is_some_and(|misses| since < misses.at) {
            return;
        }
        let count = known.map_or(0, |misses| misses.count) + 1;
        self.missed_freezes.insert(router.clone(), Misses { count, at: now });
    }

    /// The registered routers that missed too many freezes in a row: the next one does not wait for them.
    #[must_use]
    pub fn silent_routers(&self, state: &GroupState, now: Moment) -> BTreeSet<MemberName> {
        let is_silent = |&(name, misses): &(&MemberName, &Misses)| {
            misses.count >= MOST_MISSED_FREEZES && misses.count_at(now) && state.routers().contains_key(name)
        };
        self.missed_freezes.iter().filter(is_silent).map(|(name, _)| name.clone()).collect()
    }

    /// Takes in what the store said of leases: since when this leader knows that they are gone.
    pub fn see_leases(&mut self, leases: &Leases, now: Moment) {
        for lease in leases.gone() {
            self.leases_gone.entry(lease).or_insert(now);
        }
    }

    /// Forgets the leases that `is_named` says are named by no assignment any more.
    pub fn forget_leases(&mut self, is_named: impl Fn(LeaseId) -> bool) {
        self.leases_gone.retain(|lease, _| is_named(*lease));
    }

    /// Since when this leader knows that `lease` is gone.
    #[must_use]
    pub fn lease_gone_since(&self, lease: LeaseId) -> Option<Moment> {
        self.leases_gone.get(&lease).copied()
    }

    fn forget_phase(&mut self, unit: &TopicPartition) -> Option<PhaseSpan> {
        let seen = self.phases.remove(unit)?;
        self.deadlines.remove(&(seen.deadline, unit.clone()));
        Some(seen)
    }

    fn see_progress(&mut self, state: &GroupState, name: &MemberName, now: Moment) {
        let Some(consumer) = state.registration(name) else { return };
        let mut progresses = false;
        for (at, progress) in &consumer.progress {
            let Some(at) = decode_partition(at) else { continue };
            let lead = state.lead_of(&at);
            if self.phases.get(&lead).is_some_and(|seen| seen.key.id == progress.handoff) {
                progresses |= self.note_progress(state, &lead, now, |warm_up| warm_up.hear(&at, progress));
            }
        }
        self.unbegun.see(state, name, progresses, now);
        self.committed.see(state, name);
        for at in state.concerned(name) {
            self.see_busy(state, at, now);
        }
    }

    /// Takes in whether the member that the handoff at `unit` waits for is busy with a record.
    fn see_busy(&mut self, state: &GroupState, unit: &TopicPartition, now: Moment) {
        let Some(handoff) = state.handoff(unit) else { return };
        let Some(seen) = self.phases.get(unit).filter(|seen| seen.is_of(handoff)) else { return };
        if let Some(next) = seen.after_report(state, handoff, now) {
            self.change_phase(unit, next);
        }
    }

    /// Begins the deadline of a warm-up anew where `hears` finds that it has progressed; true if it does.
    fn note_progress(
        &mut self,
        state: &GroupState,
        lead: &TopicPartition,
        now: Moment,
        hears: impl FnOnce(&mut WarmUp) -> bool,
    ) -> bool {
        let next = self.phases.get(lead).and_then(|seen| seen.after_warm_up(state, now, hears));
        let progresses = next.is_some();
        if let Some(next) = next {
            self.change_phase(lead, next);
        }
        progresses
    }

    fn change_phase(&mut self, unit: &TopicPartition, next: PhaseSpan) {
        self.forget_phase(unit);
        self.note_phase(unit.clone(), next);
    }

    fn see_avoids(&mut self, state: &GroupState, unit: &TopicPartition, now: Moment) {
        let avoid = state.assignment(unit).map_or(&[][..], |a: &Assignment| &a.avoid);
        let before = self.avoids.remove(unit).unwrap_or_default();
        let seen: Vec<AvoidSighting> = avoid
            .iter()
            .map(|what| match before.iter().find(|seen| seen.what == *what) {
                Some(seen) => seen.clone(),
                None => AvoidSighting { what: what.clone(), until: now + Duration::from_millis(what.for_ms) },
            })
            .collect();
        if !seen.is_empty() {
            self.avoids.insert(unit.clone(), seen);
        }
        if state.assignment(unit).is_none() {
            self.back_offs.forget(unit);
        }
    }

    /// Takes in how `at` is granted: since when by this grant in `overlap` and in no handoff.
    pub fn see_grant(&mut self, state: &GroupState, at: &TopicPartition, now: Moment) {
        let is_free = !state.handoffs().contains_key(at);
        let grant = state.assignment(at).filter(|assignment| is_free && !assignment.mode.is_strict());
        let Some(assignment) = grant else {
            self.grants.remove(at);
            return;
        };
        let epoch = assignment.held_epoch();
        if self.grants.get(at).is_none_or(|seen| seen.epoch != epoch) {
            self.grants.insert(at.clone(), Granted { epoch, since: now });
        }
    }

    /// The time for which those who owned `at` before in `overlap` may still act beside its owner; zero where nobody can.
    ///
    /// Those who lost it were over, or had let go, when this leader saw the grant: claims of theirs end within two
    /// thirds of the longest time to live from then on, or within the outage grace of one whose session ended without
    /// its word. An operator's word that they have stopped leaves nothing to wait for.
    #[must_use]
    pub fn outlived_for(&self, state: &GroupState, at: &TopicPartition, now: Moment) -> Duration {
        let Some(assignment) = state.assignment(at).filter(|_| !state.owners_have_stopped(at)) else {
            return self.history_wait(now);
        };
        let grace = Duration::from_millis(assignment.outlived_grace_ms);
        let span = span(Duration::from_millis(assignment.outlived_ttl_ms)).max(grace);
        let seen = self.grants.get(at).filter(|seen| seen.epoch == assignment.held_epoch());
        (seen.map_or(now, |seen| seen.since) + span).since(now).max(self.history_wait(now))
    }

    fn see_absences(&mut self, state: &GroupState, now: Moment) {
        let absent: BTreeSet<&MemberName> = state.absent_owners().collect();
        self.absences.retain(|name, _| absent.contains(name));
        for name in absent {
            // The grace of one that was marked before its session ended counts from the mark.
            let since = self.suspicions.sighting(name).map_or(now, |seen| seen.since);
            self.absences.entry(name.clone()).or_insert(since);
        }
    }

    /// True if the phase in which `handoff` stands has outlived its deadline.
    #[must_use]
    pub fn is_overdue(&self, state: &GroupState, handoff: &Handoff, now: Moment) -> bool {
        let is_over = |seen: &PhaseSpan| !seen.waits_for_end() && seen.deadline <= now;
        let key = PhaseKey::of(state, handoff);
        self.phases.get(handoff.lead()).is_some_and(|seen| seen.key == key && is_over(seen))
    }

    /// The time that is left of the phase in which `handoff` stands; `None` where it was not seen in it yet.
    #[must_use]
    pub fn phase_left(&self, state: &GroupState, handoff: &Handoff, now: Moment) -> Option<Duration> {
        let seen = self.phases.get(handoff.lead())?;
        (seen.key == PhaseKey::of(state, handoff)).then(|| seen.deadline.since(now))
    }

    /// True if planning passes over `member` for the unit that `at` leads.
    #[must_use]
    pub fn avoids(&self, at: &TopicPartition, member: &Member, now: Moment) -> bool {
        self.avoids.get(at).is_some_and(|seen| {
            seen.iter().any(|seen| {
                seen.what.consumer == member.name
                    && seen.what.incarnation == member.incarnation
                    && seen.until > now
            })
        })
    }

    /// The time for which a unit with `at` in the lead is not moved, since its owner did not stop in time.
    #[must_use]
    pub fn backs_off(&self, at: &TopicPartition, now: Moment) -> Option<Duration> {
        self.back_offs.left(at, now)
    }

    /// True if the last move of a unit with `at` in the lead away from `owner` was called off, since that one did not stop in time.
    #[must_use]
    pub fn was_called_off(&self, at: &TopicPartition, owner: &Member) -> bool {
        self.back_offs.is_slow_owner(at, owner)
    }

    /// The topic of which the last owner of `at` has committed an offset, also where its session is over since; `None`: it is
    /// not known to have.
    #[must_use]
    pub fn committed_in(&self, state: &GroupState, at: &TopicPartition) -> Option<Revision> {
        self.committed.topic_of(state, at)
    }

    /// True if the owner of `at` says that it has not begun it, and its time for that is over: it may be moved.
    #[must_use]
    pub fn is_late(&self, state: &GroupState, at: &TopicPartition, now: Moment) -> bool {
        self.unbegun.is_late(state, at, now)
    }

    /// The owners, among those that do not seem to be dead, that have not begun a grant in its time.
    pub fn late_owners<'a>(
        &'a self,
        state: &'a GroupState,
        now: Moment,
    ) -> impl Iterator<Item = &'a MemberName> {
        self.unbegun.late_owners(state, now)
    }

    /// True if the vanished consumer `name` may still come back: it said so, or its grace is not over.
    #[must_use]
    pub fn awaits(&self, state: &GroupState, name: &MemberName, now: Moment) -> bool {
        let grace = rejoin_grace(state);
        state.comes_back(name) || self.absences.get(name).is_some_and(|since| now < *since + grace)
    }

    /// The units whose deadline is over at `now`.
    pub fn overdue(&self, now: Moment) -> impl Iterator<Item = &TopicPartition> {
        self.deadlines.iter().take_while(move |(deadline, _)| *deadline <= now).map(|(_, unit)| unit)
    }

    /// The phase in which each handoff was seen last, by the unit's first partition. A copy costs next to nothing.
    #[must_use]
    pub const fn phases(&self) -> &SharedMap<TopicPartition, PhaseSpan> {
        &self.phases
    }

    /// The next moment after `now` at which a deadline is over.
    #[must_use]
    pub fn next_deadline(&self, now: Moment) -> Option<Moment> {
        self.deadlines.iter().map(|(deadline, _)| *deadline).find(|deadline| *deadline > now)
    }

    /// The next moment after `now` at which a plan may come out otherwise though no record changed: somebody is
    /// no longer passed over, or no longer awaited, or a unit may move again.
    #[must_use]
    pub fn next_plan(&self, state: &GroupState, now: Moment) -> Option<Moment> {
        let grace = rejoin_grace(state);
        let avoids = self.avoids.values().flatten().map(|seen| seen.until);
        let graces = self.absences.values().map(|since| *since + grace);
        let takeovers = self.suspicions.times();
        avoids
            .chain(graces)
            .chain(self.back_offs.ends())
            .chain(takeovers)
            .chain(self.unbegun.times(state))
            .filter(|moment| *moment > now)
            .min()
    }
}

fn rejoin_grace(state: &GroupState) -> Duration {
    Duration::from_millis(state.configured(|config| config.rejoin_grace_ms))
}
