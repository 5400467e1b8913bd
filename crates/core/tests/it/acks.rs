//! An ack counts for the handoff, the phase, the consumer and the session that it names, and for nothing else (I8).

use kafka_assigner_core::ack::{Ack, Verdict};
use kafka_assigner_core::record::{Phase, Taken};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_types::id::{HandoffId, Member};

fn moving() -> (TestGroup, Member, Member, HandoffId) {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    let id = group.state.handoff(&tp("t", 1)).unwrap().id.clone();
    (group, a, b, id)
}

fn phase(group: &TestGroup) -> Option<Phase> {
    Some(group.state.handoff(&tp("t", 1))?.phase)
}

#[test]
fn an_ack_of_an_earlier_attempt_changes_nothing() {
    let (mut group, _, _, first) = moving();
    group.crash("b");
    group.settle();
    let b = group.join("b");
    group.pass();
    assert_eq!(group.say(&b, &tp("t", 1), Some(&first), &Ack::Ready), Verdict::Over);
    assert_eq!(phase(&group), Some(Phase::Warming));
}

#[test]
fn an_ack_of_an_earlier_session_changes_nothing() {
    let (mut group, _, b, id) = moving();
    let again = group.join("b");
    for speaker in [&b, &again] {
        assert!(matches!(group.say(speaker, &tp("t", 1), Some(&id), &Ack::Ready), Verdict::Refused { .. }));
    }
    assert_eq!(phase(&group), Some(Phase::Warming));
}

#[test]
fn only_the_party_that_is_asked_can_answer() {
    let (mut group, a, b, id) = moving();
    let c = group.join("c");
    for (speaker, ack) in [
        (&a, Ack::Ready),
        (&c, Ack::Ready),
        (&b, Ack::Released { last_at: None }),
        (&c, Ack::Released { last_at: None }),
    ] {
        let verdict = group.say(speaker, &tp("t", 1), Some(&id), &ack);
        assert!(matches!(verdict, Verdict::Refused { .. }), "{verdict:?}");
    }
    assert_eq!(phase(&group), Some(Phase::Warming));
}

#[test]
fn what_comes_too_early_is_refused_and_what_is_repeated_is_welcome() {
    let (mut group, a, b, id) = moving();
    let taken = Ack::Taken(Taken::default());
    let at = tp("t", 1);
    let say = |group: &mut TestGroup, who: &Member, ack: &Ack| group.say(who, &at, Some(&id), ack);
    assert!(matches!(say(&mut group, &b, &taken), Verdict::Refused { .. }));
    assert!(matches!(say(&mut group, &a, &Ack::Released { last_at: None }), Verdict::Refused { .. }));
    assert!(matches!(say(&mut group, &b, &Ack::Ready), Verdict::Record { .. }));
    assert_eq!(say(&mut group, &b, &Ack::Ready), Verdict::Already);
    group.pass();
    assert_eq!(say(&mut group, &b, &Ack::Ready), Verdict::Already);
    // The old owner lets go only after the new one works.
    assert!(matches!(say(&mut group, &a, &Ack::Released { last_at: None }), Verdict::Refused { .. }));
    assert!(matches!(say(&mut group, &b, &taken), Verdict::Record { .. }));
    assert_eq!(say(&mut group, &b, &taken), Verdict::Already);
    assert!(matches!(say(&mut group, &a, &Ack::Released { last_at: None }), Verdict::Record { .. }));
    assert_eq!(say(&mut group, &a, &Ack::Released { last_at: None }), Verdict::Over);
    assert_eq!(phase(&group), None);
}

#[test]
fn an_ack_that_was_judged_before_the_handoff_was_replaced_does_not_apply() {
    let (mut group, _, b, id) = moving();
    let mut late = group.clone();
    let Verdict::Record { write, .. } = late.say(&b, &tp("t", 1), Some(&id), &Ack::Ready) else { panic!() };
    group.crash("b");
    group.settle();
    group.join("b");
    group.pass();
    let before = group.store.clone();
    assert!(!group.apply(&write.unfenced()));
    assert_eq!(group.store, before);
}

#[test]
fn an_ack_without_an_id_counts_for_the_handoff_that_concerns_the_caller() {
    let (mut group, a, b, _) = moving();
    assert!(matches!(group.say(&a, &tp("t", 1), None, &Ack::Ready), Verdict::Refused { .. }));
    assert!(matches!(group.say(&b, &tp("t", 1), None, &Ack::Ready), Verdict::Record { .. }));
    assert_eq!(group.say(&b, &tp("t", 0), None, &Ack::Ready), Verdict::Over);
}

#[test]
fn a_failure_is_said_once_and_only_before_the_switch() {
    let (mut group, _, b, id) = moving();
    let failed = Ack::WarmFailed { reason: "no disk".to_owned() };
    assert!(matches!(group.say(&b, &tp("t", 1), Some(&id), &failed), Verdict::Record { .. }));
    assert_eq!(group.say(&b, &tp("t", 1), Some(&id), &failed), Verdict::Already);
    let (mut group, _, b, id) = moving();
    group.say(&b, &tp("t", 1), Some(&id), &Ack::Ready);
    group.pass();
    assert_eq!(group.say(&b, &tp("t", 1), Some(&id), &failed), Verdict::Over);
}
