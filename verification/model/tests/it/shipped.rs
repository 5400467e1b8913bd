//! The protocol as it is shipped: every invariant, in every state within the bounds.

use kafka_assigner_model::report::{Verdict, explore};
use kafka_assigner_model::suite::scenarios;
use kafka_assigner_types::mode::Mode;

fn holds(mode: Mode, name: &str) {
    let scenario =
        scenarios(mode).into_iter().find(|scenario| scenario.name == name).expect("it is explored");
    let explored = explore(&scenario, true);
    println!("{mode}, {name}: {} states in {} ms", explored.states, explored.took_ms);
    let violated: Vec<_> = explored.properties.iter().filter(|(_, v)| **v == Verdict::Violated).collect();
    assert!(violated.is_empty() && explored.complete, "{violated:?}");
}

#[test]
fn a_second_consumer_joins_undisturbed() {
    holds(Mode::Overlap, "join");
    holds(Mode::Exclusive, "join");
    holds(Mode::Routed, "two routers");
}

#[test]
fn a_second_process_takes_the_name_over() {
    holds(Mode::Overlap, "takeover by name");
}

#[test]
fn acks_come_late_and_twice_after_attempts_that_failed() {
    holds(Mode::Overlap, "late acks");
}

#[test]
fn the_mode_is_switched_while_another_session_may_still_act() {
    holds(Mode::Overlap, "switched to exclusive");
    holds(Mode::Exclusive, "switched to overlap and back");
}

#[test]
fn an_owner_is_fenced_of_what_it_never_lets_go() {
    holds(Mode::Exclusive, "fenced");
    holds(Mode::Exclusive, "fenced, and catches up");
    holds(Mode::Overlap, "switched, fenced");
}

#[test]
fn a_session_that_was_taken_over_lets_go() {
    holds(Mode::Exclusive, "let go");
}

#[test]
fn a_deposed_leader_goes_on_with_an_old_view() {
    holds(Mode::Overlap, "two leaders");
}

#[test]
fn what_is_given_back_finds_the_one_who_works() {
    holds(Mode::Overlap, "given back");
}

#[test]
fn a_registration_becomes_unreadable_and_heals() {
    holds(Mode::Overlap, "unreadable registration");
}

#[test]
fn an_owner_that_stands_still_acts_only_after_it_was_confirmed() {
    holds(Mode::Exclusive, "pause");
}

#[test]
fn an_owner_that_was_asked_to_stop_goes_on_where_it_stopped() {
    holds(Mode::Exclusive, "cancelled twice");
    holds(Mode::Exclusive, "catch up");
}

#[test]
fn a_revocation_is_waited_out_where_that_is_wanted() {
    holds(Mode::Exclusive, "revocation");
}

#[test]
fn a_topic_that_returns_is_worked_on_from_its_beginning() {
    holds(Mode::Exclusive, "a topic returns");
}

#[test]
fn a_suspect_is_ended_by_its_mark_or_heard_before() {
    holds(Mode::Overlap, "suspicion");
    holds(Mode::Exclusive, "suspicion");
    holds(Mode::Exclusive, "suspicion, a forced end and a slow heartbeat");
    holds(Mode::Routed, "suspicion");
}

#[test]
fn an_owner_rests_before_requests_are_held_back() {
    holds(Mode::Routed, "records in the works");
}

#[test]
fn a_freeze_passes_a_router_that_joins_late_and_says_nothing() {
    holds(Mode::Routed, "a router joins late");
}
