//! What a leader remembers: since when it has seen things as they are.
//!
//! Deadlines and graces run on the leader's own clock from its first sight of a state. Nothing of this is
//! stored: a new leader starts afresh, which costs time and never correctness.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kafka_assigner_types::claim::span;

use crate::claim::Leases;
use crate::id::{Epoch, HandoffId, Incarnation, Member, TopicPartition};
use crate::kv::LeaseId;
use crate::moment::Moment;
use crate::name::MemberName;
use crate::reason::CancelReason;
use crate::record::{Assignment, Avoid, GroupConfig, Handoff, Phase};
use crate::state::{GroupState, Touched};

/// The leader's memory of one group.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    phases: BTreeMap<TopicPartition, Sighting>,
    deadlines: BTreeSet<(Moment, TopicPartition)>,
    avoids: BTreeMap<TopicPartition, Vec<AvoidSighting>>,
    grants: BTreeMap<TopicPartition, Granted>,
    absences: BTreeMap<MemberName, Moment>,
    leases_gone: BTreeMap<LeaseId, Moment>,
    missed_freezes: BTreeMap<MemberName, Misses>,
}

/// How many freezes a router has missed in a row. Those that run at the same time are one: it is silent once.
#[derive(Debug, Clone)]
struct Misses {
    incarnation: Incarnation,
    count: u32,
    /// When the last of them was counted.
    at: Moment,
}

/// After so many freezes in a row that a router kept from ending, its session is ended: others wait for it.
const MOST_MISSED_FREEZES: u32 = 2;

#[derive(Debug, Clone)]
struct Sighting {
    what: Standing,
    done: u64,
    since: Moment,
    deadline: Moment,
}

impl Sighting {
    fn span(&self) -> PhaseSpan {
        let Self { what, since, deadline, .. } = self;
        PhaseSpan { id: what.id.clone(), phase: what.phase, since: *since, deadline: *deadline }
    }
}

/// What has to stay the same for a phase to be the same one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Standing {
    id: HandoffId,
    phase: Phase,
    taken: bool,
}

/// Since when a handoff is in its phase, and when that has to be over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseSpan {
    /// The handoff.
    pub id: HandoffId,
    /// The phase.
    pub phase: Phase,
    /// When the leader saw the phase first; in `Complete` begun anew once the new owner has taken.
    pub since: Moment,
    /// When it has to be over, by the leader's clock. Reported progress moves it on.
    pub deadline: Moment,
}

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

impl Memory {
    /// Takes in everything, as a new leader does.
    pub fn recall(&mut self, state: &GroupState, now: Moment) {
        let units: BTreeSet<TopicPartition> =
            state.handoffs().keys().chain(state.assignments().keys()).cloned().collect();
        let progress = state.consumers().keys().cloned().collect();
        self.observe(state, &Touched { membership: true, units, progress, ..Touched::default() }, now);
    }

    /// Takes in what was touched.
    pub fn observe(&mut self, state: &GroupState, touched: &Touched, now: Moment) {
        for unit in &touched.units {
            self.see_phase(state, unit, now);
            self.see_avoids(state, unit, now);
            self.see_grant(state, unit, now);
        }
        for name in &touched.progress {
            self.see_progress(state, name, now);
        }
        if touched.membership {
            self.see_absences(state, now);
        }
    }

    fn see_phase(&mut self, state: &GroupState, unit: &TopicPartition, now: Moment) {
        let Some(handoff) = state.handoff(unit) else {
            self.forget_phase(unit);
            return;
        };
        let what = standing(handoff);
        if self.phases.get(unit).is_some_and(|seen| seen.what == what) {
            return;
        }
        self.see_freeze(state, handoff, now);
        self.forget_phase(unit);
        let deadline = now + phase_deadline(&config_of(state), handoff.phase);
        self.deadlines.insert((deadline, unit.clone()));
        self.phases.insert(unit.clone(), Sighting { what, done: 0, since: now, deadline });
    }

    /// A freeze that ended names the routers that it waited for in vain, and shows that those work that said their word.
    fn see_freeze(&mut self, state: &GroupState, handoff: &Handoff, now: Moment) {
        let was = self.phases.get(handoff.lead()).filter(|seen| seen.what.id == handoff.id);
        let Some(since) = was.filter(|seen| seen.what.phase == Phase::Freezing).map(|seen| seen.since) else {
            return;
        };
        match &handoff.cancelled {
            Some(CancelReason::Deadline { missing, .. }) => {
                missing.iter().for_each(|router| self.note_missed(state, router, since, now));
            }
            Some(_) => {}
            None => self.missed_freezes.retain(|router, misses| {
                !handoff.unit.iter().all(|at| state.has_said(handoff, at, router, &misses.incarnation))
            }),
        }
    }

    /// Notes that `router` kept a freeze that began at `since` from ending.
    fn note_missed(&mut self, state: &GroupState, router: &MemberName, since: Moment, now: Moment) {
        let Some(registration) = state.routers().get(router).and_then(|entry| entry.readable()) else {
            return;
        };
        let incarnation = registration.incarnation.clone();
        let known = self.missed_freezes.get(router).filter(|misses| misses.incarnation == incarnation);
        if known.is_some_and(|misses| since < misses.at) {
            return;
        }
        let count = known.map_or(0, |misses| misses.count) + 1;
        self.missed_freezes.insert(router.clone(), Misses { incarnation, count, at: now });
    }

    /// The routers that missed too many freezes in a row, in their sessions.
    #[must_use]
    pub fn stuck_routers(&self, state: &GroupState) -> Vec<Member> {
        let is_stuck = |(name, misses): (&MemberName, &Misses)| {
            let member = Member { name: name.clone(), incarnation: misses.incarnation.clone() };
            (misses.count >= MOST_MISSED_FREEZES && state.is_routing(&member)).then_some(member)
        };
        self.missed_freezes.iter().filter_map(is_stuck).collect()
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

    fn forget_phase(&mut self, unit: &TopicPartition) {
        if let Some(seen) = self.phases.remove(unit) {
            self.deadlines.remove(&(seen.deadline, unit.clone()));
        }
    }

    fn see_progress(&mut self, state: &GroupState, name: &MemberName, now: Moment) {
        let Some(consumer) = state.registration(name) else { return };
        let deadline = now + phase_deadline(&config_of(state), Phase::Warming);
        for (at, progress) in &consumer.progress {
            let Some(unit) = parse_partition(at) else { continue };
            let lead = state.lead_of(&unit);
            let Some(seen) = self.phases.get_mut(&lead) else { continue };
            let is_new = seen.what.id == progress.handoff && progress.done > seen.done;
            if is_new && seen.what.phase == Phase::Warming {
                self.deadlines.remove(&(seen.deadline, lead.clone()));
                self.deadlines.insert((deadline, lead));
                seen.done = progress.done;
                seen.deadline = deadline;
            }
        }
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
    }

    /// Takes in how `at` is granted: since when by this grant in `overlap` and in no handoff.
    pub fn see_grant(&mut self, state: &GroupState, at: &TopicPartition, now: Moment) {
        let is_free = !state.handoffs().contains_key(at);
        let grant = state.assignment(at).filter(|assignment| is_free && !assignment.mode.is_strict());
        let Some(assignment) = grant else {
            self.grants.remove(at);
            return;
        };
        let epoch = assignment.epoch;
        if self.grants.get(at).is_none_or(|seen| seen.epoch != epoch) {
            self.grants.insert(at.clone(), Granted { epoch, since: now });
        }
    }

    /// How long those who owned `at` before in `overlap` may still act beside its owner; zero where nobody can.
    ///
    /// Whoever lost it was over, or had let go, when this leader saw the grant: claims of theirs end within two thirds
    /// of the longest time to live from then on.
    #[must_use]
    pub fn outlived_for(&self, at: &TopicPartition, assignment: &Assignment, now: Moment) -> Duration {
        let span = span(Duration::from_millis(assignment.outlived_ttl_ms));
        let seen = self.grants.get(at).filter(|seen| seen.epoch == assignment.epoch);
        (seen.map_or(now, |seen| seen.since) + span).since(now)
    }

    fn see_absences(&mut self, state: &GroupState, now: Moment) {
        let absent: BTreeSet<&MemberName> = state.absent_owners().collect();
        self.absences.retain(|name, _| absent.contains(name));
        for name in absent {
            self.absences.entry(name.clone()).or_insert(now);
        }
    }

    /// Whether the phase in which `handoff` stands has outlived its deadline.
    #[must_use]
    pub fn is_overdue(&self, handoff: &Handoff, now: Moment) -> bool {
        self.phases
            .get(handoff.lead())
            .is_some_and(|seen| seen.what == standing(handoff) && seen.deadline <= now)
    }

    /// Whether planning passes over `member` for the unit that `at` leads.
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

    /// Whether the vanished consumer `name` may still come back: it said so, or its grace is not over.
    #[must_use]
    pub fn awaits(&self, state: &GroupState, name: &MemberName, now: Moment) -> bool {
        let grace = Duration::from_millis(config_of(state).rejoin_grace_ms);
        state.comes_back(name) || self.absences.get(name).is_some_and(|since| now < *since + grace)
    }

    /// The units whose deadline is over at `now`.
    pub fn overdue(&self, now: Moment) -> impl Iterator<Item = &TopicPartition> {
        self.deadlines.iter().take_while(move |(deadline, _)| *deadline <= now).map(|(_, unit)| unit)
    }

    /// The phase in which each handoff was seen last, by the unit's first partition.
    pub fn phases(&self) -> impl Iterator<Item = (&TopicPartition, PhaseSpan)> {
        self.phases.iter().map(|(unit, seen)| (unit, seen.span()))
    }

    /// The phase in which the handoff of `unit` was seen last.
    #[must_use]
    pub fn phase(&self, unit: &TopicPartition) -> Option<PhaseSpan> {
        self.phases.get(unit).map(Sighting::span)
    }

    /// The next moment after `now` at which a deadline is over.
    #[must_use]
    pub fn next_deadline(&self, now: Moment) -> Option<Moment> {
        self.deadlines.iter().map(|(deadline, _)| *deadline).find(|deadline| *deadline > now)
    }

    /// The next moment after `now` at which a plan may come out otherwise though no record changed: somebody is
    /// no longer passed over, or no longer awaited.
    #[must_use]
    pub fn next_plan(&self, state: &GroupState, now: Moment) -> Option<Moment> {
        let grace = Duration::from_millis(config_of(state).rejoin_grace_ms);
        let avoids = self.avoids.values().flatten().map(|seen| seen.until);
        let graces = self.absences.values().map(|since| *since + grace);
        avoids.chain(graces).filter(|moment| *moment > now).min()
    }
}

fn standing(handoff: &Handoff) -> Standing {
    Standing { id: handoff.id.clone(), phase: handoff.phase, taken: handoff.taken.is_some() }
}

fn config_of(state: &GroupState) -> GroupConfig {
    state.config().unwrap_or_default()
}

/// How long a phase may last.
#[must_use]
pub fn phase_deadline(config: &GroupConfig, phase: Phase) -> Duration {
    Duration::from_millis(match phase {
        Phase::Warming => config.warm_deadline_ms,
        Phase::Ready
        | Phase::Freezing
        | Phase::Draining
        | Phase::CatchingUp
        | Phase::Complete
        | Phase::Cancelled => config.phase_deadline_ms,
    })
}

/// The units of whose warm-up the consumer `name` tells how far it is, by their first partitions.
pub fn units_in_progress(state: &GroupState, name: &MemberName) -> impl Iterator<Item = TopicPartition> {
    let told = state.registration(name).into_iter().flat_map(|consumer| consumer.progress.keys());
    told.filter_map(|at| Some(state.lead_of(&parse_partition(at)?)))
}

fn parse_partition(text: &str) -> Option<TopicPartition> {
    let (topic, partition) = text.split_once('/')?;
    Some(TopicPartition::new(topic.parse().ok()?, partition.parse().ok()?))
}
