//! Topics that are deleted and created again while something is held of them.

use super::*;

fn id(byte: u8) -> Option<TopicId> {
    TopicId::new([byte; 16])
}

/// A machine in which partition 0 of the topic 7 is owned under epoch 5 of run 5.
fn owning_of_seven() -> Roles {
    let mut roles = owning();
    script(&mut roles, [(change([(0, of_topic(7, owner(5, 5, "")))]), vec![])]);
    assert_eq!(roles.topic_id(&p(0)), id(7), "an id is learnt in silence");
    roles
}

#[test]
fn an_owner_in_overlap_drops_what_it_has_before_it_begins_with_another_topic() {
    let mut roles = owning_of_seven();
    script(
        &mut roles,
        [
            (change([(0, of_topic(8, owner(9, 9, "")))]), vec![call(0, Call::Lost)]),
            (ended(0, Ok(())), vec![direct_warm(0, 9)]),
        ],
    );
    assert_eq!(roles.topic_id(&p(0)), id(8));
    script(&mut roles, [(ended(0, Ok(())), vec![assigned_call(0, 9)]), (ended(0, Ok(())), vec![])]);
    assert_eq!(roles.counts().owned, 1);
}

#[test]
fn an_owner_in_the_same_run_goes_on_while_an_id_is_the_same_or_not_known() {
    for same in [owner(9, 5, ""), of_topic(7, owner(9, 5, ""))] {
        let mut roles = owning_of_seven();
        script(&mut roles, [(change([(0, same)]), vec![goes_on(0, 9)])]);
        assert_eq!(roles.topic_id(&p(0)), id(7), "a known id stays");
    }
}

#[test]
fn what_was_prepared_for_another_topic_is_not_used() {
    let mut roles = Roles::new(8);
    let end = time_passes();
    script(
        &mut roles,
        [
            (change([(0, of_topic(7, warming("h")))]), vec![warm_call(0, "h")]),
            (ended(0, Ok(())), vec![]),
            (change([(0, of_topic(8, owner(9, 9, "h")))]), vec![call(0, Call::Release)]),
            (end, vec![]),
        ],
    );
    assert!(acks(&roles).is_empty(), "nothing is told of what is dropped");
    let provenance = Provenance::Handoff("h".into());
    let warm = Call::Warm { provenance, current_owner: None, start: None };
    script(
        &mut roles,
        [(ended(0, Ok(())), vec![call(0, warm)]), (ended(0, Ok(())), vec![assigned_call(0, 9)])],
    );
}

#[test]
fn a_preparation_or_a_start_for_another_topic_is_cut_short() {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, of_topic(7, warming("h")))]), vec![warm_call(0, "h")]),
            (change([(0, of_topic(8, catching_up("h", 9, None)))]), vec![RoleAction::Cancel(p(0))]),
            (ended(0, Err("cancelled")), vec![call(0, Call::Release)]),
        ],
    );
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, of_topic(7, owner(5, 5, "")))]), vec![direct_warm(0, 5)]),
            (ended(0, Ok(())), vec![assigned_call(0, 5)]),
            (change([(0, of_topic(8, owner(9, 9, "")))]), vec![RoleAction::Cancel(p(0))]),
            (ended(0, Ok(())), vec![call(0, Call::Lost)]),
            (ended(0, Ok(())), vec![direct_warm(0, 9)]),
        ],
    );
}
