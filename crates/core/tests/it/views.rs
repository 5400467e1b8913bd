//! The view of a member follows from the records (I9).

use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_core::view::{ConsumerView, Role};

#[test]
fn a_difference_is_what_changed_and_nothing_else() {
    let mut group = TestGroup::with_topics(&[("t", 3)]);
    let a = group.join("a");
    group.settle();
    let before = group.view(&a);
    group.join("b");
    group.settle();
    let after = group.view(&a);
    let difference = before.difference(&after);
    assert!(difference.roles.is_empty());
    assert_eq!(difference.ended.keys().collect::<Vec<_>>(), [&tp("t", 2)]);
    assert!(after.difference(&group.view(&a)).is_empty());
    assert_eq!(ConsumerView::default().difference(&after).roles, after.roles);
}

#[test]
fn another_epoch_is_another_role() {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    let a = group.join("a");
    group.settle();
    let old = group.view(&a).roles[&tp("t", 0)].clone();
    let again = group.join("a");
    group.settle();
    let new = group.view(&again).roles[&tp("t", 0)].clone();
    assert!(matches!((&old, &new), (Role::Owner { .. }, Role::Owner { .. })));
    assert!(!old.is_same(&new) && new.is_same(&new));
}
