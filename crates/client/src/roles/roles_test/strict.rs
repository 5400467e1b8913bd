//! The stricter modes: one owner at a time, and a claim that ends by this client's own clock.

use super::*;

#[test]
fn a_new_owner_catches_up_under_the_reserved_epoch_and_starts_where_the_old_one_stopped() {
    let mut roles = Roles::new(8);
    let catch_up = Call::CatchUp { handoff: "h".into(), epoch: Epoch(9), until: Some(at_offset(70)) };
    script(
        &mut roles,
        [
            (change([(0, warming("h"))]), vec![warm_call(0, "h")]),
            (ended(0, Ok(())), vec![]),
            (change([(0, catching_up("h", 9, Some(70)))]), vec![call(0, catch_up)]),
        ],
    );
    assert_eq!(acks(&roles), []);
    script(&mut roles, [(ended(0, Ok(())), vec![])]);
    assert_eq!(acks(&roles), [(0, AckKind::CaughtUp, "h".into())]);
    let grant = starting_at(70, strict_owner(9, 9, "h"));
    script(&mut roles, [(change([(0, grant)]), vec![strictly_assigned(0, 9, Some(70), false)])]);
}

// H57, H62: whoever is only about to own does nothing but prepare, and drops it when the handoff goes.
#[test]
fn a_new_owner_whose_handoff_ends_while_it_catches_up_drops_everything() {
    let mut roles = Roles::new(8);
    let catch_up = Call::CatchUp { handoff: "h".into(), epoch: Epoch(9), until: None };
    script(
        &mut roles,
        [
            (change([(0, warming("h"))]), vec![warm_call(0, "h")]),
            (ended(0, Ok(())), vec![]),
            (change([(0, catching_up("h", 9, None))]), vec![call(0, catch_up)]),
            (change([(0, ConsumerRole::None)]), vec![RoleAction::Cancel(p(0))]),
            (ended(0, Err("cancelled")), vec![call(0, Call::Release)]),
            (ended(0, Ok(())), vec![RoleAction::Forget(p(0))]),
        ],
    );
}

// Nobody works meanwhile, so the partition goes back at once.
#[test]
fn a_failure_to_catch_up_is_declined_and_not_tried_again() {
    let mut roles = Roles::new(8);
    let catch_up = Call::CatchUp { handoff: "h".into(), epoch: Epoch(9), until: None };
    script(
        &mut roles,
        [
            (change([(0, warming("h"))]), vec![warm_call(0, "h")]),
            (ended(0, Ok(())), vec![]),
            (change([(0, catching_up("h", 9, None))]), vec![call(0, catch_up)]),
            (ended(0, Err("fenced")), vec![]),
        ],
    );
    assert_eq!(acks(&roles), [(0, AckKind::WarmFailed, "h".into())]);
}

#[test]
fn a_new_owner_that_lost_its_preparation_makes_another_before_it_catches_up() {
    let mut roles = Roles::new(8);
    let warm = Call::Warm { provenance: Provenance::Handoff("h".into()), current_owner: None, start: None };
    let catch_up = Call::CatchUp { handoff: "h".into(), epoch: Epoch(9), until: None };
    script(
        &mut roles,
        [
            (snapshot([(0, catching_up("h", 9, None))]), vec![call(0, warm)]),
            (ended(0, Ok(())), vec![call(0, catch_up)]),
        ],
    );
}

// H19: told to drain, an owner stops, says where, and keeps its state until it is told to let go.
#[test]
fn an_old_owner_says_where_it_stopped_and_keeps_its_state() {
    let mut roles = owning_strictly();
    script(&mut roles, [(change([(0, draining("h", 5, Some(3)))]), vec![call(0, Call::Drain)])]);
    assert_eq!(heard_drained(&roles, "h"), None);
    script(&mut roles, [(drained(0, 42), vec![])]);
    assert_eq!(heard_drained(&roles, "h"), Some(Some(42)));
    script(&mut roles, [(change([(0, releasing("h"))]), vec![call(0, Call::Release)])]);
    script(&mut roles, [(ended(0, Ok(())), vec![])]);
    assert_eq!(acks(&roles), [(0, AckKind::Released, "h".into())]);
}

// H4, H59: what it held is its own knowledge, whatever became of the handoff.
#[test]
fn a_drained_owner_goes_on_where_it_stopped_when_it_is_granted_again_in_the_same_run() {
    for granted in [5, 9] {
        let mut roles = owning_strictly();
        let again = starting_at(42, strict_owner(granted, 5, ""));
        script(
            &mut roles,
            [
                (change([(0, draining("h", 5, Some(3)))]), vec![call(0, Call::Drain)]),
                (drained(0, 42), vec![]),
                (snapshot([(0, again)]), vec![strictly_assigned(0, granted, None, true)]),
            ],
        );
    }
}

// H59: another handoff in the place of the one that it drained for.
#[test]
fn a_drained_owner_answers_the_next_handoff_at_once() {
    let mut roles = owning_strictly();
    script(
        &mut roles,
        [
            (change([(0, draining("h", 5, Some(3)))]), vec![call(0, Call::Drain)]),
            (drained(0, 42), vec![]),
            (change([(0, draining("i", 5, Some(42)))]), vec![]),
        ],
    );
    assert_eq!(heard_drained(&roles, "i"), Some(Some(42)));
}

// H6: what was let go is not resumed.
#[test]
fn a_released_owner_starts_as_new_when_it_is_granted_again() {
    let mut roles = owning_strictly();
    script(
        &mut roles,
        [
            (change([(0, draining("h", 5, None))]), vec![call(0, Call::Drain)]),
            (drained(0, 42), vec![]),
            (change([(0, releasing("h"))]), vec![call(0, Call::Release)]),
            (ended(0, Ok(())), vec![]),
            (change([(0, ConsumerRole::None)]), vec![RoleAction::Forget(p(0))]),
            (change([(0, starting_at(60, strict_owner(12, 12, "")))]), vec![direct_warm_to(60, 0, 12)]),
            (ended(0, Ok(())), vec![strictly_assigned(0, 12, Some(60), false)]),
        ],
    );
}

// H5: whoever warmed and owns nothing drops it, and never resumes.
#[test]
fn a_new_owner_of_a_cancelled_handoff_drops_what_it_caught_up_with() {
    let mut roles = Roles::new(8);
    let catch_up = Call::CatchUp { handoff: "h".into(), epoch: Epoch(9), until: None };
    script(
        &mut roles,
        [
            (change([(0, warming("h"))]), vec![warm_call(0, "h")]),
            (ended(0, Ok(())), vec![]),
            (change([(0, catching_up("h", 9, None))]), vec![call(0, catch_up)]),
            (ended(0, Ok(())), vec![]),
            (change([(0, warming("i"))]), vec![call(0, Call::Release)]),
            (ended(0, Ok(())), vec![warm_call(0, "i")]),
        ],
    );
}

// H8, H19: it has nothing to stop, so nothing is prepared either, and nothing is invented.
#[test]
fn a_member_that_started_no_epoch_of_the_run_answers_a_drain_with_the_start_of_its_grant() {
    for start in [Some(3), None] {
        let mut roles = Roles::new(8);
        script(&mut roles, [(snapshot([(0, draining("h", 5, start))]), vec![])]);
        assert_eq!(heard_drained(&roles, "h"), Some(start));
        let granted = starting_at(3, strict_owner(9, 5, ""));
        script(
            &mut roles,
            [
                (change([(0, granted)]), vec![direct_warm_to(3, 0, 5)]),
                (ended(0, Ok(())), vec![strictly_assigned(0, 9, Some(3), false)]),
            ],
        );
    }
}

#[test]
fn a_preparation_for_a_grant_is_cut_short_by_a_drain_which_does_not_wait_for_it() {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, starting_at(3, strict_owner(5, 5, "")))]), vec![direct_warm_to(3, 0, 5)]),
            (change([(0, draining("h", 5, Some(3)))]), vec![RoleAction::Cancel(p(0))]),
        ],
    );
    assert_eq!(heard_drained(&roles, "h"), Some(Some(3)));
}

// Cut short, it could not say where it stopped.
#[test]
fn a_start_that_is_under_way_ends_before_the_drain_begins() {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, strict_owner(5, 5, ""))]), vec![direct_warm(0, 5)]),
            (ended(0, Ok(())), vec![strictly_assigned(0, 5, None, false)]),
            (change([(0, draining("h", 5, None))]), vec![]),
        ],
    );
    assert_eq!(heard_drained(&roles, "h"), None);
    script(&mut roles, [(ended(0, Ok(())), vec![call(0, Call::Drain)])]);
}

// A partition that was processed before it was lost has moved on from the start of the grant.
#[test]
fn an_owner_that_lost_the_partition_in_this_run_names_no_offset() {
    let mut roles = owning_strictly();
    script(
        &mut roles,
        [
            (RoleEvent::Spoiled(p(0)), vec![call(0, Call::Lost)]),
            (change([(0, draining("h", 5, Some(3)))]), vec![]),
        ],
    );
    assert_eq!(heard_drained(&roles, "h"), None, "it may still act");
    script(&mut roles, [(ended(0, Ok(())), vec![])]);
    assert_eq!(heard_drained(&roles, "h"), Some(None));
}

#[test]
fn an_owner_that_is_prepared_again_in_the_same_run_ignores_the_start_of_its_grant() {
    let mut roles = owning_strictly();
    script(
        &mut roles,
        [
            (RoleEvent::Spoiled(p(0)), vec![call(0, Call::Lost)]),
            (ended(0, Ok(())), vec![direct_warm(0, 5)]),
            (ended(0, Ok(())), vec![strictly_assigned(0, 5, None, false)]),
        ],
    );
}

// H50. It also admits requests again, though its epoch may be the same.
#[test]
fn an_owner_that_could_not_drain_goes_on_when_the_handoff_is_cancelled() {
    for granted in [5, 9] {
        let mut roles = owning_strictly();
        let goes_on = RoleAction::RaiseEpoch { partition: p(0), epoch: Epoch(granted), strict: true };
        script(
            &mut roles,
            [
                (change([(0, draining("h", 5, None))]), vec![call(0, Call::Drain)]),
                (ended(0, Err("disk full")), vec![]),
                (change([(0, strict_owner(granted, 5, ""))]), vec![goes_on]),
                (snapshot([(0, strict_owner(granted, 5, ""))]), vec![]),
            ],
        );
    }
}

#[test]
fn an_owner_whose_drain_still_waits_for_requests_goes_on_at_once_when_the_handoff_is_cancelled() {
    let mut roles = owning_strictly();
    let goes_on = RoleAction::RaiseEpoch { partition: p(0), epoch: Epoch(9), strict: true };
    script(
        &mut roles,
        [
            (change([(0, draining("h", 5, None))]), vec![call(0, Call::Drain)]),
            (change([(0, strict_owner(9, 5, ""))]), vec![RoleAction::Recall(p(0))]),
            (snapshot([(0, strict_owner(9, 5, ""))]), vec![]),
            (ended(0, Err("recalled")), vec![goes_on]),
        ],
    );
    assert_eq!(roles.next_wake(), None, "it is no failure");
}

// H42: a resume that failed is tried again as a resume.
#[test]
fn a_drained_owner_that_could_not_resume_tries_it_again() {
    let mut roles = owning_strictly();
    script(
        &mut roles,
        [
            (change([(0, draining("h", 5, None))]), vec![call(0, Call::Drain)]),
            (drained(0, 42), vec![]),
            (change([(0, strict_owner(9, 5, ""))]), vec![strictly_assigned(0, 9, None, true)]),
            (ended(0, Err("no memory")), vec![]),
        ],
    );
    let retry = roles.next_wake().expect("a retry is planned");
    assert_eq!(roles.step(retry, time_passes()), [strictly_assigned(0, 9, None, true)]);
}

// H53: a release that failed is remembered as held, and repeated.
#[test]
fn a_failed_release_of_a_drained_partition_is_repeated_before_it_is_acknowledged() {
    let mut roles = owning_strictly();
    script(
        &mut roles,
        [
            (change([(0, draining("h", 5, None))]), vec![call(0, Call::Drain)]),
            (drained(0, 42), vec![]),
            (change([(0, releasing("h"))]), vec![call(0, Call::Release)]),
            (ended(0, Err("disk full")), vec![]),
        ],
    );
    assert_eq!(acks(&roles), []);
    let retry = roles.next_wake().expect("a retry is planned");
    assert_eq!(roles.step(retry, time_passes()), [call(0, Call::Release)]);
}

// H9: a word that is too late is not said.
#[test]
fn nothing_is_said_of_a_drain_once_the_handoff_is_over() {
    let mut roles = owning_strictly();
    script(
        &mut roles,
        [
            (change([(0, draining("h", 5, None))]), vec![call(0, Call::Drain)]),
            (change([(0, strict_owner(9, 5, ""))]), vec![RoleAction::Recall(p(0))]),
            (drained(0, 42), vec![strictly_assigned(0, 9, None, true)]),
        ],
    );
    assert_eq!(heard_drained(&roles, "h"), None);
}

#[test]
fn a_reconnect_repeats_where_it_stopped() {
    let mut roles = owning_strictly();
    script(
        &mut roles,
        [(change([(0, draining("h", 5, None))]), vec![call(0, Call::Drain)]), (drained(0, 42), vec![])],
    );
    let said = RoleEvent::Acked { partition: p(0), kind: AckKind::Drained, handoff: "h".into() };
    roles.step(T0, said);
    assert_eq!(heard_drained(&roles, "h"), None);
    roles.step(T0, snapshot([(0, draining("h", 5, None))]));
    assert_eq!(heard_drained(&roles, "h"), Some(Some(42)));
}

#[test]
fn an_undrained_owner_works_on_under_another_mode_and_answers_with_its_token() {
    let mut roles = owning();
    let strict = RoleAction::RaiseEpoch { partition: p(0), epoch: Epoch(9), strict: true };
    script(&mut roles, [(change([(0, strict_owner(9, 5, "token"))]), vec![strict])]);
    assert_eq!(acks(&roles), [(0, AckKind::Taken, "token".into())]);
    script(&mut roles, [(RoleEvent::ClaimLapsed, vec![call(0, Call::Lost)])]);
}

#[test]
fn an_owner_of_an_earlier_run_starts_as_new_in_the_stricter_modes_only() {
    let mut roles = owning();
    script(&mut roles, [(change([(0, owner(9, 9, ""))]), vec![goes_on(0, 9)])]);
    let mut roles = owning_strictly();
    script(
        &mut roles,
        [
            (change([(0, strict_owner(9, 9, ""))]), vec![call(0, Call::Lost)]),
            (ended(0, Ok(())), vec![direct_warm(0, 9)]),
        ],
    );
}

// H39, H43: what has lapsed is surrendered, and not only stale.
#[test]
fn a_lapsed_claim_loses_what_is_owned_strictly_and_it_begins_again_when_the_claim_is_valid() {
    let mut roles = owning_strictly();
    script(
        &mut roles,
        [
            (RoleEvent::ClaimLapsed, vec![call(0, Call::Lost)]),
            (ended(0, Ok(())), vec![direct_warm(0, 5)]),
            (ended(0, Ok(())), vec![]),
            (RoleEvent::ClaimValid, vec![strictly_assigned(0, 5, None, false)]),
        ],
    );
}

#[test]
fn a_lapsed_claim_changes_nothing_in_overlap() {
    let mut roles = owning();
    script(&mut roles, [(RoleEvent::ClaimLapsed, vec![]), (RoleEvent::ClaimValid, vec![])]);
}

#[test]
fn an_owner_that_is_granted_a_stricter_mode_without_a_claim_is_lost() {
    let mut roles = owning();
    let warm =
        Call::Warm { provenance: Provenance::Handoff("token".into()), current_owner: None, start: None };
    script(
        &mut roles,
        [
            (RoleEvent::ClaimLapsed, vec![]),
            (change([(0, strict_owner(9, 5, "token"))]), vec![call(0, Call::Lost)]),
            (ended(0, Ok(())), vec![call(0, warm)]),
        ],
    );
}

#[test]
fn a_claim_that_lapses_during_the_drain_leaves_no_offset() {
    let mut roles = owning_strictly();
    script(
        &mut roles,
        [
            (change([(0, draining("h", 5, Some(3)))]), vec![call(0, Call::Drain)]),
            (RoleEvent::ClaimLapsed, vec![RoleAction::Cancel(p(0))]),
            (ended(0, Err("cancelled")), vec![call(0, Call::Lost)]),
            (ended(0, Ok(())), vec![]),
        ],
    );
    assert_eq!(heard_drained(&roles, "h"), Some(None));
}

// F40, L11: a fence that is taken without a claim shuts out the rightful owner.
#[test]
fn no_fence_is_taken_while_the_claim_has_lapsed() {
    let mut roles = Roles::new(8);
    let catch_up = Call::CatchUp { handoff: "h".into(), epoch: Epoch(9), until: None };
    script(
        &mut roles,
        [
            (change([(0, warming("h"))]), vec![warm_call(0, "h")]),
            (ended(0, Ok(())), vec![]),
            (RoleEvent::ClaimLapsed, vec![]),
            (change([(0, catching_up("h", 9, None))]), vec![]),
            (RoleEvent::ClaimValid, vec![call(0, catch_up)]),
        ],
    );
}

// H48, H49, H51: one partition that refuses or hangs keeps none of the others.
#[test]
fn a_drain_that_fails_while_leaving_stops_no_other_partition() {
    let mut roles = Roles::new(8);
    let two = [(0, strict_owner(5, 5, "")), (1, strict_owner(5, 5, ""))];
    script(
        &mut roles,
        [
            (change(two), vec![direct_warm(0, 5), direct_warm(1, 5)]),
            (ended(0, Ok(())), vec![strictly_assigned(0, 5, None, false)]),
            (ended(1, Ok(())), vec![strictly_assigned(1, 5, None, false)]),
            (ended(0, Ok(())), vec![]),
            (ended(1, Ok(())), vec![]),
            (RoleEvent::LeaveAll, vec![call(0, Call::Drain), call(1, Call::Drain)]),
            (ended(0, Err("refused")), vec![]),
            (ended(1, Ok(())), vec![call(1, Call::Release)]),
            (ended(1, Ok(())), vec![]),
        ],
    );
    assert!(!roles.is_idle(), "what refused is still held");
}
