//! Reports of grants that have not begun.

use super::*;

fn told(roles: &Roles) -> Vec<(u32, UnbegunCause, &str)> {
    roles.unbegun().map(|(at, role)| (at.partition, role.why, role.failure)).collect()
}

#[test]
fn a_grant_is_not_begun_until_its_handler_has_begun() {
    let mut roles = Roles::new(1);
    roles.step(T0, change([(0, owner(7, 7, "")), (1, owner(8, 8, ""))]));
    assert_eq!(told(&roles), [(0, UnbegunCause::Preparing, ""), (1, UnbegunCause::Place, "")]);
    assert_eq!(roles.unbegun().map(|(_, role)| role.epoch.0).collect::<Vec<_>>(), [7, 8]);
    roles.step(T0, ended(0, Ok(())));
    assert_eq!(told(&roles), [(0, UnbegunCause::Starting, ""), (1, UnbegunCause::Preparing, "")]);
    roles.step(T0, ended(0, Ok(())));
    assert_eq!(told(&roles), [(1, UnbegunCause::Preparing, "")]);
    roles.step(T0, change([(0, draining("h", 7, None)), (1, ConsumerRole::None)]));
    assert_eq!(told(&roles), [], "neither is to be processed");
}

#[test]
fn a_grant_whose_calls_fail_is_told_as_such_until_one_succeeds() {
    let mut roles = Roles::new(1);
    roles.step(T0, change([(0, owner(7, 7, ""))]));
    roles.step(T0, ended(0, Err("no disk")));
    assert_eq!(told(&roles), [(0, UnbegunCause::Failing, "no disk")]);
    let later = T0 + Duration::from_secs(60);
    assert_eq!(roles.step(later, time_passes()), [RoleAction::Call(p(0), Call::Release)]);
    assert_eq!(told(&roles), [(0, UnbegunCause::Failing, "no disk")], "what was left of it is dropped");
    assert_eq!(roles.step(later, ended(0, Ok(()))), [direct_warm(0, 7)]);
    assert_eq!(told(&roles), [(0, UnbegunCause::Failing, "no disk")], "each try looks as the first one does");
    roles.step(later, ended(0, Ok(())));
    assert_eq!(told(&roles), [(0, UnbegunCause::Starting, "")]);
}

#[test]
fn a_strict_grant_waits_for_the_claim() {
    let mut roles = Roles::new(1);
    roles.step(T0, RoleEvent::ClaimLapsed);
    roles.step(T0, change([(0, strict_owner(7, 7, ""))]));
    roles.step(T0, ended(0, Ok(())));
    assert_eq!(told(&roles), [(0, UnbegunCause::Claim, "")]);
    roles.step(T0, RoleEvent::ClaimValid);
    assert_eq!(told(&roles), [(0, UnbegunCause::Starting, "")]);
}

#[test]
fn an_owner_that_is_lost_has_to_begin_again() {
    let mut roles = Roles::new(1);
    roles.step(T0, change([(0, owner(7, 7, ""))]));
    roles.step(T0, ended(0, Ok(())));
    roles.step(T0, ended(0, Ok(())));
    assert_eq!(told(&roles), []);
    roles.step(T0, RoleEvent::Spoiled(p(0)));
    assert_eq!(told(&roles), [(0, UnbegunCause::Clearing, "")]);
}

#[test]
fn a_preparation_that_hangs_after_one_that_failed_is_told_as_one_that_hangs() {
    let mut roles = Roles::new(1);
    roles.step(T0, change([(0, owner(7, 7, ""))]));
    roles.step(T0, ended(0, Err("no disk")));
    let later = T0 + Duration::from_secs(1);
    roles.step(later, time_passes());
    assert_eq!(roles.step(later, ended(0, Ok(()))), [direct_warm(0, 7)]);
    roles.step(later + Duration::from_secs(30), time_passes());
    assert_eq!(told(&roles), [(0, UnbegunCause::Preparing, "it has made no progress for 30 s or longer")]);
}
