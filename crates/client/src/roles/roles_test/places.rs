//! Preparations that hang, and the places that others need.

use super::*;

fn seconds(number: u64) -> Moment {
    T0 + Duration::from_secs(number)
}

/// So much is done of each preparation.
fn seen(done: impl IntoIterator<Item = (u32, u64)>) -> RoleEvent {
    RoleEvent::PreparationsSeen(done.into_iter().map(|(number, done)| (p(number), done)).collect())
}

fn counts(roles: &Roles) -> (usize, usize) {
    let counts = roles.counts();
    (counts.warming, counts.stalled)
}

/// Two preparations that hang for 25 s, in all places that there are, and two more partitions that wait.
fn hanging() -> Roles {
    let mut roles = Roles::new(2);
    let actions = roles.step(T0, change((0..4).map(|number| (number, owner(5, 5, "")))));
    assert_eq!(actions, [direct_warm(0, 5), direct_warm(1, 5)]);
    for now in (5..30).step_by(5) {
        assert_eq!(roles.next_wake(), Some(seconds(now)));
        assert_eq!(roles.step(seconds(now), seen([(0, 0), (1, 0)])), []);
    }
    roles
}

#[test]
fn preparations_that_hang_in_all_places_keep_no_other_one_from_beginning() {
    let mut roles = hanging();
    let stalled = |number| RoleAction::Stalled(p(number));
    let expected = [stalled(0), stalled(1), direct_warm(2, 5), direct_warm(3, 5)];
    assert_eq!(roles.step(seconds(30), seen([(0, 0), (1, 0)])), expected);
    assert_eq!(counts(&roles), (4, 2));
    let told: Vec<_> = roles.unbegun().map(|(_, role)| (role.why, role.failure)).collect();
    let hangs = (UnbegunCause::Preparing, "it has made no progress for 30 s or longer");
    assert_eq!(told, [hangs, hangs, (UnbegunCause::Preparing, ""), (UnbegunCause::Preparing, "")]);
    assert_eq!(roles.step(seconds(35), seen([(0, 0), (1, 0), (2, 9), (3, 9)])), [], "each is told once");
    // They go on beside the others, and lead where they are to.
    assert_eq!(roles.step(seconds(36), ended(0, Ok(()))), [assigned_call(0, 5)]);
}

#[test]
fn a_preparation_that_moves_keeps_its_place() {
    let mut roles = hanging();
    let actions = roles.step(seconds(30), seen([(0, 1), (1, 0)]));
    assert_eq!(actions, [RoleAction::Stalled(p(1)), direct_warm(2, 5)]);
    for (now, done) in [(55, 1), (59, 2), (80, 2)] {
        assert_eq!(roles.step(seconds(now), seen([(0, done), (1, 0), (2, now)])), []);
    }
    assert_eq!(counts(&roles), (3, 1));
}

#[test]
fn a_preparation_that_moves_again_takes_a_place_again() {
    let mut roles = Roles::new(1);
    roles.step(T0, change((0..3).map(|number| (number, owner(5, 5, "")))));
    let actions = roles.step(seconds(30), seen([(0, 0)]));
    assert_eq!(actions, [RoleAction::Stalled(p(0)), direct_warm(1, 5)]);
    assert_eq!(roles.step(seconds(35), seen([(0, 1), (1, 1)])), []);
    assert_eq!(counts(&roles), (2, 0));
    assert_eq!(roles.step(seconds(36), ended(1, Ok(()))), [assigned_call(1, 5)], "its place is taken");
    assert_eq!(roles.step(seconds(37), ended(0, Ok(()))), [assigned_call(0, 5), direct_warm(2, 5)]);
}

#[test]
fn another_try_has_its_time_again() {
    let mut roles = Roles::new(1);
    roles.step(T0, change([(0, owner(5, 5, ""))]));
    roles.step(seconds(30), seen([(0, 0)]));
    assert_eq!(counts(&roles), (1, 1));
    roles.step(seconds(31), ended(0, Err("no disk")));
    assert_eq!(roles.step(seconds(60), time_passes()), [call(0, Call::Release)]);
    assert_eq!(roles.step(seconds(60), ended(0, Ok(()))), [direct_warm(0, 5)]);
    assert_eq!(roles.step(seconds(65), seen([(0, 0)])), []);
    assert_eq!(counts(&roles), (1, 0));
}

// Each needs its memory, and what keeps them from getting further may be the same for all.
#[test]
fn at_most_twice_as_many_are_prepared_as_there_are_places() {
    let mut roles = Roles::new(2);
    roles.step(T0, change((0..6).map(|number| (number, owner(5, 5, "")))));
    let stalled = |number| RoleAction::Stalled(p(number));
    let expected = [stalled(0), stalled(1), direct_warm(2, 5), direct_warm(3, 5)];
    assert_eq!(roles.step(seconds(30), seen([])), expected);
    assert_eq!(roles.step(seconds(60), seen([])), [stalled(2), stalled(3)]);
    assert_eq!(counts(&roles), (4, 4));
    assert_eq!(roles.step(seconds(61), ended(3, Ok(()))), [assigned_call(3, 5), direct_warm(4, 5)]);
}
