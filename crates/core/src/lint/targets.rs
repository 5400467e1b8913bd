//! Invariants of the consumers that gain partitions.

use super::effect::{Effect, Gain};
use super::{Check, Invariant};
use crate::record::{Consumer, Phase, Standing};
use crate::state::{Presence, Versioned};
use crate::stops::held;

pub(super) const CHECKS: &[Check] = &[
    (Invariant::TargetsAreHere, targets_are_here),
    (Invariant::TargetsAreActive, targets_are_active),
    (Invariant::TargetsAreHeard, targets_are_heard),
    (Invariant::TargetsKeepModes, targets_keep_modes),
    (Invariant::TargetsSubscribe, targets_subscribe),
    (Invariant::PartitionsExist, partitions_exist),
    (Invariant::StoppedAreHeld, stopped_are_held),
];

fn targets_are_here(effect: &Effect<'_>) -> Option<String> {
    effect.gains().find_map(|Gain { member, at, .. }| {
        let presence = effect.before.presence(&member);
        (presence == Presence::Gone || presence == Presence::Unknown)
            .then(|| format!("{at}: {member} is {presence:?}"))
    })
}

fn targets_are_active(effect: &Effect<'_>) -> Option<String> {
    effect.gains().find_map(|gain| {
        let standing = &registration(effect, &gain)?.standing;
        // The one that gives takes back what it never let go of, even if it leaves.
        let is_fit = *standing == Standing::Active || (gain.is_given_back && *standing == Standing::Draining);
        (!is_fit).then(|| format!("{}: {} is {standing:?}", gain.at, gain.member))
    })
}

/// A handoff that has passed `Ready` goes on, since its old owner was told to stop.
fn targets_are_heard(effect: &Effect<'_>) -> Option<String> {
    let is_late = |gain: &Gain<'_>| {
        let handoff = effect.before.handoff_of(gain.at).filter(|handoff| handoff.new == gain.member);
        handoff.is_some_and(|handoff| !matches!(handoff.phase, Phase::Warming | Phase::Ready))
    };
    effect.gains().filter(|gain| !gain.is_given_back && !is_late(gain)).find_map(|gain| {
        let mark = registration(effect, &gain)?.suspicion()?;
        Some(format!("{}: {} is suspected to be dead ({:?})", gain.at, gain.member, mark.sign))
    })
}

fn targets_keep_modes(effect: &Effect<'_>) -> Option<String> {
    effect.gains().find_map(|gain| {
        let lacks = registration(effect, &gain)?.lacks(gain.mode)?;
        Some(format!("{}: {} lacks {lacks} for {}", gain.at, gain.member, gain.mode))
    })
}

fn targets_subscribe(effect: &Effect<'_>) -> Option<String> {
    effect.gains().filter(|gain| !gain.is_given_back).find_map(|gain| {
        let consumer = registration(effect, &gain)?;
        (!consumer.subscribes(&gain.at.topic))
            .then(|| format!("{}: {} takes {:?}", gain.at, gain.member, consumer.topics))
    })
}

/// The registration of the session that gains; `None` where it is not there.
fn registration<'e>(effect: &'e Effect<'_>, gain: &Gain<'_>) -> Option<&'e Versioned<Consumer>> {
    let registration = effect.before.registration(&gain.member.name)?;
    (registration.incarnation == gain.member.incarnation).then_some(registration)
}

fn stopped_are_held(effect: &Effect<'_>) -> Option<String> {
    effect.gains().find_map(|gain| {
        let (_, stop) = held(effect.before, std::slice::from_ref(gain.at))?;
        Some(format!(
            "{}: {} gains it, and {} stopped at {}",
            gain.at, gain.member, stop.consumer, stop.offset
        ))
    })
}

/// A partition that moves already goes on until its handoff is cleared.
fn partitions_exist(effect: &Effect<'_>) -> Option<String> {
    let missing =
        |gain: &Gain<'_>| !effect.before.exists(gain.at) && !effect.before.handoffs().contains_key(gain.at);
    effect.gains().find(missing).map(|gain| format!("{}: it goes to {}", gain.at, gain.member))
}
