use super::*;

const T0: Moment = Moment(Duration::ZERO);

fn at(partition: u32) -> TopicPartition {
    TopicPartition::try_from(("t", partition)).expect("a valid name")
}

fn id(text: &str) -> HandoffId {
    HandoffId::new(text)
}

fn later(span: Duration) -> Moment {
    T0 + span
}

/// With partitions 0 and 1 held for handoff "h", and 0 drained and acknowledged.
fn sent() -> Drains {
    let mut drains = Drains::default();
    drains.begin(at(0), id("h"));
    drains.begin(at(1), id("h"));
    drains.drained(T0, &at(0), &id("h"));
    assert_eq!(drains.take_due(T0, 10), [(at(0), id("h"))]);
    drains
}

#[test]
fn h23_a_drain_that_never_ends_keeps_no_other_partition_waiting() {
    let mut drains = sent();
    assert_eq!(drains.take_due(later(REASSERT), 10), [], "partition 1 has requests on their way");
    drains.drained(T0, &at(1), &id("h"));
    assert_eq!(drains.take_due(T0, 10), [(at(1), id("h"))]);
}

#[test]
fn h27_an_acknowledgement_is_written_again_while_the_service_still_waits() {
    let mut drains = sent();
    for outcome in [AckOutcome::Applied, AckOutcome::Already, AckOutcome::Refused] {
        drains.answered(T0, (&at(0), &id("h")), Some(outcome), T0);
        assert_eq!(drains.next_wake(), Some(later(REASSERT)));
        assert_eq!(drains.take_due(later(REASSERT), 10), [(at(0), id("h"))]);
    }
}

#[test]
fn an_acknowledgement_is_repeated_until_a_definite_answer_came() {
    let mut drains = sent();
    let retry = later(Duration::from_millis(50));
    for outcome in [None, Some(AckOutcome::Undecided)] {
        drains.answered(T0, (&at(0), &id("h")), outcome, retry);
        assert_eq!(drains.next_wake(), Some(retry));
        assert_eq!(drains.take_due(retry, 10), [(at(0), id("h"))]);
    }
    drains.answered(T0, (&at(0), &id("h")), Some(AckOutcome::Over), retry);
    assert_eq!(drains.next_wake(), None);
}

#[test]
fn h31_a_new_stream_has_everything_acknowledged_again() {
    let mut drains = sent();
    drains.repeat_all(T0);
    // The answer of the stream before must not put the repetition off.
    drains.answered(T0, (&at(0), &id("h")), Some(AckOutcome::Applied), T0);
    assert_eq!(drains.take_due(T0, 10), [(at(0), id("h"))], "and partition 1 is not drained");
}

// F16 and F20: an acknowledgement belongs to one attempt.
#[test]
fn a_late_drain_counts_for_no_other_handoff() {
    let mut drains = sent();
    drains.begin(at(1), id("next"));
    drains.drained(T0, &at(1), &id("h"));
    assert_eq!(drains.take_due(T0, 10), []);
    drains.answered(T0, (&at(1), &id("h")), Some(AckOutcome::Over), T0);
    drains.drained(T0, &at(1), &id("next"));
    assert_eq!(drains.take_due(T0, 10), [(at(1), id("next"))]);
}

#[test]
fn what_is_not_held_any_more_is_not_acknowledged() {
    let mut drains = sent();
    drains.drained(T0, &at(1), &id("h"));
    drains.end(&at(1));
    assert_eq!(drains.take_due(T0, 10), []);
}

#[test]
fn a_batch_has_a_bound() {
    let mut drains = sent();
    drains.drained(T0, &at(1), &id("h"));
    drains.repeat_all(T0);
    assert_eq!(drains.take_due(T0, 1).len(), 1);
    assert_eq!(drains.take_due(T0, 1).len(), 1);
    assert_eq!(drains.take_due(T0, 1).len(), 0);
}
