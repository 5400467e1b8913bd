//! What a member is told follows from the records (I9).

use kafka_assigner_core::lab::{Lab, tp};
use kafka_assigner_core::view::{ConsumerView, Role};

#[test]
fn a_difference_is_what_changed_and_nothing_else() {
    let mut lab = Lab::with_topics(&[("t", 3)]);
    let a = lab.join("a");
    lab.settle();
    let before = lab.view(&a);
    lab.join("b");
    lab.settle();
    let after = lab.view(&a);
    let difference = before.difference(&after);
    assert!(difference.roles.is_empty());
    assert_eq!(difference.ended.keys().collect::<Vec<_>>(), [&tp("t", 2)]);
    assert!(after.difference(&lab.view(&a)).is_empty());
    assert_eq!(ConsumerView::default().difference(&after).roles, after.roles);
}

#[test]
fn another_epoch_is_another_role() {
    let mut lab = Lab::with_topics(&[("t", 1)]);
    let a = lab.join("a");
    lab.settle();
    let old = lab.view(&a).roles[&tp("t", 0)].clone();
    let again = lab.join("a");
    lab.settle();
    let new = lab.view(&again).roles[&tp("t", 0)].clone();
    assert!(matches!((&old, &new), (Role::Owner { .. }, Role::Owner { .. })));
    assert!(!old.is_same(&new) && new.is_same(&new));
}
