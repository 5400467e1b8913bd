//! I10: nothing moves that the strategy did not ask for, and nobody is given anything who is not there.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::action::Step as Action;
use kafka_assigner_core::claim::{Leases, Remaining, doubtful};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::leader::{Leader, StepInputs};
use kafka_assigner_core::plan::{Deferral, WhatIf};
use kafka_assigner_core::reason::DeferReason;
use kafka_assigner_core::record::Handoff;
use kafka_assigner_core::state::{GroupState, Presence, Touched};
use kafka_assigner_strategies::Registry;
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::kv::{Change, LeaseId};
use kafka_assigner_types::moment::{Moment, WallMillis};
use kafka_assigner_types::name::MemberName;

use super::{Findings, Invariant, Step};

/// The most revisions by which a leader's view may be behind; views that are held for 8 s miss no more.
const MOST_BEHIND: usize = 600;

/// The most leases of which each choice is tried: 32 plans.
const MOST_DOUBTFUL: usize = 4;

/// The moves that a plan begins: each a unit, and who gets it.
type Wanted = (Vec<TopicPartition>, Member);

/// A state of the group with what would be begun on it, once somebody asks.
#[derive(Debug)]
struct Past {
    state: Arc<GroupState>,
    wanted: Option<Vec<Wanted>>,
}

#[derive(Debug)]
pub(super) struct Minimal {
    past: VecDeque<Past>,
    /// A leader that has seen everything: it knows which units rest after a move that took too long, so that others are
    /// moved in their place. One that was elected since knows of none.
    witness: Leader,
    /// A leader that has seen everything since the last election, and nothing of before.
    elected: Leader,
}

impl Default for Minimal {
    fn default() -> Self {
        let new = || Leader::new(Moment::default());
        Self { past: VecDeque::new(), witness: new(), elected: new() }
    }
}

impl Minimal {
    fn remember(&mut self, state: &Arc<GroupState>) {
        if self.past.len() == MOST_BEHIND {
            self.past.pop_back();
        }
        self.past.push_front(Past { state: Arc::clone(state), wanted: None });
    }

    /// True if some state that the leader may have seen asks for this move, of one that remembers all, what was since the
    /// election, or nothing.
    fn is_wanted(&mut self, now: Moment, handoff: &Handoff) -> bool {
        let (witness, elected) = (&self.witness, &self.elected);
        self.past.iter_mut().any(|past| {
            let wanted = past.wanted.get_or_insert_with(|| {
                let fresh = Leader::having_seen(&past.state, now);
                let leaders = [&fresh, witness, elected];
                let moments = [now, by_the_fastest_clock(now)];
                let begun = |leader| moments.map(|moment| begun(leader, &past.state, moment)).concat();
                leaders.map(begun).concat()
            });
            wanted.iter().any(|(unit, to)| *unit == handoff.unit && *to == handoff.new)
        })
    }

    fn begins(&mut self, step: &Step<'_>, handoff: &Handoff, findings: &mut Findings) {
        let mut wrong = |what: &str| {
            findings.report(step.at, format!("handoff {} of {:?}: {what}", handoff.id, handoff.unit));
        };
        if handoff.old.name == handoff.new.name {
            wrong("it goes nowhere");
        }
        if handoff.unit.iter().any(|at| !owns(step.before, &handoff.old, at)) {
            wrong("its old owner does not own it");
        }
        if can_tell(step.before) && !takes_over(step) && !self.is_wanted(Moment(step.at), handoff) {
            wrong("the strategy never asked for it");
        }
    }
}

/// The clock of a leader may run half a percent faster than the one by which the witnesses have noted when a pause began; a pause
/// lasts some 80 s at most here.
fn by_the_fastest_clock(now: Moment) -> Moment {
    now + Duration::from_millis(500)
}

fn is_election(step: &Step<'_>) -> bool {
    step.changes.iter().any(|(key, change)| *key == Key::Leader && matches!(change, Change::Put(_)))
}

fn owns(state: &GroupState, member: &Member, at: &TopicPartition) -> bool {
    state.assignment(at).and_then(|a| a.owner.as_ref()).is_some_and(|owner| owner.is(member))
}

/// True if sessions are taken over: the leader knows what was left of the leases of all suspects, and plans by that.
fn takes_over(step: &Step<'_>) -> bool {
    let is_new = |member: &Member| step.after.is_taken_over(member) && !step.before.is_taken_over(member);
    step.changes.iter().any(|(key, _)| {
        let Key::Consumer(name) = key else { return false };
        let registration = step.after.registration(name);
        registration.is_some_and(|consumer| {
            is_new(&Member { name: name.clone(), incarnation: consumer.incarnation.clone() })
        })
    })
}

/// The consumers whose registrations changed: they may be marked from now on, or not any more, and have told how far they are.
fn consumers(step: &Step<'_>) -> BTreeSet<MemberName> {
    let name = |(key, _): &(Key, _)| if let Key::Consumer(name) = key { Some(name.clone()) } else { None };
    step.changes.iter().filter_map(name).collect()
}

/// False where something decides too that only a leader remembers (failures, who may come back, since when a lease is gone), or
/// that can't be read: then nothing is said here.
fn can_tell(state: &GroupState) -> bool {
    let awaits =
        state.config().is_none_or(|config| config.rejoin_grace_ms > 0 || config.wait_out_revocations);
    !(awaits && state.absent_owners().next().is_some())
        && state.rejoins().is_empty()
        && state.unreadable().is_empty()
        && state.config_entry().is_none_or(|entry| entry.readable().is_some())
        && state.topics().values().all(|entry| entry.readable().is_some())
        && state.consumers().values().all(|entry| entry.readable().is_some())
        && state.assignments().values().all(|entry| entry.last_good().is_none_or(|a| a.avoid.is_empty()))
}

/// The moves that `leader` begins, by what the store may have said of the leases of sessions that are over: of those whose claims
/// have ended the partitions are granted in the same pass, and what moves besides follows from that.
fn begun(leader: &Leader, state: &GroupState, moment: Moment) -> Vec<Wanted> {
    let ended: Vec<LeaseId> = doubtful(state, state.assignments().keys()).into_keys().collect();
    let said = what_may_be_said(&ended);
    said.iter().flat_map(|leases| begun_with(leases, leader, state, moment)).collect()
}

/// Each choice of those of which nothing is left; of many none, all, and each alone or left alone. One that is gone may be waited for, if it
/// vanished; so each choice is tried with leases that are about to run out as well.
fn what_may_be_said(ended: &[LeaseId]) -> Vec<Leases> {
    if ended.is_empty() {
        return vec![Leases::default()];
    }
    let of = |left| choices(ended, left);
    of(Remaining::Gone).into_iter().chain(of(Remaining::Left(Duration::ZERO))).collect()
}

fn choices(ended: &[LeaseId], left: Remaining) -> Vec<Leases> {
    let gone = |is_gone: &dyn Fn(usize) -> bool| -> Leases {
        let gone = ended.iter().enumerate().filter(|(index, _)| is_gone(*index));
        gone.map(|(_, lease)| (*lease, left)).collect()
    };
    if ended.len() <= MOST_DOUBTFUL {
        return (0..1_usize << ended.len()).map(|chosen| gone(&|index| chosen >> index & 1 == 1)).collect();
    }
    let one = |index| [gone(&|other| other == index), gone(&|other| other != index)];
    (0..ended.len()).flat_map(one).chain([Leases::default(), gone(&|_| true)]).collect()
}

fn begun_with(leases: &Leases, leader: &Leader, state: &GroupState, moment: Moment) -> Vec<Wanted> {
    let inputs =
        StepInputs { moment, wall: WallMillis::default(), nonce: 0, strategies: Registry::builtin() };
    let planned = leader.preview(state, leases, inputs, &WhatIf::default());
    let Ok(plan) = planned else { return Vec::new() };
    let begun = plan.actions.into_iter().filter_map(|action| match action.step {
        Action::Begin { to, .. } => Some((action.unit, to)),
        _ => None,
    });
    let asked = plan.deferred.into_iter().filter_map(|deferral| for_want_of_room(state, deferral));
    begun.chain(asked).collect()
}

/// A move that waits for others alone: a leader whose writes of those others have failed begins it in their place.
fn for_want_of_room(state: &GroupState, deferral: Deferral) -> Option<Wanted> {
    let is_full = matches!(deferral.why, DeferReason::MovesInFlight { .. } | DeferReason::Warming { .. });
    let name = deferral.to.filter(|_| is_full)?;
    let incarnation = state.registration(&name)?.incarnation.clone();
    Some((deferral.unit, Member { name, incarnation }))
}

impl Invariant for Minimal {
    fn step(&mut self, step: &Step<'_>, findings: &mut Findings) {
        self.remember(step.before);
        let units = step.handoffs().cloned().collect();
        let names = consumers(step);
        let (suspicions, progress, registrations) = (names.clone(), names.clone(), names);
        let touched = Touched { units, suspicions, progress, registrations, ..Touched::default() };
        if is_election(step) {
            self.elected = Leader::having_seen(step.after, Moment(step.at));
        }
        self.witness.observe(step.after, &touched, Moment(step.at));
        self.elected.observe(step.after, &touched, Moment(step.at));
        if step.writer.is_none() {
            return;
        }
        for at in step.handoffs() {
            let before = step.before.handoff(at).map(|handoff| &handoff.id);
            let after = step.after.handoff(at);
            if let Some(handoff) = after.filter(|handoff| before != Some(&handoff.id)) {
                self.begins(step, handoff, findings);
            }
        }
        for at in step.assignments() {
            let Some(owner) = step.after.assignment(at).and_then(|a| a.owner.as_ref()) else { continue };
            let member = owner.member();
            let is_new = !owns(step.before, &member, at);
            if is_new && step.before.presence(&member) == Presence::Gone {
                findings.report(step.at, format!("{at} went to {member}, who is not there"));
            }
        }
    }

    /// Whoever leads from then on has seen nothing of before.
    fn went_back(&mut self, at: Duration, state: &Arc<GroupState>, _findings: &mut Findings) {
        self.witness = Leader::having_seen(state, Moment(at));
        self.elected = Leader::having_seen(state, Moment(at));
    }
}
