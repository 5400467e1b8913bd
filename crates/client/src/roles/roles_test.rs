//! What the tests of the roles share.

mod ending;
mod failing;
mod history;
mod recovering;
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
    Target::Owner(Grant { epoch, run, start_offset: None, taken_for: handoff, prepared_by })
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
    RoleEvent::CallEnded { partition: p(number), result: result.map_err(failure) }
}

fn warm_call(number: i32, id: &str) -> RoleAction {
    let provenance = Provenance::Handoff(id.into());
    RoleAction::Call(p(number), Call::Warm { provenance, current_owner: Some("other".into()) })
}

fn direct_warm(number: i32, run: u64) -> RoleAction {
    RoleAction::Call(p(number), Call::Warm { provenance: Provenance::Run(run), current_owner: None })
}

fn assigned_call(number: i32, epoch: u64) -> RoleAction {
    RoleAction::Call(p(number), Call::Assigned { epoch, start_offset: None, resumed: false })
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
