//! Requests that were started and wait for their turns.

use super::*;

/// The requests that are started now, with their turns.
fn starts(lanes: &mut Lanes, now: Moment) -> Vec<(RequestId, LaneTurn)> {
    std::iter::from_fn(|| lanes.next(now))
        .map(|command| match command {
            LaneCommand::Start { id, turn } => (id, turn),
            LaneCommand::Fail { .. } => panic!("{command:?}"),
        })
        .collect()
}

/// A lane with a window of four, and four requests that were started, of which the first one is in flight.
fn started() -> (Lanes, Vec<(RequestId, LaneTurn)>) {
    let mut lanes = Lanes::new(StashLimits { requests: 9, window: 4, ..limits() });
    lanes.claim(Some(later(Duration::from_secs(3_600))));
    lanes.switch(&at(0), target("a", 1));
    let proof = admit(&mut lanes);
    assert_eq!(ids(&sends(&mut lanes, T0)), [proof]);
    lanes.settle(T0, proof, SendOutcome::Answered);
    (0..4).for_each(|_| _ = admit(&mut lanes));
    let started = starts(&mut lanes, T0);
    assert_eq!(started.len(), 4);
    assert!(depart(&mut lanes, started[0]).is_some());
    (lanes, started)
}

fn depart(lanes: &mut Lanes, (id, turn): (RequestId, LaneTurn)) -> Option<String> {
    lanes.depart(T0, id, turn, FirstPoll::Made).map(|target| target.owner.name.to_string())
}

fn end(lanes: &mut Lanes, tasks: &[(RequestId, LaneTurn)]) {
    tasks.iter().for_each(|(id, turn)| lanes.ended(&at(0), *id, *turn));
}

fn requests(tasks: &[(RequestId, LaneTurn)]) -> Vec<RequestId> {
    tasks.iter().map(|(id, _)| *id).collect()
}

// Each one's end was told by itself. An answer in between let a new request go before those that were not told yet.
#[test]
fn requests_that_an_ended_claim_holds_back_are_overtaken_by_none() {
    let (mut lanes, started) = started();
    lanes.claim(None);
    assert_eq!(depart(&mut lanes, started[1]), None);
    end(&mut lanes, &started[1..2]);
    lanes.settle(T0, started[0].0, SendOutcome::Answered);
    lanes.claim(Some(later(AGE)));
    let new = admit(&mut lanes);
    let again = starts(&mut lanes, T0);
    for task in &started[2..] {
        assert_eq!(depart(&mut lanes, *task), None, "its request has another turn, or none");
    }
    end(&mut lanes, &started[2..]);
    let again: Vec<_> = again.into_iter().chain(starts(&mut lanes, T0)).collect();
    let in_order: Vec<_> = requests(&started[1..]).into_iter().chain([new]).collect();
    assert_eq!(requests(&again), in_order);
    assert!(again.iter().all(|task| depart(&mut lanes, *task).is_some()));
}

#[test]
fn a_stop_takes_back_what_waits_for_its_turn_and_leaves_what_is_in_flight() {
    let (mut lanes, started) = started();
    lanes.stop(&at(0));
    assert_eq!(lanes.counts(), (3, 1));
    assert!(!lanes.is_drained(&at(0)));
    lanes.settle(T0, started[0].0, SendOutcome::Answered);
    assert!(lanes.is_drained(&at(0)), "before the tasks have ended");
    assert_eq!(depart(&mut lanes, started[1]), None);
}

#[test]
fn another_target_takes_back_what_waits_for_its_turn() {
    let (mut lanes, started) = started();
    lanes.switch(&at(0), target("b", 2));
    assert_eq!(depart(&mut lanes, started[1]), None);
    end(&mut lanes, &started[1..]);
    assert_eq!(starts(&mut lanes, T0), [], "one is in flight to the owner before");
    lanes.settle(T0, started[0].0, SendOutcome::Answered);
    assert_eq!(sends(&mut lanes, T0), [(started[1].0, "b".into())]);
}

#[test]
fn the_same_target_again_leaves_turns_as_they_are() {
    let (mut lanes, started) = started();
    lanes.switch(&at(0), target("a", 1));
    assert_eq!(depart(&mut lanes, started[1]), Some("a".into()));
}

#[test]
fn a_refusal_takes_back_what_waits_for_its_turn() {
    let (mut lanes, started) = started();
    lanes.settle(T0, started[0].0, SendOutcome::Refused);
    assert_eq!(depart(&mut lanes, started[1]), None, "it would overtake");
    end(&mut lanes, &started[1..]);
    let again = lanes.next_wake().expect("a retry is due");
    assert_eq!(ids(&sends(&mut lanes, again)), requests(&started[..1]));
}

// Its own request was given up, so that its turn could not say that the one before it was lost.
#[test]
fn a_request_behind_a_cancelled_one_does_not_overtake_one_whose_task_was_dropped() {
    let (mut lanes, started) = started();
    let (cancelled, turn) = started[2];
    lanes.cancel(cancelled);
    assert_eq!(lanes.depart(T0, cancelled, turn, FirstPoll::Lost), None);
    assert_eq!(depart(&mut lanes, started[3]), None, "the one behind the dropped task waits");
    end(&mut lanes, &started[1..]);
    assert_eq!(ids(&sends(&mut lanes, T0)), [started[1].0, started[3].0]);
}

#[test]
fn a_task_that_was_dropped_has_not_sent_and_none_goes_before_its_request() {
    let (mut lanes, started) = started();
    let (id, turn) = started[2];
    assert_eq!(lanes.depart(T0, id, turn, FirstPoll::Lost), None);
    assert_eq!(depart(&mut lanes, started[3]), None);
    end(&mut lanes, &started[1..]);
    assert_eq!(ids(&sends(&mut lanes, T0)), requests(&started[1..]));
}

#[test]
fn the_end_of_a_dropped_task_alone_says_that_it_has_not_sent() {
    let (mut lanes, started) = started();
    end(&mut lanes, &started[1..2]);
    assert_eq!(depart(&mut lanes, started[2]), None);
    assert!(!lanes.is_in_flight(started[2].0, started[2].1));
    assert!(lanes.is_in_flight(started[0].0, started[0].1));
}

#[test]
fn a_wait_for_a_turn_ends_with_the_age_and_its_task_still_counts() {
    let (mut lanes, started) = started();
    for (id, _) in &started[1..] {
        let fail = LaneCommand::Fail { id: *id, why: Unsent::NoTurn(AGE) };
        assert_eq!(lanes.next(later(AGE)), Some(fail));
    }
    let next = lanes.admit(later(AGE), &at(0), 10).expect("it fits");
    assert_eq!(starts(&mut lanes, later(AGE)), [], "as many tasks as may be");
    assert_eq!(depart(&mut lanes, started[1]), None);
    end(&mut lanes, &started[1..2]);
    assert_eq!(requests(&starts(&mut lanes, later(AGE))), [next]);
}

#[test]
fn a_turn_that_comes_after_the_age_is_none() {
    let (mut lanes, started) = started();
    let (id, turn) = started[1];
    assert_eq!(lanes.depart(later(AGE), id, turn, FirstPoll::Made), None);
}

#[test]
fn a_request_that_is_cancelled_before_its_turn_is_not_sent() {
    let (mut lanes, started) = started();
    lanes.cancel(started[1].0);
    assert_eq!(depart(&mut lanes, started[1]), None);
    assert_eq!(depart(&mut lanes, started[2]), Some("a".into()), "the next one goes");
    assert_eq!(lanes.counts(), (1, 2));
}

#[test]
fn a_removed_partition_and_a_stopped_router_fail_what_waits_for_its_turn() {
    for stops in [false, true] {
        let (mut lanes, started) = started();
        if stops {
            lanes.give_up_all();
        } else {
            lanes.remove(&at(0));
        }
        let why = if stops { Unsent::Stopped } else { Unsent::NoPartition };
        for (id, _) in &started[1..] {
            assert_eq!(lanes.next(T0), Some(LaneCommand::Fail { id: *id, why }));
        }
        assert_eq!(depart(&mut lanes, started[1]), None);
        lanes.settle(T0, started[0].0, SendOutcome::Answered);
        assert_eq!(lanes.counts(), (0, 0));
    }
}
