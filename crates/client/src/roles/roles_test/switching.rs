//! Roles that change: handoffs, grants, and what goes on under them.

use super::*;

#[test]
fn a_handoff_warms_then_takes_and_each_step_is_acknowledged() {
    let mut roles = Roles::new(8);
    script(&mut roles, [(change([(0, warming("h"))]), vec![warm_call(0, "h")]), (ended(0, Ok(())), vec![])]);
    assert_eq!(acks(&roles), [(0, AckKind::Ready, "h".into())]);
    script(
        &mut roles,
        [(change([(0, owner(5, 5, "h"))]), vec![assigned_call(0, 5)]), (ended(0, Ok(())), vec![])],
    );
    assert_eq!(acks(&roles), [(0, AckKind::Taken, "h".into())]);
    roles.step(T0, RoleEvent::Acked { partition: p(0), kind: AckKind::Taken, handoff: "h".into() });
    assert_eq!(acks(&roles), []);
}

#[test]
fn a_release_drains_first_and_is_acknowledged_only_when_nothing_is_held() {
    let mut roles = owning();
    script(
        &mut roles,
        [
            (change([(0, releasing("h"))]), vec![call(0, Call::Drain)]),
            (ended(0, Ok(())), vec![call(0, Call::Release)]),
        ],
    );
    assert_eq!(acks(&roles), []);
    script(&mut roles, [(ended(0, Ok(())), vec![])]);
    assert_eq!(acks(&roles), [(0, AckKind::Released, "h".into())]);
    script(&mut roles, [(change([(0, ConsumerRole::None)]), vec![RoleAction::Forget(p(0))])]);
}

#[test]
fn an_owner_that_is_granted_again_goes_on_without_a_call() {
    let mut roles = owning();
    script(&mut roles, [(change([(0, owner(9, 5, ""))]), vec![goes_on(0, 9)])]);
    script(&mut roles, [(snapshot([(0, owner(9, 5, ""))]), vec![])]);
}

// A drained old owner whose handoff was cancelled resumes its own state.
#[test]
fn a_drained_owner_of_the_same_run_resumes() {
    let mut roles = owning();
    script(
        &mut roles,
        [
            (change([(0, releasing("h"))]), vec![call(0, Call::Drain)]),
            (change([(0, owner(9, 5, ""))]), vec![RoleAction::Recall(p(0))]),
            (
                ended(0, Ok(())),
                vec![call(0, Call::Assigned { epoch: Epoch(9), start: None, resumed: true, strict: false })],
            ),
        ],
    );
}

// A returning owner never reuses what it had in an earlier run.
#[test]
fn a_drained_owner_of_an_earlier_run_starts_anew() {
    let mut roles = owning();
    script(
        &mut roles,
        [
            (change([(0, releasing("h"))]), vec![call(0, Call::Drain)]),
            (change([(0, owner(9, 9, ""))]), vec![RoleAction::Recall(p(0))]),
            (ended(0, Ok(())), vec![call(0, Call::Release)]),
            (ended(0, Ok(())), vec![direct_warm(0, 9)]),
        ],
    );
}

#[test]
fn a_cancelled_preparation_is_dropped() {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, warming("h"))]), vec![warm_call(0, "h")]),
            (ended(0, Ok(())), vec![]),
            (change([(0, ConsumerRole::None)]), vec![call(0, Call::Release)]),
            (ended(0, Ok(())), vec![RoleAction::Forget(p(0))]),
        ],
    );
}

// The handoff goes while the preparation runs.
#[test]
fn a_running_preparation_is_cancelled_and_dropped_after_it_ended() {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, warming("h"))]), vec![warm_call(0, "h")]),
            (snapshot([]), vec![RoleAction::Cancel(p(0))]),
            (ended(0, Err("cancelled")), vec![call(0, Call::Release)]),
            (ended(0, Ok(())), vec![RoleAction::Forget(p(0))]),
        ],
    );
    assert_eq!(acks(&roles), []);
}

// A new handoff id while the preparation for an older one runs.
#[test]
fn a_new_handoff_warms_again_after_the_running_warm_ended() {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, warming("a"))]), vec![warm_call(0, "a")]),
            (change([(0, warming("b"))]), vec![RoleAction::Cancel(p(0))]),
            (ended(0, Ok(())), vec![call(0, Call::Release)]),
            (ended(0, Ok(())), vec![warm_call(0, "b")]),
        ],
    );
}

#[test]
fn preparations_keep_their_bound_and_unowned_partitions_go_first() {
    let mut roles = Roles::new(2);
    let four = [(0, warming("a")), (1, warming("b")), (2, warming("c")), (3, owner(4, 4, ""))];
    script(
        &mut roles,
        [
            (change(four), vec![direct_warm(3, 4), warm_call(0, "a")]),
            (ended(0, Ok(())), vec![warm_call(1, "b")]),
            (ended(3, Ok(())), vec![assigned_call(3, 4), warm_call(2, "c")]),
        ],
    );
}

#[test]
fn a_grant_during_the_preparation_uses_it() {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, warming("h"))]), vec![warm_call(0, "h")]),
            (change([(0, owner(7, 7, ""))]), vec![]),
            (ended(0, Ok(())), vec![assigned_call(0, 7)]),
        ],
    );
}

#[test]
fn a_grant_after_missed_commands_prepares_again() {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, warming("h"))]), vec![warm_call(0, "h")]),
            (ended(0, Ok(())), vec![]),
            (snapshot([(0, owner(7, 7, ""))]), vec![call(0, Call::Release)]),
            (ended(0, Ok(())), vec![direct_warm(0, 7)]),
        ],
    );
}

#[test]
fn what_the_service_cannot_decide_stays_as_it_is() {
    let mut roles = owning();
    let undecided = BTreeSet::from([p(0)]);
    let nothing_known = RoleEvent::Changed(RoleChange::All { roles: Vec::new(), undecided });
    script(&mut roles, [(nothing_known, vec![]), (snapshot([]), vec![call(0, Call::Lost)])]);
}

#[test]
fn a_reconnect_repeats_acknowledgements() {
    let mut roles = Roles::new(8);
    script(&mut roles, [(change([(0, warming("h"))]), vec![warm_call(0, "h")]), (ended(0, Ok(())), vec![])]);
    roles.step(T0, RoleEvent::Acked { partition: p(0), kind: AckKind::Ready, handoff: "h".into() });
    assert_eq!(acks(&roles), []);
    roles.step(T0, snapshot([(0, warming("h"))]));
    assert_eq!(acks(&roles), [(0, AckKind::Ready, "h".into())]);
}
