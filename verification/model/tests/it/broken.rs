//! One rule taken out at a time: the model must see it.

use kafka_assigner_model::report::search;
use kafka_assigner_model::suite::faults;

/// The shipped protocol breaks nothing within the bounds, which `cargo xtask model` explores beside it; without the rule
/// it does.
fn is_caught(name: &str) {
    let fault = faults().into_iter().find(|fault| fault.name == name).expect("it is one of the faults");
    let steps = search(&fault);
    println!("{name}: {steps:?} steps");
    assert!(steps.is_some(), "{name} was not seen");
}

macro_rules! caught {
    ($($test:ident: $name:literal;)*) => {
        $(#[test]
        fn $test() {
            is_caught($name);
        })*

        #[test]
        fn every_fault_has_its_test() {
            let tested = [$($name),*];
            for fault in faults() {
                assert!(tested.contains(&fault.name), "{} has no test", fault.name);
            }
        }
    };
}

caught! {
    a_plan_that_looks_past_handoffs_in_flight_overwrites_them: "handoff overwritten";
    an_ack_without_its_id_counts_for_the_next_attempt: "ack without id";
    an_incarnation_per_process_lets_an_old_session_speak_for_the_next: "incarnation per process";
    a_release_before_the_new_owner_works_leaves_a_gap: "release before taken";
    a_cancel_by_bare_deletion_hits_what_is_complete: "bare delete";
    a_leader_without_a_fence_writes_after_its_term: "leader unfenced";
    a_snapshot_from_an_older_view_revives_what_is_over: "stale snapshot";
    an_unreadable_registration_taken_for_none_ends_a_living_owner: "unreadable is dead";
    a_give_back_guarded_on_the_id_alone_takes_from_whoever_took_meanwhile: "give back by id";
    an_orphan_at_complete_given_to_a_third_ends_the_one_who_works: "orphan at complete";
    a_reconnect_that_registers_again_brings_back_what_is_gone: "reconnect registers";
    a_stricter_mode_that_begins_at_once_meets_those_who_owned_it_before: "switched at once";
    a_stricter_mode_that_does_not_wait_for_an_outage_grace_meets_one_who_goes_on_by_it: "grace forgotten";
    a_stricter_mode_that_does_not_wait_for_a_fence_meets_one_who_has_not_heard: "switched past a fence";
    what_is_granted_before_its_owner_can_have_heard_of_the_fence_has_two: "fence unwaited";
    a_client_that_works_on_after_a_fence_meets_the_next_owner: "fence disobeyed";
    a_handoff_that_only_its_old_owner_clears_stays_when_that_one_dies: "never cleared";
    a_mark_that_is_removed_after_the_answer_ends_one_who_was_heard: "mark removed late";
    an_end_that_is_not_guarded_on_the_mark_ends_one_who_was_heard: "takeover unguarded";
    a_prepared_move_that_goes_on_drains_a_session_that_is_here: "ahead drains";
    an_end_with_its_grants_in_one_write_makes_two_owners: "ends and grants";
    a_claim_as_long_as_its_lease_meets_the_next_owner: "no margin";
    a_forced_end_that_revokes_the_lease_makes_two_owners: "end revokes";
    the_first_word_on_a_set_taken_for_all_speaks_for_what_is_not_ready: "first word for all";
    a_takeover_that_keeps_confirming_the_old_session_makes_two_owners: "keeps confirming";
    a_grant_before_the_old_lease_ran_down_makes_two_owners: "not waited";
    a_switch_in_two_transactions_lets_both_act: "two transactions";
    a_lease_revoked_by_an_instances_timer_makes_two_owners: "timer revokes";
    a_register_that_extends_the_claim_alone_outlives_its_lease: "claim without lease";
    a_session_that_says_it_stopped_and_works_on_meets_its_successor: "let go early";
    what_was_left_of_a_lease_before_its_owner_was_gone_says_nothing: "asked early";
    the_rest_of_a_lease_by_a_deposed_leader_of_the_store_makes_two_owners: "term read after";
    a_release_without_the_offset_does_work_twice: "release drops its offset";
    what_is_taken_from_a_registered_owner_has_two_owners: "taken from an owner";
    a_lease_that_ends_with_its_drain_makes_two_owners: "drain revokes";
    a_topic_that_returns_with_the_start_of_before_loses_work: "return keeps the start";
    an_offset_of_a_former_topic_that_counts_loses_work: "offsets without ids";
    an_undrained_owner_that_is_restarted_does_work_twice: "undrained restarted";
    the_epoch_before_in_place_of_the_run_does_work_twice: "run is previous";
    a_cancel_that_drops_the_start_does_work_twice: "start dropped";
    a_drain_answered_with_the_committed_offset_does_work_twice: "offset invented";
    three_phases_lose_an_acknowledged_write: "three phases";
    a_quorum_by_count_stops_the_owner_under_a_router_that_still_sends: "quorum by count";
    a_late_joiner_that_is_awaited_keeps_a_freeze_for_ever: "late joiner awaited";
    a_router_that_stands_still_and_is_waited_for_again_and_again_keeps_a_move_for_ever: "misses forgotten";
    a_fence_taken_after_the_read_loses_an_acknowledged_write: "fence after read";
    a_freeze_that_does_not_wait_for_the_record_in_the_works_holds_requests_back_for_it: "rest unawaited";
    an_owner_that_begins_a_record_after_it_has_rested_holds_requests_back: "begun after rest";
    a_refused_write_that_is_repeated_under_a_late_fence_is_lost: "refused repeated";
}
