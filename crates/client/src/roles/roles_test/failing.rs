//! Calls of the handler that fail, are too late, or leave nothing of use behind.

use super::*;

// A failure is remembered and repeated, never skipped.
#[test]
fn a_failed_drain_keeps_the_partition_and_is_repeated() {
    let mut roles = owning();
    script(
        &mut roles,
        [(change([(0, releasing("h"))]), vec![call(0, Call::Drain)]), (ended(0, Err("disk full")), vec![])],
    );
    let retry = roles.next_wake().expect("a retry is planned");
    assert_eq!(acks(&roles), []);
    assert_eq!(roles.step(retry, time_passes()), [call(0, Call::Drain)]);
}

#[test]
fn a_start_that_spoiled_its_preparation_begins_with_another_one() {
    let mut roles = Roles::new(8);
    let spoiled = Err(CallFailure { message: "panic".into(), spoiled: true });
    script(
        &mut roles,
        [
            (change([(0, owner(5, 5, ""))]), vec![direct_warm(0, 5)]),
            (ended(0, Ok(())), vec![assigned_call(0, 5)]),
            (RoleEvent::CallEnded { partition: p(0), result: spoiled }, vec![]),
        ],
    );
    let retry = roles.next_wake().expect("a retry is planned");
    assert_eq!(roles.step(retry, time_passes()), [call(0, Call::Release)]);
    assert_eq!(roles.step(retry, ended(0, Ok(()))), [direct_warm(0, 5)]);
}

#[test]
fn a_start_that_succeeds_though_it_was_cancelled_is_lost() {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, owner(5, 5, ""))]), vec![direct_warm(0, 5)]),
            (ended(0, Ok(())), vec![assigned_call(0, 5)]),
            (change([(0, releasing("h"))]), vec![RoleAction::Cancel(p(0))]),
            (change([(0, owner(6, 5, ""))]), vec![]),
            (ended(0, Ok(())), vec![call(0, Call::Lost)]),
            (ended(0, Ok(())), vec![direct_warm(0, 5)]),
        ],
    );
}

#[test]
fn a_declined_handoff_is_reported_and_not_tried_again() {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [(change([(0, warming("h"))]), vec![warm_call(0, "h")]), (ended(0, Err("no room")), vec![])],
    );
    assert_eq!(acks(&roles), [(0, AckKind::WarmFailed, "h".into())]);
    let retry = roles.next_wake().expect("the rest is dropped after a wait");
    assert_eq!(roles.step(retry, time_passes()), [call(0, Call::Release)]);
    assert_eq!(roles.step(retry, ended(0, Ok(()))), []);
    assert_eq!(roles.step(retry, change([(0, warming("i"))])), [warm_call(0, "i")]);
}

#[test]
fn an_owner_that_is_spoiled_is_lost_and_prepared_again_under_its_epoch() {
    let mut roles = owning();
    script(
        &mut roles,
        [
            (RoleEvent::Spoiled(p(0)), vec![call(0, Call::Lost)]),
            (ended(0, Ok(())), vec![direct_warm(0, 5)]),
            (ended(0, Ok(())), vec![assigned_call(0, 5)]),
            (ended(0, Ok(())), vec![]),
        ],
    );
}

#[test]
fn what_is_spoiled_while_it_drains_is_never_resumed() {
    let mut roles = owning();
    script(
        &mut roles,
        [
            (change([(0, releasing("h"))]), vec![call(0, Call::Drain)]),
            (RoleEvent::Spoiled(p(0)), vec![]),
            (change([(0, owner(9, 5, ""))]), vec![RoleAction::Recall(p(0))]),
            (ended(0, Ok(())), vec![call(0, Call::Release)]),
            (ended(0, Ok(())), vec![direct_warm(0, 5)]),
        ],
    );
}

#[test]
fn preparations_that_fail_keep_no_others_waiting() {
    let mut roles = Roles::new(2);
    let actions = roles.step(T0, change((0..5).map(|number| (number, owner(5, 5, "")))));
    assert_eq!(actions, [direct_warm(0, 5), direct_warm(1, 5)]);
    // Each gets its turn before any is tried again, though the first ones come first by name and have waited.
    let mut now = T0;
    for (number, next) in [(0, 2), (1, 3), (2, 4)] {
        now = now + Duration::from_secs(10);
        let actions = roles.step(now, ended(number, Err("nothing was fetched")));
        let started: Vec<_> = actions.into_iter().filter(is_warm).collect();
        assert_eq!(started, [direct_warm(next, 5)]);
        now = now + Duration::from_secs(1);
        assert_eq!(roles.step(now, time_passes()), [call(number, Call::Release)]);
        assert_eq!(roles.step(now, ended(number, Ok(()))), []);
    }
    now = now + Duration::from_secs(10);
    roles.step(now, ended(3, Ok(())));
    assert_eq!(
        roles.step(now, ended(4, Ok(()))).last(),
        Some(&direct_warm(1, 5)),
        "and those that fail go on"
    );
}

fn is_warm(action: &RoleAction) -> bool {
    matches!(action, RoleAction::Call(_, Call::Warm { .. }))
}
