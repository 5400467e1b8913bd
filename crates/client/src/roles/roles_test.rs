//! What the tests of the roles share.

mod ending;
mod failing;
mod history;
mod recovering;
mod strict;
mod switching;

use std::time::Duration;

use super::*;

const T0: Moment = Moment::after_start(Duration::ZERO);

fn p(number: i32) -> TopicPartition {
    TopicPartition::new("t", number)
}

fn warming(id: &str) -> Target {
    Target::Warming(Warming { handoff_id: id.into(), current_owner: Some("other".into()) })
}

fn owner(epoch: u64, run: u64, handoff: &str) -> Target {
    let handoff = (!handoff.is_empty()).then(|| handoff.to_owned());
    let prepared_by = handoff.clone();
    Target::Owner(Grant { epoch, run, start_offset: None, strict: false, taken_for: handoff, prepared_by })
}

fn strict_owner(epoch: u64, run: u64, handoff: &str) -> Target {
    let Target::Owner(grant) = owner(epoch, run, handoff) else { unreachable!() };
    Target::Owner(Grant { strict: true, ..grant })
}

fn starting_at(offset: i64, target: Target) -> Target {
    let Target::Owner(grant) = target else { panic!("{target:?} starts nowhere") };
    Target::Owner(Grant { start_offset: Some(offset), ..grant })
}

fn catching_up(id: &str, epoch: u64, until_offset: Option<i64>) -> Target {
    Target::CatchingUp(Reserved { handoff_id: id.into(), epoch, until_offset })
}

fn draining(id: &str, run: u64, start_offset: Option<i64>) -> Target {
    Target::Draining(Draining { handoff_id: id.into(), run, start_offset })
}

fn releasing(id: &str) -> Target {
    Target::Releasing(Leave { handoff_id: Some(id.into()), new_owner: Some("other".into()) })
}

fn change(targets: impl IntoIterator<Item = (i32, Target)>) -> RoleEvent {
    RoleEvent::Changed(RoleChange::Some(targets.into_iter().map(|(n, t)| (p(n), t)).collect()))
}

fn snapshot(targets: impl IntoIterator<Item = (i32, Target)>) -> RoleEvent {
    let roles = targets.into_iter().map(|(n, t)| (p(n), t)).collect();
    RoleEvent::Changed(RoleChange::All { roles, undecided: BTreeSet::new() })
}

fn failure(message: &str) -> CallFailure {
    CallFailure { message: message.to_owned(), spoiled: false }
}

fn ended(number: i32, result: Result<(), &str>) -> RoleEvent {
    RoleEvent::CallEnded { partition: p(number), result: result.map(|()| None).map_err(failure) }
}

fn warm_call(number: i32, id: &str) -> RoleAction {
    let provenance = Provenance::Handoff(id.into());
    RoleAction::Call(p(number), Call::Warm { provenance, current_owner: Some("other".into()) })
}

fn direct_warm(number: i32, run: u64) -> RoleAction {
    RoleAction::Call(p(number), Call::Warm { provenance: Provenance::Run(run), current_owner: None })
}

fn assigned_call(number: i32, epoch: u64) -> RoleAction {
    RoleAction::Call(p(number), Call::Assigned { epoch, start_offset: None, resumed: false, strict: false })
}

/// A call that starts an owner in a stricter mode.
fn strictly_assigned(number: i32, epoch: u64, start_offset: Option<i64>, resumed: bool) -> RoleAction {
    RoleAction::Call(p(number), Call::Assigned { epoch, start_offset, resumed, strict: true })
}

/// A drain that ended at `next_offset`.
fn drained(number: i32, next_offset: i64) -> RoleEvent {
    RoleEvent::CallEnded { partition: p(number), result: Ok(Some(next_offset)) }
}

/// What the service hears of partition 0 being drained for a handoff: nothing yet, or where it stopped.
fn heard_drained(roles: &Roles, id: &str) -> Option<Option<i64>> {
    let is_it = |ack: &Ack| ack.kind == AckKind::Drained && ack.handoff_id == id;
    roles.due_acks().map(|(_, ack)| ack).find(is_it).map(|ack| ack.next_offset)
}

fn goes_on(number: i32, epoch: u64) -> RoleAction {
    RoleAction::RaiseEpoch { partition: p(number), epoch, strict: false }
}

fn call(number: i32, call: Call) -> RoleAction {
    RoleAction::Call(p(number), call)
}

fn acks(roles: &Roles) -> Vec<(i32, AckKind, String)> {
    roles.due_acks().map(|(at, ack)| (at.partition(), ack.kind, ack.handoff_id)).collect()
}

/// Runs events that must each lead to the given actions.
fn script(roles: &mut Roles, steps: impl IntoIterator<Item = (RoleEvent, Vec<RoleAction>)>) {
    for (number, (event, expected)) in steps.into_iter().enumerate() {
        let shown = format!("step {number}: {event:?}");
        assert_eq!(roles.step(T0, event), expected, "{shown}");
    }
}

/// A machine in which partition 0 is owned under epoch 5 of run 5, in a stricter mode, from offset 3 on.
fn owning_strictly() -> Roles {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, starting_at(3, strict_owner(5, 5, "")))]), vec![direct_warm(0, 5)]),
            (ended(0, Ok(())), vec![strictly_assigned(0, 5, Some(3), false)]),
            (ended(0, Ok(())), vec![]),
        ],
    );
    roles
}

/// A machine in which partition 0 is owned under epoch 5 of run 5.
fn owning() -> Roles {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, owner(5, 5, ""))]), vec![direct_warm(0, 5)]),
            (ended(0, Ok(())), vec![assigned_call(0, 5)]),
            (ended(0, Ok(())), vec![]),
        ],
    );
    roles
}
