//! An ack counts for the handoff, the phase, the consumer and the session that it names, and for nothing else (I8).

use kafka_assigner_core::ack::{Ack, Verdict};
use kafka_assigner_core::lab::{Lab, tp};
use kafka_assigner_core::record::{Phase, Taken};
use kafka_assigner_types::id::{HandoffId, Member};

fn moving() -> (Lab, Member, Member, HandoffId) {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    let a = lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    let id = lab.state.handoff(&tp("t", 1)).unwrap().id.clone();
    (lab, a, b, id)
}

fn phase(lab: &Lab) -> Option<Phase> {
    Some(lab.state.handoff(&tp("t", 1))?.phase)
}

#[test]
fn an_ack_of_an_earlier_attempt_changes_nothing() {
    let (mut lab, _, _, first) = moving();
    lab.crash("b");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    assert_eq!(lab.say(&b, &tp("t", 1), Some(&first), &Ack::Ready), Verdict::Over);
    assert_eq!(phase(&lab), Some(Phase::Warming));
}

#[test]
fn an_ack_of_an_earlier_session_changes_nothing() {
    let (mut lab, _, b, id) = moving();
    let again = lab.join("b");
    for speaker in [&b, &again] {
        assert!(matches!(lab.say(speaker, &tp("t", 1), Some(&id), &Ack::Ready), Verdict::Refused { .. }));
    }
    assert_eq!(phase(&lab), Some(Phase::Warming));
}

#[test]
fn only_the_party_that_is_asked_can_answer() {
    let (mut lab, a, b, id) = moving();
    let c = lab.join("c");
    for (speaker, ack) in [
        (&a, Ack::Ready),
        (&c, Ack::Ready),
        (&b, Ack::Released { last_at: None }),
        (&c, Ack::Released { last_at: None }),
    ] {
        let verdict = lab.say(speaker, &tp("t", 1), Some(&id), &ack);
        assert!(matches!(verdict, Verdict::Refused { .. }), "{verdict:?}");
    }
    assert_eq!(phase(&lab), Some(Phase::Warming));
}

#[test]
fn what_comes_too_early_is_refused_and_what_is_repeated_is_welcome() {
    let (mut lab, a, b, id) = moving();
    let taken = Ack::Taken(Taken::default());
    let at = tp("t", 1);
    let say = |lab: &mut Lab, who: &Member, ack: &Ack| lab.say(who, &at, Some(&id), ack);
    assert!(matches!(say(&mut lab, &b, &taken), Verdict::Refused { .. }));
    assert!(matches!(say(&mut lab, &a, &Ack::Released { last_at: None }), Verdict::Refused { .. }));
    assert!(matches!(say(&mut lab, &b, &Ack::Ready), Verdict::Record { .. }));
    assert_eq!(say(&mut lab, &b, &Ack::Ready), Verdict::Already);
    lab.pass();
    assert_eq!(say(&mut lab, &b, &Ack::Ready), Verdict::Already);
    // The old owner lets go only after the new one works.
    assert!(matches!(say(&mut lab, &a, &Ack::Released { last_at: None }), Verdict::Refused { .. }));
    assert!(matches!(say(&mut lab, &b, &taken), Verdict::Record { .. }));
    assert_eq!(say(&mut lab, &b, &taken), Verdict::Already);
    assert!(matches!(say(&mut lab, &a, &Ack::Released { last_at: None }), Verdict::Record { .. }));
    assert_eq!(say(&mut lab, &a, &Ack::Released { last_at: None }), Verdict::Over);
    assert_eq!(phase(&lab), None);
}

#[test]
fn an_ack_that_was_judged_before_the_handoff_was_replaced_does_not_apply() {
    let (mut lab, _, b, id) = moving();
    let mut late = lab.clone();
    let Verdict::Record { write, .. } = late.say(&b, &tp("t", 1), Some(&id), &Ack::Ready) else { panic!() };
    lab.crash("b");
    lab.settle();
    lab.join("b");
    lab.pass();
    let before = lab.shelf.clone();
    assert!(!lab.apply(&write.unfenced()));
    assert_eq!(lab.shelf, before);
}

#[test]
fn an_ack_without_an_id_counts_for_the_handoff_that_concerns_the_caller() {
    let (mut lab, a, b, _) = moving();
    assert!(matches!(lab.say(&a, &tp("t", 1), None, &Ack::Ready), Verdict::Refused { .. }));
    assert!(matches!(lab.say(&b, &tp("t", 1), None, &Ack::Ready), Verdict::Record { .. }));
    assert_eq!(lab.say(&b, &tp("t", 0), None, &Ack::Ready), Verdict::Over);
}

#[test]
fn a_failure_is_said_once_and_only_before_the_switch() {
    let (mut lab, _, b, id) = moving();
    let failed = Ack::WarmFailed { reason: "no disk".to_owned() };
    assert!(matches!(lab.say(&b, &tp("t", 1), Some(&id), &failed), Verdict::Record { .. }));
    assert_eq!(lab.say(&b, &tp("t", 1), Some(&id), &failed), Verdict::Already);
    let (mut lab, _, b, id) = moving();
    lab.say(&b, &tp("t", 1), Some(&id), &Ack::Ready);
    lab.pass();
    assert_eq!(lab.say(&b, &tp("t", 1), Some(&id), &failed), Verdict::Over);
}
