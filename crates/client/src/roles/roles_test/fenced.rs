//! Fences of single partitions: what acts under such a grant is lost, and the session goes on.

use super::*;

fn fenced(named: &[(u32, u64)]) -> RoleEvent {
    RoleEvent::Fenced(named.iter().map(|(number, epoch)| (p(*number), Epoch(*epoch))).collect())
}

fn dropped(roles: &Roles) -> Vec<(u32, u64)> {
    roles.dropped().map(|(at, epoch)| (at.partition, epoch.0)).collect()
}

/// Owns two partitions, each under epoch 5.
fn owning_two(role: fn(u64, u64, &str) -> ConsumerRole) -> Roles {
    let mut roles = Roles::new(8);
    roles.step(T0, change([(0, role(5, 5, "")), (1, role(5, 5, ""))]));
    for number in [0, 1, 0, 1] {
        roles.step(T0, ended(number, Ok(())));
    }
    assert_eq!(roles.counts().owned, 2);
    roles
}

#[test]
fn a_fenced_partition_is_lost_in_every_mode_and_the_others_go_on() {
    for role in [owner, strict_owner] {
        let mut roles = owning_two(role);
        script(&mut roles, [(fenced(&[(0, 5)]), vec![call(0, Call::Lost)])]);
        assert_eq!(
            (dropped(&roles), roles.counts().owned),
            (vec![], 2),
            "it may act until the call has ended"
        );
        script(&mut roles, [(ended(0, Ok(())), vec![RoleAction::Forget(p(0))])]);
        assert_eq!((dropped(&roles), roles.counts().owned), (vec![(0, 5)], 1));
        script(&mut roles, [(fenced(&[]), vec![])]);
        assert_eq!((dropped(&roles), roles.is_fenced()), (vec![], false), "the service has heard it");
    }
}

#[test]
fn a_stop_that_hangs_is_cut_off_and_its_claim_ends_with_that() {
    let mut roles = owning_two(owner);
    script(
        &mut roles,
        [
            (change([(0, releasing("h"))]), vec![call(0, Call::Drain)]),
            (fenced(&[(0, 5)]), vec![RoleAction::Cancel(p(0))]),
            (fenced(&[(0, 5)]), vec![]),
        ],
    );
    assert_eq!(dropped(&roles), []);
    script(&mut roles, [(ended(0, Err("cut off")), vec![call(0, Call::Lost)]), (ended(0, Ok(())), vec![])]);
    assert_eq!(dropped(&roles), [(0, 5)]);
}

#[test]
fn a_stop_that_failed_is_not_waited_for() {
    let mut roles = owning_two(strict_owner);
    script(
        &mut roles,
        [
            (change([(0, releasing("h"))]), vec![call(0, Call::Drain)]),
            (ended(0, Err("disk full")), vec![]),
            (fenced(&[(0, 5)]), vec![call(0, Call::Lost)]),
        ],
    );
    assert_eq!(roles.next_wake(), None, "the drain is not tried again");
}

#[test]
fn a_start_under_a_fenced_grant_is_cut_off() {
    let mut roles = Roles::new(8);
    roles.step(T0, change([(0, strict_owner(5, 5, ""))]));
    script(
        &mut roles,
        [
            (ended(0, Ok(())), vec![strictly_assigned(0, 5, None, false)]),
            (fenced(&[(0, 5)]), vec![RoleAction::Cancel(p(0))]),
        ],
    );
}

#[test]
fn a_stream_that_tells_of_a_fenced_grant_is_not_believed_and_one_of_a_later_one_is() {
    let mut roles = owning_two(owner);
    roles.step(T0, fenced(&[(0, 5)]));
    roles.step(T0, ended(0, Ok(())));
    roles.step(T0, fenced(&[]));
    script(
        &mut roles,
        [
            (change([(0, owner(5, 5, ""))]), vec![RoleAction::Forget(p(0))]),
            (change([(0, owner(6, 6, ""))]), vec![direct_warm(0, 6)]),
        ],
    );
}

#[test]
fn a_fence_of_an_earlier_grant_takes_nothing() {
    let mut roles = owning_two(owner);
    roles.step(T0, change([(0, owner(7, 7, ""))]));
    script(&mut roles, [(fenced(&[(0, 5)]), vec![])]);
    assert_eq!(dropped(&roles), [(0, 5)], "nothing acts under it");
}

#[test]
fn a_new_session_is_fenced_of_nothing() {
    let mut roles = owning_two(owner);
    roles.step(T0, fenced(&[(0, 5)]));
    roles.step(T0, RoleEvent::SessionLost);
    assert!(!roles.is_fenced());
}
