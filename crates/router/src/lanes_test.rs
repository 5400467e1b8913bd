use std::time::Duration;

use kafka_assigner_types::id::Epoch;

use super::*;
use crate::route::PartitionOwner;

#[path = "lanes_test/histories.rs"]
mod histories;
#[path = "lanes_test/turns.rs"]
mod turns;

const T0: Moment = Moment(Duration::ZERO);
const AGE: Duration = Duration::from_secs(15);

fn limits() -> StashLimits {
    StashLimits { requests: 4, bytes: 100, age: AGE, window: 2 }
}

fn at(partition: u32) -> TopicPartition {
    TopicPartition::try_from(("t", partition)).expect("a valid name")
}

fn target(name: &str, epoch: u64) -> RouteTarget {
    let owner = PartitionOwner { name: name.into(), incarnation: "i".into(), endpoint: "".into() };
    RouteTarget { owner, epoch: Epoch(epoch) }
}

fn later(span: Duration) -> Moment {
    T0 + span
}

/// Open for an hour, with partition 0 held.
fn held() -> Lanes {
    let mut lanes = Lanes::new(limits());
    lanes.claim(Some(later(Duration::from_secs(3_600))));
    lanes.stop(&at(0));
    lanes
}

/// As `held`, with partition 0 at owner "a", which has admitted a request.
fn proven() -> Lanes {
    let mut lanes = held();
    lanes.switch(&at(0), target("a", 1));
    let first = admit(&mut lanes);
    assert_eq!(sends(&mut lanes, T0), [(first, "a".into())]);
    lanes.settle(T0, first, SendOutcome::Answered);
    lanes
}

fn admit(lanes: &mut Lanes) -> RequestId {
    lanes.admit(T0, &at(0), 10).expect("it fits")
}

/// The requests that are sent now, each at its turn, with their targets.
fn sends(lanes: &mut Lanes, now: Moment) -> Vec<(RequestId, String)> {
    let mut sends = Vec::new();
    while let Some(order) = lanes.next(now) {
        let LaneCommand::Start { id, turn } = order else { panic!("{order:?}") };
        let target = lanes.depart(now, id, turn, FirstPoll::Made).expect("it is its turn");
        sends.push((id, target.owner.name.to_string()));
    }
    sends
}

fn ids(sends: &[(RequestId, String)]) -> Vec<RequestId> {
    sends.iter().map(|(id, _)| *id).collect()
}

#[test]
fn a_table_that_is_not_loaded_lets_nothing_in_or_out() {
    let mut lanes = Lanes::new(limits());
    assert_eq!(lanes.admit(T0, &at(0), 1), Err(Unsent::Closed));
    let mut lanes = proven();
    let waiting = admit(&mut lanes);
    lanes.claim(Some(T0));
    assert_eq!(sends(&mut lanes, T0), []);
    assert_eq!(lanes.admit(T0, &at(0), 1), Err(Unsent::Closed));
    lanes.claim(Some(later(AGE)));
    assert_eq!(ids(&sends(&mut lanes, T0)), [waiting]);
}

#[test]
fn an_unknown_partition_is_named_at_once() {
    assert_eq!(held().admit(T0, &at(9), 1), Err(Unsent::NoPartition));
}

#[test]
fn h21_requests_wait_for_a_partition_that_was_never_open() {
    let mut lanes = held();
    let (first, second) = (admit(&mut lanes), admit(&mut lanes));
    assert_eq!(sends(&mut lanes, T0), []);
    lanes.switch(&at(0), target("b", 2));
    assert_eq!(sends(&mut lanes, T0), [(first, "b".into())]);
    lanes.settle(T0, first, SendOutcome::Answered);
    assert_eq!(sends(&mut lanes, T0), [(second, "b".into())]);
}

#[test]
fn h22_a_stash_goes_to_the_winner_and_nothing_to_the_dead_owner() {
    let mut lanes = proven();
    lanes.stop(&at(0));
    let (first, second) = (admit(&mut lanes), admit(&mut lanes));
    // The handoff vanished, and then the owner: still nothing.
    lanes.stop(&at(0));
    assert_eq!(sends(&mut lanes, later(AGE / 2)), []);
    lanes.switch(&at(0), target("winner", 9));
    assert_eq!(sends(&mut lanes, later(AGE / 2)), [(first, "winner".into())]);
    lanes.settle(T0, first, SendOutcome::Answered);
    assert_eq!(sends(&mut lanes, later(AGE / 2)), [(second, "winner".into())]);
}

#[test]
fn h25_a_cancelled_handoff_flushes_to_the_living_owner() {
    let mut lanes = proven();
    lanes.stop(&at(0));
    let first = admit(&mut lanes);
    lanes.switch(&at(0), target("a", 3));
    assert_eq!(sends(&mut lanes, T0), [(first, "a".into())]);
}

#[test]
fn new_requests_queue_behind_the_stash() {
    let mut lanes = proven();
    lanes.stop(&at(0));
    let stashed = [admit(&mut lanes), admit(&mut lanes)];
    lanes.switch(&at(0), target("b", 2));
    assert_eq!(ids(&sends(&mut lanes, T0)), stashed[..1]);
    let new = admit(&mut lanes);
    lanes.settle(T0, stashed[0], SendOutcome::Answered);
    assert_eq!(ids(&sends(&mut lanes, T0)), [stashed[1], new]);
}

#[test]
fn a_refused_request_goes_back_to_its_place() {
    let mut lanes = proven();
    let (first, second, third) = (admit(&mut lanes), admit(&mut lanes), admit(&mut lanes));
    assert_eq!(ids(&sends(&mut lanes, T0)), [first, second]);
    lanes.settle(T0, second, SendOutcome::Refused);
    lanes.settle(T0, first, SendOutcome::Refused);
    let again = lanes.next_wake().expect("a retry is due");
    assert_eq!(sends(&mut lanes, T0), [], "not before the wait is over");
    assert_eq!(ids(&sends(&mut lanes, again)), [first], "one at a time until one is admitted");
    lanes.settle(again, first, SendOutcome::Answered);
    assert_eq!(ids(&sends(&mut lanes, again)), [second, third]);
}

// An owner that is granted the partition may hear of it after the router.
#[test]
fn an_owner_that_is_not_there_yet_is_asked_at_growing_intervals() {
    let mut lanes = held();
    lanes.switch(&at(0), target("b", 2));
    let only = admit(&mut lanes);
    let mut now = T0;
    let mut waits = Vec::new();
    for _ in 0..8 {
        assert_eq!(ids(&sends(&mut lanes, now)), [only]);
        lanes.settle(now, only, SendOutcome::Refused);
        let next = lanes.next_wake().expect("a retry is due");
        waits.push((next.0 - now.0).as_millis());
        now = next;
    }
    assert_eq!(waits, [5, 10, 20, 40, 80, 160, 200, 200]);
}

#[test]
fn no_two_owners_have_requests_of_a_partition_at_once() {
    let mut lanes = proven();
    let first = admit(&mut lanes);
    assert_eq!(sends(&mut lanes, T0), [(first, "a".into())]);
    let second = admit(&mut lanes);
    assert_eq!(ids(&sends(&mut lanes, T0)), [second]);
    // Granted to another one without a handoff, while the old one still has two.
    lanes.switch(&at(0), target("b", 2));
    let third = admit(&mut lanes);
    lanes.settle(T0, second, SendOutcome::Failed);
    assert_eq!(sends(&mut lanes, T0), []);
    lanes.settle(T0, first, SendOutcome::Refused);
    assert_eq!(sends(&mut lanes, T0), [(first, "b".into())], "without a wait: another one refused");
    lanes.settle(T0, first, SendOutcome::Answered);
    assert_eq!(ids(&sends(&mut lanes, T0)), [third]);
}

#[test]
fn the_bounds_of_the_stash_hold_and_say_that_nothing_was_executed() {
    let mut lanes = held();
    assert_eq!(lanes.admit(T0, &at(0), 101), Err(Unsent::TooLarge));
    for _ in 0..4 {
        admit(&mut lanes);
    }
    assert_eq!(lanes.admit(T0, &at(0), 1), Err(Unsent::TooMany));
    lanes.stop(&at(1));
    assert_eq!(lanes.admit(T0, &at(1), 61), Err(Unsent::TooLarge), "40 bytes are held");
    assert!(lanes.admit(T0, &at(1), 60).is_ok());
}

#[test]
fn a_partition_without_an_owner_keeps_requests_until_they_are_too_old() {
    let mut lanes = held();
    let id = admit(&mut lanes);
    assert_eq!(lanes.next_wake(), Some(later(AGE)));
    assert_eq!(lanes.next(later(AGE - Duration::from_millis(1))), None);
    assert_eq!(lanes.next(later(AGE)), Some(LaneCommand::Fail { id, why: Unsent::TooOld }));
    assert_eq!(lanes.counts(), (0, 0));
}

#[test]
fn a_cancelled_request_makes_room() {
    let mut lanes = held();
    let id = admit(&mut lanes);
    lanes.cancel(id);
    assert_eq!(lanes.counts(), (0, 0));
    lanes.switch(&at(0), target("b", 2));
    assert_eq!(sends(&mut lanes, T0), []);
}

#[test]
fn a_removed_partition_fails_what_waits_and_a_late_refusal() {
    let mut lanes = proven();
    let sent = admit(&mut lanes);
    assert_eq!(ids(&sends(&mut lanes, T0)), [sent]);
    lanes.stop(&at(0));
    let waiting = admit(&mut lanes);
    lanes.remove(&at(0));
    assert_eq!(lanes.next(T0), Some(LaneCommand::Fail { id: waiting, why: Unsent::NoPartition }));
    lanes.settle(T0, sent, SendOutcome::Refused);
    assert_eq!(lanes.next(T0), Some(LaneCommand::Fail { id: sent, why: Unsent::NoPartition }));
}

#[test]
fn a_stopped_router_fails_what_waits() {
    let mut lanes = held();
    let id = admit(&mut lanes);
    lanes.give_up_all();
    assert_eq!(lanes.next(T0), Some(LaneCommand::Fail { id, why: Unsent::Stopped }));
    assert_eq!(lanes.admit(T0, &at(0), 1), Err(Unsent::Stopped));
}

#[test]
fn partitions_take_turns() {
    let mut lanes = held();
    lanes.stop(&at(1));
    let mut order = Vec::new();
    for partition in [0, 0, 1, 1] {
        order.push(lanes.admit(T0, &at(partition), 1).expect("it fits"));
    }
    for partition in [0, 1] {
        lanes.switch(&at(partition), target("a", 1));
    }
    assert_eq!(ids(&sends(&mut lanes, T0)), [order[0], order[2]]);
    lanes.settle(T0, order[0], SendOutcome::Answered);
    assert_eq!(ids(&sends(&mut lanes, T0)), [order[1]], "partition 1 keeps nobody waiting");
}
