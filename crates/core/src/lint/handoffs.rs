//! Invariants of handoffs: phases, parties, units.

use super::effect::{Effect, handoff_at, owner};
use super::{Check, Invariant};
use crate::record::{Handoff, Phase};
use kafka_assigner_types::mode::Mode;

pub(super) const CHECKS: &[Check] = &[
    (Invariant::OneHandoff, one_handoff),
    (Invariant::HandoffsMove, handoffs_move),
    (Invariant::PhasesInOrder, phases_in_order),
    (Invariant::OwnersMatchPhases, owners_match_phases),
    (Invariant::HandoffsAreWhole, handoffs_are_whole),
    (Invariant::HandoffsKeepModes, handoffs_keep_modes),
    (Invariant::RoutersFreezeFirst, routers_freeze_first),
];

fn one_handoff(effect: &Effect<'_>) -> Option<String> {
    let lies = |at| effect.before.handoffs().contains_key(at);
    effect.begun().find_map(|handoff| {
        let at = handoff.unit.iter().find(|at| lies(at))?;
        Some(format!(
            "{at}: {} begins where {:?} lies",
            handoff.id,
            effect.before.handoff_of(at).map(|h| &h.id)
        ))
    })
}

fn handoffs_move(effect: &Effect<'_>) -> Option<String> {
    effect
        .begun()
        .find(|handoff| handoff.old.name == handoff.new.name)
        .map(|handoff| format!("{} goes from {} to {}", handoff.id, handoff.old, handoff.new))
}

fn phases_in_order(effect: &Effect<'_>) -> Option<String> {
    effect.handoffs().find_map(|(before, after)| {
        let from = before.map(|before| before.phase);
        (!follows(after.mode, from, after.phase))
            .then(|| format!("{} in {}: {from:?}, then {:?}", after.id, after.mode, after.phase))
    })
}

/// True if a leader may bring a handoff of `mode` from one phase into the other.
fn follows(mode: Mode, from: Option<Phase>, to: Phase) -> bool {
    let Some(from) = from else { return to == Phase::Warming };
    match (from, to) {
        _ if from == to => true,
        (_, Phase::Cancelled) => from.is_in_flight(),
        (Phase::Ready, Phase::Complete) => mode == Mode::Overlap,
        (Phase::Ready, Phase::Draining) => mode == Mode::Exclusive,
        (Phase::Ready, Phase::Freezing) | (Phase::Freezing, Phase::Draining) => mode == Mode::Routed,
        // From Freezing where the old owner is gone: nobody is left to drain.
        (Phase::Freezing | Phase::Draining, Phase::CatchingUp | Phase::Complete)
        | (Phase::CatchingUp, Phase::Complete) => mode.is_strict(),
        _ => false,
    }
}

fn owners_match_phases(effect: &Effect<'_>) -> Option<String> {
    let standing = effect.handoffs().filter(|(_, handoff)| handoff.phase != Phase::Cancelled);
    standing.map(|(_, handoff)| handoff).find_map(|handoff| {
        let named = if handoff.phase.is_in_flight() { &handoff.old } else { &handoff.new };
        let owner = |at| owner(effect.after.assignment(at));
        let at = handoff.unit.iter().find(|at| owner(at).as_ref() != Some(named))?;
        Some(format!("{at}: {} is {}, and the owner {:?}", handoff.id, handoff.phase, owner(at)))
    })
}

fn handoffs_are_whole(effect: &Effect<'_>) -> Option<String> {
    let put = effect.handoffs().find_map(|(before, after)| lacks_a_part(effect, before, after));
    put.or_else(|| {
        let mut removed =
            effect.deletes.iter().filter_map(handoff_at).filter_map(|at| effect.before.handoff(at));
        removed.find_map(|handoff| leaves_a_part(effect, handoff))
    })
}

/// A partition at which a handoff that is written does not lie, though it begins or lay there before.
fn lacks_a_part(effect: &Effect<'_>, before: Option<&Handoff>, after: &Handoff) -> Option<String> {
    let lay = |at| effect.before.handoff_of(at).is_some_and(|handoff| handoff.id == after.id);
    let lies = |at| effect.after.handoff_of(at).is_some_and(|handoff| handoff.id == after.id);
    let at = after.unit.iter().find(|at| (before.is_none() || lay(at)) && !lies(at))?;
    Some(format!("{at}: {} does not lie there", after.id))
}

/// A partition at which a reference stays to a handoff that is removed.
fn leaves_a_part(effect: &Effect<'_>, removed: &Handoff) -> Option<String> {
    let lay = |at| effect.before.handoff_of(at).is_some_and(|handoff| handoff.id == removed.id);
    let stays = |at| effect.after.handoffs().contains_key(at) && effect.after.handoff_of(at).is_none();
    let at = removed.unit.iter().find(|at| lay(at) && stays(at))?;
    Some(format!("{at}: a reference to {} stays there", removed.id))
}

fn handoffs_keep_modes(effect: &Effect<'_>) -> Option<String> {
    effect.begun().find_map(|handoff| {
        let mode = |at| effect.before.assignment(at).map(|assignment| assignment.mode);
        let differs = |at| mode(at).is_some_and(|mode| mode.is_strict() != handoff.mode.is_strict());
        let at = handoff.unit.iter().find(|at| differs(at))?;
        Some(format!("{at}: {} in {}, granted in {:?}", handoff.id, handoff.mode, mode(at)))
    })
}

fn routers_freeze_first(effect: &Effect<'_>) -> Option<String> {
    effect.handoffs().find_map(|(before, after)| {
        let freezing = before.filter(|before| before.phase == Phase::Freezing)?;
        let missing = effect.before.missing_routers(freezing);
        (after.phase == Phase::Draining && !missing.is_empty())
            .then(|| format!("{} drains without {missing:?}", after.id))
    })
}
