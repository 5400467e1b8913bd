//! Invariants of guards: a write applies only to the state that it was decided on.

use super::effect::{Effect, handoff_at};
use super::{Check, Invariant};
use crate::key::Key;
use crate::state::{GroupState, Versioned};
use kafka_assigner_types::kv::{Compare, LeaseId, Must};

pub(super) const CHECKS: &[Check] = &[
    (Invariant::WritesAreGuarded, writes_are_guarded),
    (Invariant::SessionsAreGuarded, sessions_are_guarded),
    (Invariant::GuardsHold, guards_hold),
    (Invariant::UnreadableIsLeft, unreadable_is_left),
];

fn writes_are_guarded(effect: &Effect<'_>) -> Option<String> {
    let put = effect.puts.iter().find(|key| !has_guard(effect, key));
    let deleted = || {
        let is_open =
            |key: &&Key| !has_guard(effect, key) && !has_guard(effect, &guarding(effect.before, key));
        effect.deletes.iter().find(is_open)
    };
    put.or_else(deleted).map(|key| format!("{key:?} is changed without a guard"))
}

/// The record of the handoff to which `key` belongs, or the record itself.
fn guarding(state: &GroupState, key: &Key) -> Key {
    match key {
        Key::Handoff(at) | Key::Intent(at) => Key::Handoff(state.lead_of(at)),
        other => other.clone(),
    }
}

fn has_guard(effect: &Effect<'_>, key: &Key) -> bool {
    let key = effect.before.layout().encode(key);
    effect.write.guards.iter().any(|guard| guard.key == key)
}

fn sessions_are_guarded(effect: &Effect<'_>) -> Option<String> {
    effect.gains().find_map(|gain| {
        let lease = effect.before.registration(&gain.member.name)?.lease;
        let key = effect.before.layout().encode(&Key::Consumer(gain.member.name.clone()));
        let guard = Compare::new(key, Must::HaveLease(lease));
        (!effect.write.guards.contains(&guard)).then(|| format!("{}: {} gains it", gain.at, gain.member))
    })
}

fn guards_hold(effect: &Effect<'_>) -> Option<String> {
    let fails = |guard: &&Compare| !holds(effect.before, guard);
    effect.write.guards.iter().find(fails).map(|guard| format!("{guard:?} does not hold"))
}

/// True if `guard` holds on `state`, as far as the state can tell.
fn holds(state: &GroupState, guard: &Compare) -> bool {
    let Some(key) = state.layout().decode(&guard.key) else { return true };
    let revision = state.mod_revision(&key);
    match &guard.must {
        Must::BeAbsent => revision.is_none(),
        Must::Exist => revision.is_some(),
        Must::HaveModRevision(wanted) => revision == Some(*wanted),
        Must::HaveLease(wanted) => lease(state, &key).is_none_or(|lease| lease == *wanted),
        Must::HaveCreateRevision(_) | Must::HaveValue(_) | Must::HaveNoKeys | Must::HaveNoChangesSince(_) => {
            true
        }
    }
}

/// The lease of a registration; `None` where it is not known.
fn lease(state: &GroupState, key: &Key) -> Option<LeaseId> {
    match key {
        Key::Consumer(name) => state.registration(name).map(|consumer| consumer.lease),
        Key::Router(name) => state.routers().get(name)?.readable().map(|router: &Versioned<_>| router.lease),
        _ => None,
    }
}

/// Handoffs that are removed do not count: a grant that ends one does not wait for what can't be read of the rest of it.
fn unreadable_is_left(effect: &Effect<'_>) -> Option<String> {
    let mut written = effect.reassigned().chain(effect.puts.iter().filter_map(handoff_at));
    written.find_map(|at| Some(format!("{at}: {}", effect.before.error_at(at)?)))
}
