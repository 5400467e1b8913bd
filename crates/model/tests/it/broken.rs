//! One rule taken out at a time: the model must see it.

use kafka_assigner_model::{Bounds, Invariant, Protocol, Variant};
use stateright::{Checker, HasDiscoveries, Model};

use crate::SMALL;

/// The shipped protocol breaks nothing within the bounds, see [`crate::shipped`]; the variant breaks `invariant`.
fn is_caught(variant: Variant, bounds: Bounds, invariant: Invariant) {
    let protocol = Protocol { bounds, variant };
    let wanted = HasDiscoveries::AnyOf([invariant.name()].into());
    let checker = protocol.checker().threads(2).finish_when(wanted).spawn_bfs().join();
    let path = checker.discovery(invariant.name());
    println!("{variant:?}: {} states", checker.state_count());
    assert!(path.is_some(), "{variant:?} was not seen in {} states", checker.state_count());
}

#[test]
fn a_plan_that_looks_past_handoffs_in_flight_overwrites_them() {
    let bounds = Bounds { names: 3, sessions: 2, ..SMALL };
    is_caught(Variant::HandoffOverwritten, bounds, Invariant::OneAttempt);
}

#[test]
fn an_ack_without_its_id_counts_for_the_next_attempt() {
    let bounds = Bounds { strays: 1, failures: 1, ..SMALL };
    is_caught(Variant::AckWithoutId, bounds, Invariant::AckIdentity);
}

#[test]
fn an_incarnation_per_process_lets_an_old_session_speak_for_the_next() {
    let bounds = Bounds { sessions: 2, crashes: 1, ..SMALL };
    is_caught(Variant::IncarnationPerProcess, bounds, Invariant::AckIdentity);
}

#[test]
fn a_release_before_the_new_owner_works_leaves_a_gap() {
    is_caught(Variant::ReleaseBeforeTaken, SMALL, Invariant::NoGap);
}

#[test]
fn a_cancel_by_bare_deletion_hits_what_is_complete() {
    let bounds = Bounds { unknowns: 1, deadlines: 1, ..SMALL };
    is_caught(Variant::BareDelete, bounds, Invariant::NoGap);
}

#[test]
fn a_leader_without_a_fence_writes_after_its_term() {
    let bounds = Bounds { instances: 2, depositions: 1, ..SMALL };
    is_caught(Variant::LeaderUnfenced, bounds, Invariant::OneWriter);
}

#[test]
fn a_snapshot_from_an_older_view_revives_what_is_over() {
    let bounds = Bounds { instances: 2, reconnects: 1, ..SMALL };
    is_caught(Variant::StaleSnapshot, bounds, Invariant::Truth);
}

#[test]
fn an_unreadable_registration_taken_for_none_ends_a_living_owner() {
    let bounds = Bounds { spoils: 1, ..SMALL };
    is_caught(Variant::UnreadableIsDead, bounds, Invariant::NoGap);
}

#[test]
fn a_give_back_guarded_on_the_id_alone_takes_from_whoever_took_meanwhile() {
    let bounds = Bounds { deadlines: 1, unknowns: 1, ..SMALL };
    is_caught(Variant::GiveBackById, bounds, Invariant::NoGap);
}

#[test]
fn an_orphan_at_complete_given_to_a_third_ends_the_one_who_works() {
    let bounds = Bounds { partitions: 1, names: 3, sessions: 2, crashes: 1, drains: 1, ..SMALL };
    is_caught(Variant::OrphanAtComplete, bounds, Invariant::NoGap);
}

#[test]
fn a_reconnect_that_registers_again_brings_back_what_is_gone() {
    let bounds = Bounds { instances: 2, reconnects: 1, expiries: 1, ..SMALL };
    is_caught(Variant::ReconnectRegisters, bounds, Invariant::Finality);
}

#[test]
fn a_handoff_that_only_its_old_owner_clears_stays_when_that_one_dies() {
    is_caught(Variant::NeverCleared, Bounds { crashes: 1, ..SMALL }, Invariant::Liveness);
}
