//! The next step of a handoff: facts from the state, the row of the [table](crate::rules) that applies, and
//! the guarded write that carries it out.

use std::time::Duration;

use kafka_assigner_strategies::Registry;

use crate::action::{Action, Step};
use crate::claim::{self, ClaimEnd, Leases};
use crate::draft::{Draft, next_epoch, owner_of};
use crate::handover::{self, Grant};
use crate::id::{Member, TopicPartition};
use crate::memory::{Memory, phase_deadline};
use crate::moment::{Moment, WallMillis};
use crate::name::MemberName;
use crate::reason::{CancelReason, FenceReason, Reason};
use crate::record::{Assignment, Consumer, Handoff, Mode, Phase, Standing, Wish};
use crate::rules::{self, Extent, Facts, Follow, Rule};
use crate::state::{Entry, GroupState, Presence};

/// What a leader looks at besides the state.
#[derive(Debug, Clone, Copy)]
pub struct Now<'a> {
    /// What it remembers.
    pub memory: &'a Memory,
    /// Its monotonic clock.
    pub moment: Moment,
    /// The wall clock, for what people read.
    pub wall: WallMillis,
    /// What the store said of the leases that were in doubt, after the state was read.
    pub leases: &'a Leases,
    /// The strategies it has.
    pub strategies: &'a Registry,
}

/// The next step of the handoff at `lead`; `None` where there is none, where nothing is to be done, and where
/// a record of its unit can't be read (what is unknown is left alone).
#[must_use]
pub fn advance(state: &GroupState, lead: &TopicPartition, now: Now<'_>) -> Option<Action> {
    let handoff = state.handoff(lead)?;
    advance_by(rules::of_mode(handoff.mode), state, lead, now)
}

/// [`advance`] by another table, for checking what each row is good for.
#[must_use]
pub fn advance_by(rules: &[Rule], state: &GroupState, lead: &TopicPartition, now: Now<'_>) -> Option<Action> {
    let handoff = state.handoff(lead)?;
    if !is_readable(state, handoff) {
        return None;
    }
    let facts = facts(state, handoff, now);
    let follow = (rules::first(rules, &facts)?.then)(&facts);
    carry_out(state, handoff, follow, now.wall)
}

/// Whether all records of the handoff's unit can be read, of partitions too that no longer move with the others.
pub(crate) fn is_readable(state: &GroupState, handoff: &Handoff) -> bool {
    handoff.unit.iter().all(|at| {
        state.assignments().get(at).is_none_or(|entry| entry.readable().is_some())
            && state.handoffs().get(at).is_none_or(|entry| entry.readable().is_some())
            && state.topics().get(&at.topic).is_none_or(|entry| entry.readable().is_some())
    }) && state.intents().get(handoff.lead()).is_none_or(|entry| entry.readable().is_some())
}

fn facts<'a>(state: &'a GroupState, handoff: &'a Handoff, now: Now<'_>) -> Facts<'a> {
    let config = state.config().unwrap_or_default();
    Facts {
        handoff,
        extent: extent(state, handoff),
        assignments_agree: assignments_agree(state, handoff),
        old: state.presence(&handoff.old),
        old_claim: old_claim(state, handoff, now),
        missing: match handoff.phase {
            Phase::Freezing => state.missing_routers(handoff),
            _ => Vec::new(),
        },
        old_returned: may_have(state, &handoff.old.name, &handoff.unit, handoff.mode),
        new: state.presence(&handoff.new),
        new_may_have_it: may_have(state, &handoff.new.name, &handoff.unit, handoff.mode),
        wish: wish(state, handoff),
        overdue: now.memory.is_overdue(handoff, now.moment),
        deadline_ms: u64::try_from(phase_deadline(&config, handoff.phase).as_millis()).unwrap_or(u64::MAX),
    }
}

/// Whether the old owner of a handoff may still act anywhere in its unit.
fn old_claim(state: &GroupState, handoff: &Handoff, now: Now<'_>) -> ClaimEnd {
    let running = |at| Some(claim_end(state, at, now)).filter(|end| !end.is_over());
    handoff.unit.iter().find_map(running).unwrap_or(ClaimEnd::Over)
}

/// Whether the owner of `at`, whose session is over, may still act. One whose word is recorded that it stopped can't.
pub(crate) fn claim_end(state: &GroupState, at: &TopicPartition, now: Now<'_>) -> ClaimEnd {
    let Some(assignment) = state.assignment(at) else { return ClaimEnd::Over };
    let has_left = assignment.owner.as_ref().is_some_and(|owner| state.has_left(&owner.member()));
    if has_left || state.handoff_of(at).is_some_and(|handoff| has_stopped(handoff, assignment)) {
        return ClaimEnd::Over;
    }
    let waits = state.configured(|config| config.wait_out_revocations);
    claim::end_of(assignment, waits, now.leases, now.memory, now.moment)
}

/// The soonest end among the claims that keep everybody else from acting on `partitions`; `None` where there is none,
/// and [`ClaimEnd::Unasked`] where the store has to be asked first. Until then time alone changes nothing of it.
#[must_use]
pub fn soonest_claim_end<'a>(
    state: &GroupState,
    partitions: impl IntoIterator<Item = &'a TopicPartition>,
    now: Now<'_>,
) -> Option<ClaimEnd> {
    let left = |end: &ClaimEnd| match end {
        ClaimEnd::Over | ClaimEnd::Unasked => Duration::ZERO,
        ClaimEnd::Running(left) => *left,
    };
    let ended = partitions.into_iter().filter(|at| claim::ended_owner(state, at).is_some());
    let ends = ended.map(|at| claim_end(state, at, now));
    ends.filter(|end| !end.is_over()).min_by_key(left)
}

fn has_stopped(handoff: &Handoff, assignment: &Assignment) -> bool {
    let is_owner = assignment.owner.as_ref().is_some_and(|owner| owner.is(&handoff.old));
    let is_said = handoff.phase == Phase::Draining && handoff.old_has_said_all();
    is_owner && (handoff.phase == Phase::CatchingUp || is_said)
}

fn extent(state: &GroupState, handoff: &Handoff) -> Extent {
    match handoff.unit.iter().filter(|at| exists(state, at)).count() {
        0 => Extent::Gone,
        left if left < handoff.unit.len() => Extent::Part,
        _ => Extent::Whole,
    }
}

/// Whether the partition's topic is there and has that many partitions.
pub(crate) fn exists(state: &GroupState, at: &TopicPartition) -> bool {
    match state.topics().get(&at.topic) {
        None => false,
        Some(Entry::Readable(topic)) => at.partition < topic.partitions,
        Some(Entry::Unreadable(_)) => true,
    }
}

/// Whether `name` is registered, takes the whole unit, and can keep what `mode` promises.
pub(crate) fn may_have(state: &GroupState, name: &MemberName, unit: &[TopicPartition], mode: Mode) -> bool {
    state.registration(name).is_some_and(|consumer| {
        consumer.standing == Standing::Active
            && consumer.keeps(mode)
            && unit.iter().all(|at| consumer.subscribes(&at.topic))
    })
}

fn assignments_agree(state: &GroupState, handoff: &Handoff) -> bool {
    let named = if handoff.phase.is_in_flight() { &handoff.old } else { &handoff.new };
    handoff
        .unit
        .iter()
        .all(|at| state.assignment(at).and_then(|a| a.owner.as_ref()).is_some_and(|owner| owner.is(named)))
}

fn wish<'a>(state: &'a GroupState, handoff: &Handoff) -> Option<&'a Wish> {
    let intent = state.intents().get(handoff.lead())?.readable()?;
    (intent.id == handoff.id).then_some(&intent.wish)
}

fn carry_out(state: &GroupState, handoff: &Handoff, follow: Follow, wall: WallMillis) -> Option<Action> {
    let id = handoff.id.clone();
    let unit = handoff.unit.clone();
    let (step, draft) = match follow {
        Follow::LeaveToPlan | Follow::Wait => return None,
        Follow::Freeze => enter(state, handoff, Phase::Freezing),
        Follow::Drain => enter(state, handoff, Phase::Draining),
        Follow::Next => next(state, handoff, wall)?,
        Follow::Release => release(state, handoff),
        Follow::Forget => (Step::Forget, forget(state, &unit).clear(handoff)),
        Follow::Clear => (Step::Clear { id }, Draft::on(state).clear(handoff)),
        Follow::Adopt => return adopt(state, handoff, wall),
        Follow::GrantToTarget => {
            let why = Reason::TookOverWarm { owner: handoff.old.name.clone() };
            return regrant(state, handoff, &handoff.new, why, false, wall);
        }
        Follow::GiveBack { avoid } => {
            let why = Reason::GivenBack { from: handoff.new.name.clone() };
            return regrant(state, handoff, &handoff.old, why, avoid, wall);
        }
        Follow::Cancel(why) => cancel(state, handoff, why),
        Follow::Complete => complete(state, handoff, wall)?,
        Follow::EndOldSession(why) => {
            // Guarded on the handoff, or a release that the view has not seen would cost a session.
            let lead = crate::key::Key::Handoff(handoff.lead().clone());
            let draft = end_session(state, &handoff.old, why.clone())?.unchanged(&lead);
            (Step::EndSession { member: handoff.old.clone(), why }, draft)
        }
    };
    Some(Action { unit, step, write: draft.into_write() })
}

/// Removes the assignments of a unit whose topic is gone. Their epochs go with them: an epoch also rises over
/// the store's revision, so a re-created topic starts above.
pub(crate) fn forget<'a>(state: &'a GroupState, unit: &[TopicPartition]) -> Draft<'a> {
    unit.iter().fold(Draft::on(state), |mut draft, at| {
        let key = crate::key::Key::Assignment(at.clone());
        draft.delete(&key);
        draft.unchanged(&key)
    })
}

fn adopt(state: &GroupState, handoff: &Handoff, wall: WallMillis) -> Option<Action> {
    let registration = state.registration(&handoff.old.name)?;
    let owner = Member { name: handoff.old.name.clone(), incarnation: registration.incarnation.clone() };
    let epoch = next_epoch(state, &handoff.unit);
    let why = Reason::OwnerReturned;
    let grant = Grant { owner: owner_of(&owner, registration), epoch, mode: handoff.mode, why, wall };
    let draft = grant.write(state, Draft::on(state).registered(&owner.name, registration), &handoff.unit);
    let next = Handoff { old: owner.clone(), ..handoff.clone() };
    let step = Step::Adopt { id: handoff.id.clone(), owner, epoch };
    Some(Action { unit: handoff.unit.clone(), step, write: draft.rewrite(&next).into_write() })
}

/// Grants the unit of a handoff that ends to one of its two parties, as one change.
fn regrant(
    state: &GroupState,
    handoff: &Handoff,
    to: &Member,
    why: Reason,
    avoid: bool,
    wall: WallMillis,
) -> Option<Action> {
    let registration = state.registration(&to.name)?;
    let epoch = next_epoch(state, &handoff.unit);
    let owner = owner_of(to, registration);
    let grant = Grant { owner, epoch, mode: handoff.mode, why: why.clone(), wall };
    let mut draft = Draft::on(state).registered(&to.name, registration);
    for at in &handoff.unit {
        let mut next = grant.next(state, at);
        if avoid && at == handoff.lead() {
            next = next.avoiding(&handoff.new);
        }
        draft = draft.assign(at, &next);
    }
    let from = Some(handoff.old.name.clone());
    let step = Step::Grant { to: to.clone(), from, epoch, why };
    let draft = match handover::given_back(state, handoff, to) {
        Some(awaiting) => draft.rewrite(&awaiting),
        None => draft.clear(handoff),
    };
    Some(Action { unit: handoff.unit.clone(), step, write: draft.into_write() })
}

fn complete<'a>(state: &'a GroupState, handoff: &Handoff, wall: WallMillis) -> Option<(Step, Draft<'a>)> {
    let step = Step::Complete {
        id: handoff.id.clone(),
        from: handoff.old.clone(),
        to: handoff.new.clone(),
        epoch: handover::new_epoch(state, handoff),
    };
    Some((step, handover::complete(state, handoff, wall)?))
}

/// What follows once the old owner has stopped.
fn next<'a>(state: &'a GroupState, handoff: &Handoff, wall: WallMillis) -> Option<(Step, Draft<'a>)> {
    if handoff.catch_up {
        let step = Step::Advance { id: handoff.id.clone(), phase: Phase::CatchingUp };
        return Some((step, handover::next(state, handoff, wall)?));
    }
    complete(state, handoff, wall)
}

fn enter<'a>(state: &'a GroupState, handoff: &Handoff, phase: Phase) -> (Step, Draft<'a>) {
    let step = Step::Advance { id: handoff.id.clone(), phase };
    (step, Draft::on(state).rewrite(&handoff.in_phase(phase)))
}

/// The attempt ends. Where the old owner was asked to stop, it is granted the unit again with the same write.
fn cancel<'a>(state: &'a GroupState, handoff: &Handoff, why: CancelReason) -> (Step, Draft<'a>) {
    let failed = why.is_failure().then_some(&handoff.new);
    let draft = match failed.zip(state.assignment(handoff.lead())) {
        _ if handoff.phase.stops_the_old_owner() => handover::renew(state, handoff, failed),
        Some((member, assignment)) => Draft::on(state).assign(handoff.lead(), &assignment.avoiding(member)),
        None => Draft::on(state),
    };
    let cancelled = Handoff { cancelled: Some(why.clone()), ..handoff.in_phase(Phase::Cancelled) };
    let step = Step::Cancel { id: handoff.id.clone(), to: handoff.new.clone(), why };
    (step, draft.rewrite(&cancelled))
}

/// Nobody is left who could be granted it again, and the new owner is stuck: it is an orphan from here on.
fn release<'a>(state: &'a GroupState, handoff: &Handoff) -> (Step, Draft<'a>) {
    let epoch = next_epoch(state, &handoff.unit);
    let draft = handoff.unit.iter().fold(Draft::on(state), |draft, at| match state.assignment(at) {
        Some(assignment) => {
            let renewed = assignment.renewed(epoch, handoff.final_offset(at));
            draft.assign(at, &Assignment { owner: None, ..renewed.avoiding(&handoff.new) })
        }
        None => draft,
    });
    (Step::Clear { id: handoff.id.clone() }, draft.clear(handoff))
}

/// Marks a session as ending: its heartbeats are refused from then on, and its lease is left to run down, since
/// nobody but its consumer knows when it has stopped. `None` where it is over or ending already.
pub(crate) fn end_session<'a>(state: &'a GroupState, member: &Member, why: FenceReason) -> Option<Draft<'a>> {
    let registration = state.registration(&member.name)?;
    if state.presence(member) != Presence::Here {
        return None;
    }
    let next = Consumer { standing: Standing::Ending(why), ..(**registration).clone() };
    Some(Draft::on(state).register(&member.name, registration.lease, &next))
}
