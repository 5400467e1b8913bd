//! Sessions that end, and consumers that leave.

use super::*;

#[test]
fn a_lost_session_loses_what_is_owned_and_drops_what_is_warm() {
    let mut roles = owning();
    script(
        &mut roles,
        [
            (change([(1, warming("h"))]), vec![warm_call(1, "h")]),
            (ended(1, Ok(())), vec![]),
            (RoleEvent::SessionLost, vec![call(0, Call::Lost), call(1, Call::Release)]),
            (snapshot([(0, owner(9, 9, ""))]), vec![]),
            (ended(0, Ok(())), vec![direct_warm(0, 9)]),
        ],
    );
}

// A drain that runs when the session goes is not carried into the next one.
#[test]
fn a_drain_that_fails_after_the_loss_ends_in_lost_before_the_next_session_owns_again() {
    let mut roles = owning();
    script(
        &mut roles,
        [
            (change([(0, releasing("h"))]), vec![call(0, Call::Drain)]),
            (RoleEvent::SessionLost, vec![RoleAction::Cancel(p(0))]),
            (snapshot([(0, owner(9, 9, ""))]), vec![]),
            (ended(0, Err("fenced")), vec![call(0, Call::Lost)]),
            (ended(0, Ok(())), vec![direct_warm(0, 9)]),
        ],
    );
}

#[test]
fn leaving_gives_everything_up_and_ignores_what_comes_later() {
    let mut roles = owning();
    script(
        &mut roles,
        [
            (change([(1, warming("h"))]), vec![warm_call(1, "h")]),
            (RoleEvent::LeaveAll, vec![call(0, Call::Drain), RoleAction::Cancel(p(1))]),
            (change([(2, warming("i"))]), vec![]),
            (ended(1, Err("cancelled")), vec![call(1, Call::Release)]),
            (ended(0, Ok(())), vec![call(0, Call::Release)]),
            (ended(1, Ok(())), vec![RoleAction::Forget(p(1))]),
            (ended(0, Ok(())), vec![]),
        ],
    );
    assert!(roles.is_idle());
    assert_eq!(acks(&roles), []);
}
