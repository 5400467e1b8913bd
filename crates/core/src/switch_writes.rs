//! The switch of a unit: the writes of the phases in which the old owner stops and the new one begins.
//!
//! The instance that hears the word that a phase waits for writes what follows from it with it, in one transaction, so
//! that neither a leader nor another hop lies inside the gap; the leader writes the same where that did not happen.

use crate::committed;
use crate::draft::{Draft, next_epoch, owner_of};
use crate::reason::Reason;
use crate::record::{Assignment, Consumer, Handoff, Owner, Phase, Taken};
use crate::state::{GroupState, Presence};
use crate::stops::held;
use kafka_assigner_types::id::{Epoch, Member, Offset, TopicPartition};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::WallMillis;

/// One grant, for every partition of a unit.
pub(crate) struct Grant {
    pub(crate) owner: Owner,
    pub(crate) epoch: Epoch,
    /// That of the handoff which ends with it, or the configured one.
    pub(crate) mode: Mode,
    pub(crate) why: Reason,
    pub(crate) wall: WallMillis,
}

impl Grant {
    /// The assignment of one partition after the grant.
    pub(crate) fn next(&self, state: &GroupState, at: &TopicPartition) -> Assignment {
        let before = state.assignment(at).cloned().unwrap_or_else(|| Assignment::unowned(self.mode));
        let next = before.granted(self.owner.clone(), self.epoch, self.mode, self.wall, self.why.clone());
        // Where the topic is gone the grant is of the one that was there: the next one of that name is another.
        let topic_since = state.topic_since(&at.topic).or(before.topic_since);
        let next = next.outliving(outlived_grace_ms(state, at));
        // Offsets of a topic that was there before mean nothing in this one.
        let is_same = before.topic_since.zip(topic_since).is_none_or(|(before, now)| before == now);
        let (stop, skip) = (next.stop.clone().filter(|_| is_same), next.skip.filter(|_| is_same));
        let committed_in = committed::noted(state, at);
        Assignment { topic_since, committed_in, stop, skip, ..next }.starting_at(first_start(state, at))
    }

    /// Writes the grant for a whole unit.
    pub(crate) fn write<'a>(
        &self,
        state: &GroupState,
        draft: Draft<'a>,
        unit: &[TopicPartition],
    ) -> Draft<'a> {
        unit.iter().fold(draft, |draft, at| draft.assign(at, &self.next(state, at)))
    }
}

/// The longest outage grace, in milliseconds, of those who worked on `at` in `overlap` and whose sessions ended without their
/// word: the owner, and one who had still to let go. Where an instance answers such a one that the store can't be reached, it
/// goes on for so long.
fn outlived_grace_ms(state: &GroupState, at: &TopicPartition) -> u64 {
    let owner = state.assignment(at).filter(|before| !before.mode.is_strict());
    let owner = owner.and_then(|before| before.owner.as_ref());
    let leaving = state.handoff_of(at).and_then(|handoff| handoff.old_owner.as_ref());
    let silent = owner.into_iter().chain(leaving).filter(|owner| is_silent(state, owner));
    silent.map(|owner| owner.outage_grace_ms).max().unwrap_or_default()
}

/// True if the session of `owner` has ended without its word.
fn is_silent(state: &GroupState, owner: &Owner) -> bool {
    let member = owner.member();
    state.presence(&member).is_over() && !state.has_left(&member)
}

/// The end of a handoff. Where its old owner has never let go, and never will, its grace is noted; the assignment is
/// written in any case, so that it is younger than an operator's word about those who had stopped by then.
pub(crate) fn clear<'a>(state: &'a GroupState, handoff: &Handoff) -> Draft<'a> {
    let is_silent = handoff.old_owner.as_ref().is_some_and(|owner| is_silent(state, owner));
    let worked_on = handoff.unit.iter().filter(|_| is_silent);
    outliving(state, worked_on, |at| outlived_grace_ms(state, at)).clear(handoff)
}

/// Notes in the assignments of `partitions` for how long, in milliseconds, one who worked on them before may act.
fn outliving<'a, 'p>(
    state: &'a GroupState,
    partitions: impl Iterator<Item = &'p TopicPartition>,
    may_act_ms: impl Fn(&TopicPartition) -> u64,
) -> Draft<'a> {
    partitions.fold(Draft::on(state), |draft, at| match state.assignment(at) {
        Some(before) => draft.assign(at, &before.clone().outliving(may_act_ms(at))),
        None => draft,
    })
}

/// The end of a handoff in `overlap` whose old owner, registered as `fenced`, is fenced of the unit. It may act until it hears
/// that, which a switch to a stricter mode waits for: a whole time to live, or its outage grace.
pub(crate) fn clear_fenced<'a>(state: &'a GroupState, handoff: &Handoff, fenced: &Consumer) -> Draft<'a> {
    let may_act_ms = fenced.ttl_ms.max(fenced.outage_grace_ms);
    outliving(state, handoff.unit.iter(), |_| may_act_ms).clear(handoff)
}

/// The start of the first grant of a partition whose topic has taken the place of another one of that name: its beginning.
/// An offset that is committed there may be of the former topic, whose owners did not know yet. An assignment that does not
/// say of which topic it was, as an imported one, is not taken for one of the former.
fn first_start(state: &GroupState, at: &TopicPartition) -> Option<Offset> {
    let since = state.topics().get(&at.topic)?.readable()?.since?;
    let is_first = state.assignment(at).is_none_or(|before| before.topic_since.is_some_and(|of| of != since));
    is_first.then_some(Offset::ZERO)
}

/// The next step once the old owner has stopped: the new one catches up, or is the owner. `None` where the new owner's
/// session is not there, or nobody is granted the unit: then nothing follows, and the leader finds another way.
pub(crate) fn next<'a>(state: &'a GroupState, handoff: &Handoff, wall: WallMillis) -> Option<Draft<'a>> {
    if handoff.catch_up { catching_up(state, handoff) } else { complete(state, handoff, wall) }
}

/// The new owner takes its fences and reads what is left, under an epoch that is reserved for it from here on.
fn catching_up<'a>(state: &'a GroupState, handoff: &Handoff) -> Option<Draft<'a>> {
    let draft = registered(state, handoff)?;
    let epoch = next_epoch(state, &handoff.unit);
    let reserve = |draft: Draft<'a>, at: &TopicPartition| match state.assignment(at) {
        // The owner's report does not cover what is written after it, so that the grant would prove nothing any more.
        Some(assignment) => {
            let committed_in = committed::noted(state, at);
            draft.assign(at, &Assignment { committed_in, ..assignment.reserving(epoch) })
        }
        None => draft,
    };
    Some(handoff.unit.iter().fold(draft, reserve).rewrite(&handoff.in_phase(Phase::CatchingUp)))
}

/// The assignments name the new owner from here on: the owner and the phase change as one.
pub(crate) fn complete<'a>(state: &'a GroupState, handoff: &Handoff, wall: WallMillis) -> Option<Draft<'a>> {
    let mut draft = registered(state, handoff)?;
    let registration = state.registration(&handoff.new.name)?;
    let grant = Grant {
        owner: owner_of(&handoff.new, registration),
        epoch: new_epoch(state, handoff),
        mode: handoff.mode,
        why: why(handoff),
        wall,
    };
    for at in &handoff.unit {
        let next = grant.next(state, at);
        // Or the next plan might bring it back there at once, and each time that it does not begin there.
        let next = match handoff.why {
            Reason::NotBegun { .. } if at == handoff.lead() => {
                let time = state.configured(|config| config.warm_deadline_ms);
                next.given_up_by(&handoff.old, time)
            }
            _ => next.without_avoid(),
        };
        let stopped_at = handoff.final_offset(at).filter(|_| !state.is_of_earlier_topic(at));
        let start = stopped_at.or(next.start);
        draft = draft.assign(at, &next.starting_at(start));
    }
    let held = |at| state.assignment(at).map_or(Epoch(0), Assignment::held_epoch);
    let (old_epochs, old_owner) =
        (handoff.unit.iter().map(held).collect(), working(state, handoff, &handoff.old));
    Some(draft.rewrite(&Handoff { old_epochs, old_owner, ..handoff.in_phase(Phase::Complete) }))
}

/// The epoch under which the new owner gets the unit: the one that was reserved for it, where one was.
pub(crate) fn new_epoch(state: &GroupState, handoff: &Handoff) -> Epoch {
    let reserved = |at| state.assignment(at)?.reserved_epoch();
    let reserved = handoff.unit.iter().map(reserved).collect::<Option<Vec<_>>>();
    let reserved = reserved.filter(|_| handoff.phase == Phase::CatchingUp);
    reserved.and_then(|epochs| epochs.into_iter().max()).unwrap_or_else(|| next_epoch(state, &handoff.unit))
}

/// Guarded on the new owner's session, which has to be there. `None` also where the unit is granted to nobody.
fn registered<'a>(state: &'a GroupState, handoff: &Handoff) -> Option<Draft<'a>> {
    let registration = state.registration(&handoff.new.name)?;
    let may_be_granted =
        state.presence(&handoff.new) == Presence::Here && held(state, &handoff.unit).is_none();
    may_be_granted.then(|| Draft::on(state).registered(&handoff.new.name, registration))
}

/// The rest of a handoff that is complete in `overlap` when its unit is granted to `owner` in the place of its new
/// owner: one who is here, and may not have heard that it owns the unit no more, has still to let go. `None` where
/// nobody has.
pub(crate) fn awaiting(state: &GroupState, handoff: &Handoff, owner: &Member) -> Option<Handoff> {
    let is_over = |member| state.presence(member).is_over();
    let works_on = !handoff.mode.is_strict() && handoff.phase == Phase::Complete;
    (works_on && !is_over(&handoff.old) && handoff.old != *owner)
        .then(|| Handoff { new: owner.clone(), ..handoff.clone() })
}

/// The present owner with its lease, where that is `member` and it works on until it lets go.
fn working(state: &GroupState, handoff: &Handoff, member: &Member) -> Option<Owner> {
    let owner = state.assignment(handoff.lead())?.owner.as_ref();
    owner.filter(|owner| !handoff.mode.is_strict() && owner.is(member)).cloned()
}

/// The same where it is granted back to `owner`, its old owner: then the new one has still to let go.
pub(crate) fn given_back(state: &GroupState, handoff: &Handoff, owner: &Member) -> Option<Handoff> {
    let held = |at| state.assignment(at).map_or(Epoch(0), Assignment::held_epoch);
    let turned = Handoff {
        old: handoff.new.clone(),
        old_epochs: handoff.unit.iter().map(held).collect(),
        old_owner: working(state, handoff, &handoff.new),
        taken: Some(Taken::default()),
        ..handoff.in_phase(handoff.phase)
    };
    awaiting(state, &turned, owner)
}

fn why(handoff: &Handoff) -> Reason {
    let because = match &handoff.why {
        Reason::Strategy { because, .. } => because.clone(),
        other => other.to_string(),
    };
    Reason::HandedOver { from: handoff.old.name.clone(), because }
}

/// The assignments after an attempt ended without a move: the owner is granted them again where it was asked to stop,
/// under an epoch above every one that was reserved, and from where it stopped. `failed` is passed over for a while.
pub(crate) fn renew<'a>(state: &'a GroupState, handoff: &Handoff, failed: Option<&Member>) -> Draft<'a> {
    let epoch = next_epoch(state, &handoff.unit);
    let renewed = |draft: Draft<'a>, at: &TopicPartition| {
        let Some(assignment) = state.assignment(at) else { return draft };
        let next = assignment.renewed(epoch, handoff.final_offset(at));
        // One that was fenced drops what it has, so that the start of the run is long over.
        let next = if handoff.is_fenced { next.begun_anew(handoff.final_offset(at)) } else { next };
        match failed.filter(|_| at == handoff.lead()) {
            Some(member) => draft.assign(at, &next.avoiding(member)),
            None => draft.assign(at, &next),
        }
    };
    handoff.unit.iter().fold(Draft::on(state), renewed)
}
