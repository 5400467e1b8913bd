//! Invariants of assignments: epochs, owners, offsets.

use super::effect::{Effect, owner};
use super::{Check, Invariant};
use crate::facts::claim_end;
use crate::record::{Assignment, Handoff, Phase};
use crate::state::Presence;
use kafka_assigner_types::id::TopicPartition;

pub(super) const CHECKS: &[Check] = &[
    (Invariant::EpochsRise, epochs_rise),
    (Invariant::EpochsOutliveRecords, epochs_outlive_records),
    (Invariant::OneOwner, one_owner),
    (Invariant::NoEarlierOwner, no_earlier_owner),
    (Invariant::FinalOffsetsStay, final_offsets_stay),
    (Invariant::StoppedOwnersResume, stopped_owners_resume),
    (Invariant::UnknownOwnersKeep, unknown_owners_keep),
];

fn epochs_rise(effect: &Effect<'_>) -> Option<String> {
    effect.assigned().find_map(|(at, after)| {
        let before = effect.before.assignment(at)?;
        let (held, next) = (before.held_epoch(), after.held_epoch());
        let falls = after.highest_epoch() < before.highest_epoch() || next < held;
        let is_kept = next == held && owner(Some(before)) != owner(Some(after));
        (falls || is_kept).then(|| {
            format!(
                "{at}: epoch {held} of {:?}, then {next} of {:?}; the highest one is {}, then {}",
                before.owner,
                after.owner,
                before.highest_epoch(),
                after.highest_epoch()
            )
        })
    })
}

fn epochs_outlive_records(effect: &Effect<'_>) -> Option<String> {
    let floor = effect.before.epoch_floor();
    effect.assigned().find_map(|(at, after)| {
        let highest = effect.before.assignment(at).map(Assignment::highest_epoch).unwrap_or_default();
        let epoch = after.highest_epoch();
        (epoch > highest && epoch.0 < floor)
            .then(|| format!("{at}: epoch {epoch}, where none is below {floor}"))
    })
}

fn one_owner(effect: &Effect<'_>) -> Option<String> {
    let loses = |at: &&TopicPartition| {
        let before = owner(effect.before.assignment(at));
        before.is_some() && before != owner(effect.after.assignment(at))
    };
    let catches_up = effect.handoffs().filter(|(before, after)| {
        after.phase == Phase::CatchingUp && before.is_some_and(|before| before.phase != Phase::CatchingUp)
    });
    let begun = catches_up.flat_map(|(_, handoff)| &handoff.unit);
    effect.reassigned().filter(loses).chain(begun).find_map(|at| {
        let end = claim_end(effect.before, at, effect.context);
        let before = owner(effect.before.assignment(at));
        (!end.is_over()).then(|| format!("{at}: the claim of {before:?} is {end:?}"))
    })
}

fn no_earlier_owner(effect: &Effect<'_>) -> Option<String> {
    effect.assigned().find_map(|(at, after)| {
        let before = effect.before.assignment(at).filter(|before| !before.mode.is_strict());
        let had = owner(before).filter(|_| after.mode.is_strict())?;
        let left = effect.context.memory.outlived_for(effect.before, at, effect.context.moment);
        let is_other = owner(Some(after)).is_some_and(|has| has != had);
        (is_other || !left.is_zero()).then(|| format!("{at}: {had} and those before it, for {left:?} more"))
    })
}

fn final_offsets_stay(effect: &Effect<'_>) -> Option<String> {
    effect.assigned().find_map(|(at, after)| {
        let stopped = |handoff: &&Handoff| {
            handoff.phase.stops_the_old_owner() && !effect.before.is_of_earlier_topic(at)
        };
        let offset = effect.before.handoff_of(at).filter(stopped)?.final_offset(at)?;
        let is_over = effect.after.handoff_of(at).is_none_or(|handoff| !handoff.phase.is_in_flight());
        (is_over && after.start != Some(offset)).then(|| {
            format!("{at}: the old owner stopped at {offset:?}, the grant starts at {:?}", after.start)
        })
    })
}

fn stopped_owners_resume(effect: &Effect<'_>) -> Option<String> {
    let cancelled = effect.handoffs().filter(|(before, after)| {
        after.phase == Phase::Cancelled && before.is_some_and(|before| before.phase.stops_the_old_owner())
    });
    cancelled.flat_map(|(_, handoff)| &handoff.unit).find_map(|at| {
        let highest = effect.before.assignment(at)?.highest_epoch();
        let held = effect.after.assignment(at)?.held_epoch();
        (held <= highest).then(|| format!("{at}: epoch {held}, where {highest} was given"))
    })
}

fn unknown_owners_keep(effect: &Effect<'_>) -> Option<String> {
    effect.assigned().find_map(|(at, after)| {
        let (had, has) = (owner(effect.before.assignment(at))?, owner(Some(after)));
        let names =
            |handoff: &Handoff| has.as_ref().is_some_and(|has| [&handoff.old, &handoff.new].contains(&has));
        let is_taken = has.as_ref() != Some(&had) && !effect.before.handoff_of(at).is_some_and(names);
        let is_unknown = effect.before.presence(&had) == Presence::Unknown;
        (is_taken && is_unknown).then(|| format!("{at}: the registration of {had} can't be read"))
    })
}
