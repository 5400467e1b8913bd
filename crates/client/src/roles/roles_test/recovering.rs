//! Failures, hanging calls and endings, and the partitions that go on beside them. The numbers are those of
//! `docs/design/scenarios.md`.

use super::*;

/// A machine in which partitions 0 and 1 are owned under epoch 5 of run 5.
fn owning_two() -> Roles {
    let mut roles = owning();
    script(
        &mut roles,
        [
            (change([(1, owner(5, 5, ""))]), vec![direct_warm(1, 5)]),
            (ended(1, Ok(())), vec![assigned_call(1, 5)]),
            (ended(1, Ok(())), vec![]),
        ],
    );
    roles
}

// H51, H53.
#[test]
fn a_failed_release_is_remembered_and_repeated_while_others_are_released() {
    let mut roles = owning_two();
    script(
        &mut roles,
        [
            (
                change([(0, releasing("h")), (1, releasing("i"))]),
                vec![call(0, Call::Drain), call(1, Call::Drain)],
            ),
            (ended(0, Ok(())), vec![call(0, Call::Release)]),
            (ended(1, Ok(())), vec![call(1, Call::Release)]),
            (ended(0, Err("disk full")), vec![]),
            (ended(1, Ok(())), vec![]),
        ],
    );
    assert_eq!(
        acks(&roles),
        [(1, AckKind::Released, "i".into())],
        "what is still held is not called released"
    );
    let retry = roles.next_wake().expect("a retry is planned");
    assert_eq!(roles.step(retry, time_passes()), [call(0, Call::Release)]);
}

// H42.
#[test]
fn a_resume_that_fails_is_tried_again_as_a_resume() {
    let resume = call(0, Call::Assigned { epoch: Epoch(9), start: None, resumed: true, strict: false });
    let mut roles = owning();
    script(
        &mut roles,
        [
            (change([(0, releasing("h"))]), vec![call(0, Call::Drain)]),
            (change([(0, owner(9, 5, ""))]), vec![RoleAction::Recall(p(0))]),
            (ended(0, Ok(())), vec![resume.clone()]),
            (ended(0, Err("no memory")), vec![]),
        ],
    );
    let retry = roles.next_wake().expect("a retry is planned");
    assert_eq!(roles.step(retry, time_passes()), [resume]);
}

// H50. The handler's contract is that whoever failed to drain still processes.
#[test]
fn an_owner_that_could_not_drain_goes_on_when_it_stays_the_owner() {
    let mut roles = owning();
    script(
        &mut roles,
        [
            (change([(0, releasing("h"))]), vec![call(0, Call::Drain)]),
            (ended(0, Err("disk full")), vec![]),
            (change([(0, owner(9, 5, ""))]), vec![goes_on(0, 9)]),
        ],
    );
    assert_eq!(roles.next_wake(), None, "the drain is not tried again");
}

// H48, H49, H52: a claim that is over needs nobody's consent, and the next session waits for what is left of the last.
#[test]
fn what_hangs_when_the_session_is_lost_holds_up_its_own_partition_alone() {
    let mut roles = owning_two();
    script(
        &mut roles,
        [
            (change([(0, releasing("h"))]), vec![call(0, Call::Drain)]),
            (RoleEvent::SessionLost, vec![RoleAction::Cancel(p(0)), call(1, Call::Lost)]),
            (snapshot([(0, owner(9, 9, "")), (1, owner(9, 9, ""))]), vec![]),
            (ended(1, Ok(())), vec![direct_warm(1, 9)]),
            (ended(1, Ok(())), vec![assigned_call(1, 9)]),
            (ended(0, Err("it came to an end")), vec![call(0, Call::Lost)]),
            (ended(0, Ok(())), vec![direct_warm(0, 9)]),
        ],
    );
}
