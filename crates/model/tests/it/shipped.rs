//! The protocol as it is shipped: every invariant, in every state within the bounds.

use kafka_assigner_model::{Bounds, Protocol};
use stateright::Checker;

use crate::{SMALL, explore};

fn holds(what: &str, bounds: Bounds) {
    let checker = explore(what, Protocol::shipped(bounds));
    for (name, path) in checker.discoveries() {
        // The one property that asks for an example.
        assert_eq!(name, "a handoff goes through", "{:#?}", path.into_actions());
    }
    assert!(checker.is_done());
}

#[test]
fn a_second_consumer_joins_undisturbed() {
    holds("join", SMALL);
}

#[test]
fn processes_die_and_come_back_before_and_after_their_lease() {
    // Crash and restart under the same name, at any moment.
    holds("crash", Bounds { sessions: 2, crashes: 1, ..SMALL });
}

#[test]
fn two_processes_die_at_any_moment() {
    // Old and new owner, in any order.
    holds("crashes", Bounds { partitions: 1, sessions: 3, crashes: 2, drains: 1, ..SMALL });
}

#[test]
fn a_zombie_lives_past_its_lease() {
    holds("zombie", Bounds { sessions: 2, expiries: 1, ..SMALL });
}

#[test]
fn a_second_process_takes_the_name_over() {
    holds("twin", Bounds { sessions: 2, twins: 1, ..SMALL });
}

#[test]
fn consumers_leave_and_drain() {
    holds("leave", Bounds { partitions: 1, sessions: 2, leaves: 1, drains: 1, ..SMALL });
}

#[test]
fn acks_come_late_and_twice_after_attempts_that_failed() {
    // The attempt fails, another one begins, and the ack of the first is still under way.
    holds("stray", Bounds { strays: 1, failures: 1, deadlines: 1, ..SMALL });
}

#[test]
fn writes_of_unknown_outcome_land_late() {
    holds("unknown", Bounds { unknowns: 1, deadlines: 1, failures: 1, ..SMALL });
}

#[test]
fn a_deposed_leader_goes_on_with_an_old_view() {
    // Two instances, a view each, and a write of the old one still under way.
    holds("deposed", Bounds { instances: 2, depositions: 1, unknowns: 1, ..SMALL });
}

#[test]
fn views_lag_across_a_reconnect() {
    holds("reconnect", Bounds { instances: 2, reconnects: 2, expiries: 1, ..SMALL });
}

#[test]
fn what_is_given_back_finds_the_one_who_works() {
    holds("give back", Bounds { crashes: 1, deadlines: 1, unknowns: 1, ..SMALL });
}

#[test]
fn a_registration_becomes_unreadable_and_heals() {
    holds("unreadable", Bounds { spoils: 1, crashes: 1, ..SMALL });
}

#[test]
fn a_third_consumer_comes_while_the_second_is_warming() {
    holds("third", Bounds { names: 3, sessions: 2, crashes: 1, ..SMALL });
}
