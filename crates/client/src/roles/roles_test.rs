//! The common part of the tests of the roles.

mod ending;
mod failing;
mod fenced;
mod history;
mod places;
mod recovering;
mod recreated;
mod strict;
mod switching;
mod unbegun;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::role::{CatchingUpRole, ConsumerRole, DrainingRole, OwnerRole, ReleasingRole, WarmingRole};
use super::*;
use kafka_assigner_types::id::{Epoch, HandoffId, Offset, TopicPartition};
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::topic_id::TopicId;

const T0: Moment = Moment(Duration::ZERO);

/// A look at preparations of which none is further.
fn time_passes() -> RoleEvent {
    RoleEvent::PreparationsSeen(BTreeMap::new())
}

fn p(number: u32) -> TopicPartition {
    TopicPartition::try_from(("t", number)).expect("a valid name")
}

fn at_offset(number: i64) -> Offset {
    Offset::new(number).expect("not negative")
}

fn warming(id: &str) -> ConsumerRole {
    let (handoff, current_owner) = (id.into(), Some("other".into()));
    ConsumerRole::Warming(WarmingRole { handoff, current_owner, topic_id: None })
}

fn owner(epoch: u64, run: u64, handoff: &str) -> ConsumerRole {
    let (epoch, run) = (Epoch(epoch), Epoch(run));
    let handoff = (!handoff.is_empty()).then(|| HandoffId::new(handoff));
    ConsumerRole::Owner(OwnerRole {
        epoch,
        run,
        start: None,
        strict: false,
        taking: handoff.clone(),
        prepared_by: handoff,
        topic_id: None,
        rest: None,
        skip: None,
        was_committed: false,
    })
}

fn strict_owner(epoch: u64, run: u64, handoff: &str) -> ConsumerRole {
    let ConsumerRole::Owner(grant) = owner(epoch, run, handoff) else { unreachable!() };
    ConsumerRole::Owner(OwnerRole { strict: true, ..grant })
}

fn starting_at(offset: i64, target: ConsumerRole) -> ConsumerRole {
    let ConsumerRole::Owner(grant) = target else { panic!("{target:?} starts nowhere") };
    ConsumerRole::Owner(OwnerRole { start: Some(at_offset(offset)), ..grant })
}

fn catching_up(id: &str, epoch: u64, until: Option<i64>) -> ConsumerRole {
    ConsumerRole::CatchingUp(CatchingUpRole {
        handoff: id.into(),
        epoch: Epoch(epoch),
        until: until.map(at_offset),
        topic_id: None,
    })
}

/// The same role for a topic with the id of this byte.
fn of_topic(byte: u8, target: ConsumerRole) -> ConsumerRole {
    let topic_id = TopicId::new([byte; 16]);
    match target {
        ConsumerRole::Warming(role) => ConsumerRole::Warming(WarmingRole { topic_id, ..role }),
        ConsumerRole::CatchingUp(role) => ConsumerRole::CatchingUp(CatchingUpRole { topic_id, ..role }),
        ConsumerRole::Owner(role) => ConsumerRole::Owner(OwnerRole { topic_id, ..role }),
        other => panic!("{other:?} names no topic"),
    }
}

fn draining(id: &str, run: u64, start: Option<i64>) -> ConsumerRole {
    ConsumerRole::Draining(DrainingRole { handoff: id.into(), run: Epoch(run), start: start.map(at_offset) })
}

fn releasing(id: &str) -> ConsumerRole {
    ConsumerRole::Releasing(ReleasingRole { handoff: Some(id.into()), new_owner: Some("other".into()) })
}

fn change(targets: impl IntoIterator<Item = (u32, ConsumerRole)>) -> RoleEvent {
    RoleEvent::Changed(RoleChange::Some(targets.into_iter().map(|(n, t)| (p(n), t)).collect()))
}

fn snapshot(targets: impl IntoIterator<Item = (u32, ConsumerRole)>) -> RoleEvent {
    let roles = targets.into_iter().map(|(n, t)| (p(n), t)).collect();
    RoleEvent::Changed(RoleChange::All { roles, undecided: BTreeSet::new() })
}

fn failure(message: &str) -> CallFailure {
    CallFailure { message: message.to_owned(), spoiled: false }
}

fn ended(number: u32, result: Result<(), &str>) -> RoleEvent {
    RoleEvent::CallEnded { partition: p(number), result: result.map(|()| None).map_err(failure) }
}

fn warm_call(number: u32, id: &str) -> RoleAction {
    let provenance = Provenance::Handoff(id.into());
    RoleAction::Call(p(number), Call::Warm { provenance, current_owner: Some("other".into()), start: None })
}

fn direct_warm(number: u32, run: u64) -> RoleAction {
    RoleAction::Call(
        p(number),
        Call::Warm { provenance: Provenance::Run(Epoch(run)), current_owner: None, start: None },
    )
}

/// The same for a grant that starts at an offset.
fn direct_warm_to(offset: i64, number: u32, run: u64) -> RoleAction {
    let (provenance, start) = (Provenance::Run(Epoch(run)), Some(at_offset(offset)));
    RoleAction::Call(p(number), Call::Warm { provenance, current_owner: None, start })
}

fn assigned_call(number: u32, epoch: u64) -> RoleAction {
    RoleAction::Call(
        p(number),
        Call::Assigned { epoch: Epoch(epoch), start: None, resumed: false, strict: false },
    )
}

/// A call that starts an owner in a stricter mode.
fn strictly_assigned(number: u32, epoch: u64, start: Option<i64>, resumed: bool) -> RoleAction {
    let (epoch, start) = (Epoch(epoch), start.map(at_offset));
    RoleAction::Call(p(number), Call::Assigned { epoch, start, resumed, strict: true })
}

/// A drain that ended at `next_offset`.
fn drained(number: u32, next_offset: i64) -> RoleEvent {
    RoleEvent::CallEnded { partition: p(number), result: Ok(Some(at_offset(next_offset))) }
}

/// The report that partition 0 is drained for a handoff, with its offset; `None` = no report yet.
fn heard_drained(roles: &Roles, id: &str) -> Option<Option<i64>> {
    let is_it = |ack: &RoleAck| ack.kind == AckKind::Drained && ack.handoff.as_str() == id;
    roles.due_acks().map(|(_, ack)| ack).find(is_it).map(|ack| ack.next_offset.map(Offset::get))
}

fn goes_on(number: u32, epoch: u64) -> RoleAction {
    RoleAction::RaiseEpoch { partition: p(number), epoch: Epoch(epoch), strict: false }
}

fn call(number: u32, call: Call) -> RoleAction {
    RoleAction::Call(p(number), call)
}

fn acks(roles: &Roles) -> Vec<(u32, AckKind, HandoffId)> {
    roles.due_acks().map(|(at, ack)| (at.partition, ack.kind, ack.handoff)).collect()
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
            (change([(0, starting_at(3, strict_owner(5, 5, "")))]), vec![direct_warm_to(3, 0, 5)]),
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
