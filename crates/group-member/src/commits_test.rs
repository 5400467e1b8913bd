//! Commits are of what is owned, one at a time, and rise.

use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn partition(number: u32) -> TopicPartition {
    TopicPartition::try_from(("t", number)).unwrap()
}

fn offset(number: i64) -> Offset {
    Offset::new(number).unwrap()
}

fn as_member(generation: i32) -> Option<Membership> {
    Some(Membership { member_id: "m".to_owned(), generation, instance: None })
}

fn at(millis: u64) -> Moment {
    Moment(Duration::from_millis(millis))
}

/// A ledger that owns partition 0 from offset 10, of which 10 to 19 are handed out.
fn ledger() -> CommitLedger {
    let mut ledger = CommitLedger::default();
    ledger.speak_as(as_member(1));
    ledger.own(partition(0), offset(10));
    assert!(ledger.hand_out(&partition(0), offset(19)));
    ledger
}

fn all_with(commit: &OffsetCommit, error: KafkaError) -> BTreeMap<TopicPartition, KafkaError> {
    commit.offsets.keys().map(|partition| (partition.clone(), error)).collect()
}

#[test]
fn what_is_done_is_committed_once() {
    let mut ledger = ledger();
    assert_eq!(ledger.serve(at(0)), None, "nothing is done");
    ledger.done(&partition(0), offset(14)).unwrap();
    let commit = ledger.serve(at(0)).unwrap();
    assert_eq!(commit.offsets, [(partition(0), offset(15))].into());
    ledger.done(&partition(0), offset(16)).unwrap();
    assert_eq!(ledger.serve(at(0)), None, "one is under way");
    assert_eq!(
        ledger.answered(commit.number, Ok(&all_with(&commit, KafkaError::NONE)), at(1)),
        Reaction::Done
    );
    let commit = ledger.serve(at(1)).unwrap();
    assert_eq!(commit.offsets, [(partition(0), offset(17))].into());
    ledger.answered(commit.number, Ok(&all_with(&commit, KafkaError::NONE)), at(2));
    assert!(ledger.is_settled() && ledger.serve(at(2)).is_none());
}

#[test]
fn a_partition_that_is_lost_has_nothing_to_commit() {
    let mut ledger = ledger();
    ledger.done(&partition(0), offset(14)).unwrap();
    let commit = ledger.serve(at(0)).unwrap();
    ledger.disown(&[partition(0)].into());
    assert_eq!(ledger.done(&partition(0), offset(15)), Err(RefusedCommit::NotOwned));
    assert!(!ledger.hand_out(&partition(0), offset(30)));
    // It comes back, and the answer to the commit before says nothing of it.
    ledger.own(partition(0), offset(12));
    assert_eq!(
        ledger.answered(commit.number, Ok(&all_with(&commit, KafkaError::NONE)), at(1)),
        Reaction::Done
    );
    ledger.hand_out(&partition(0), offset(12));
    ledger.done(&partition(0), offset(12)).unwrap();
    assert_eq!(ledger.serve(at(1)).unwrap().offsets, [(partition(0), offset(13))].into());
}

#[test]
fn only_what_was_handed_out_can_be_done() {
    let mut ledger = ledger();
    assert_eq!(ledger.done(&partition(0), offset(20)), Err(RefusedCommit::NotHandedOut));
    assert_eq!(ledger.done(&partition(0), offset(9)), Err(RefusedCommit::NotHandedOut));
    assert_eq!(ledger.done(&partition(1), offset(10)), Err(RefusedCommit::NotOwned));
    ledger.done(&partition(0), offset(18)).unwrap();
    ledger.done(&partition(0), offset(11)).unwrap();
    assert_eq!(ledger.serve(at(0)).unwrap().offsets, [(partition(0), offset(19))].into());
}

#[test]
fn a_seek_is_the_way_back_and_outlives_answers_from_before() {
    let mut ledger = ledger();
    ledger.done(&partition(0), offset(18)).unwrap();
    let commit = ledger.serve(at(0)).unwrap();
    ledger.seek(&partition(0), offset(3)).unwrap();
    assert_eq!(ledger.done(&partition(0), offset(18)), Err(RefusedCommit::NotHandedOut));
    ledger.answered(commit.number, Ok(&all_with(&commit, KafkaError::NONE)), at(1));
    assert_eq!(ledger.serve(at(1)), None, "a seek commits nothing");
    ledger.hand_out(&partition(0), offset(5));
    ledger.done(&partition(0), offset(4)).unwrap();
    assert_eq!(ledger.serve(at(1)).unwrap().offsets, [(partition(0), offset(5))].into());
}

#[test]
fn a_position_that_no_commit_says_is_committed_itself() {
    let mut ledger = CommitLedger::default();
    ledger.speak_as(as_member(1));
    ledger.commit_position(&partition(0));
    ledger.own(partition(0), offset(10));
    assert!(ledger.is_settled(), "it is known");
    ledger.commit_position(&partition(0));
    assert!(!ledger.has_settled(&[partition(0)].into()));
    let commit = ledger.serve(at(0)).unwrap();
    assert_eq!(commit.offsets, [(partition(0), offset(10))].into());
    ledger.answered(commit.number, Ok(&all_with(&commit, KafkaError::NONE)), at(0));
    assert!(ledger.is_settled());
}

#[test]
fn nothing_is_committed_while_no_membership_may() {
    let mut ledger = ledger();
    ledger.done(&partition(0), offset(14)).unwrap();
    ledger.speak_as(None);
    assert_eq!((ledger.serve(at(0)), ledger.next_step()), (None, None));
    ledger.speak_as(as_member(2));
    assert_eq!(ledger.serve(at(0)).unwrap().membership.generation, 2);
}

#[test]
fn errors_ask_for_what_helps_but_only_of_todays_member() {
    let cases = [
        (KafkaError::LOADING, Reaction::Retry),
        (KafkaError::NOT_COORDINATOR, Reaction::FindCoordinator),
        (KafkaError::REBALANCING, Reaction::Rejoin),
        (KafkaError::ILLEGAL_GENERATION, Reaction::ForgetGeneration),
        (KafkaError::UNKNOWN_MEMBER, Reaction::ForgetMember),
        (KafkaError(12), Reaction::Fail),
    ];
    for (error, expected) in cases {
        let mut ledger = ledger();
        ledger.done(&partition(0), offset(14)).unwrap();
        let commit = ledger.serve(at(0)).unwrap();
        let mut later = ledger.clone();
        assert_eq!(ledger.answered(commit.number, Ok(&all_with(&commit, error)), at(0)), expected);
        assert_eq!(ledger.serve(at(50)), None, "not at once");
        assert_eq!(ledger.serve(at(100)).is_some(), expected != Reaction::Fail, "{error:?}");
        later.speak_as(as_member(2));
        assert_eq!(later.answered(commit.number, Ok(&all_with(&commit, error)), at(0)), Reaction::Done);
    }
}

#[test]
fn a_partition_that_the_answer_leaves_out_is_not_committed() {
    let mut ledger = ledger();
    ledger.done(&partition(0), offset(14)).unwrap();
    let commit = ledger.serve(at(0)).unwrap();
    assert_eq!(ledger.answered(commit.number, Ok(&BTreeMap::new()), at(0)), Reaction::Retry);
    assert!(ledger.serve(at(100)).is_some());
}

#[derive(Debug, Clone)]
enum Step {
    Own(u32, i64),
    Disown(u32),
    HandOut(u32, i64),
    Done(u32, i64),
    Seek(u32, i64),
    Speak(Option<i32>),
    Serve,
    Answer(i16),
    Silence,
}

fn steps() -> impl Strategy<Value = Step> {
    let (number, at) = (0..3_u32, 0..50_i64);
    prop_oneof![
        2 => (number.clone(), at.clone()).prop_map(|(number, at)| Step::Own(number, at)),
        1 => number.clone().prop_map(Step::Disown),
        4 => (number.clone(), at.clone()).prop_map(|(number, at)| Step::HandOut(number, at)),
        4 => (number.clone(), at.clone()).prop_map(|(number, at)| Step::Done(number, at)),
        1 => (number, at).prop_map(|(number, at)| Step::Seek(number, at)),
        1 => proptest::option::weighted(0.8, 0..4).prop_map(Step::Speak),
        4 => Just(Step::Serve),
        3 => prop_oneof![Just(0), Just(0), Just(14), Just(27), Just(22), Just(12)].prop_map(Step::Answer),
        1 => Just(Step::Silence),
    ]
}

proptest! {
    #[test]
    fn commits_rise_and_are_of_what_is_owned(steps in proptest::collection::vec(steps(), 1..200)) {
        let (mut ledger, mut owned, mut sent) = (CommitLedger::default(), BTreeSet::new(), BTreeMap::new());
        let (mut under_way, mut now): (Option<OffsetCommit>, u64) = (None, 0);
        for step in steps {
            now += 2000;
            match step {
                Step::Own(number, from) => {
                    if owned.insert(number) {
                        sent.remove(&partition(number));
                    }
                    ledger.own(partition(number), offset(from));
                }
                Step::Disown(number) => {
                    owned.remove(&number);
                    ledger.disown(&[partition(number)].into());
                }
                Step::HandOut(number, last) => {
                    prop_assert_eq!(ledger.hand_out(&partition(number), offset(last)), owned.contains(&number));
                }
                Step::Done(number, last) => {
                    let refused = ledger.done(&partition(number), offset(last)) == Err(RefusedCommit::NotOwned);
                    prop_assert_eq!(refused, !owned.contains(&number));
                }
                Step::Seek(number, to) => {
                    if ledger.seek(&partition(number), offset(to)).is_ok() {
                        sent.remove(&partition(number));
                    }
                }
                Step::Speak(generation) => ledger.speak_as(generation.and_then(as_member)),
                Step::Serve => {
                    if let Some(commit) = ledger.serve(at(now)) {
                        prop_assert!(under_way.is_none(), "two at once");
                        for (partition, offset) in &commit.offsets {
                            prop_assert!(owned.contains(&partition.partition), "{:?} is not owned", partition);
                            let before = sent.insert(partition.clone(), *offset);
                            prop_assert!(before.is_none_or(|before| before <= *offset), "{:?} went back", partition);
                        }
                        under_way = Some(commit);
                    }
                }
                Step::Answer(error) => {
                    if let Some(commit) = under_way.take() {
                        ledger.answered(commit.number, Ok(&all_with(&commit, KafkaError(error))), at(now));
                    }
                }
                Step::Silence => {
                    if let Some(commit) = under_way.take() {
                        ledger.answered(commit.number, Err(AnswerFailure), at(now));
                    }
                }
            }
        }
    }
}

#[test]
fn partitions_settle_each_for_themselves() {
    let mut ledger = ledger();
    ledger.own(partition(1), offset(0));
    ledger.hand_out(&partition(1), offset(9));
    let (one, both) = ([partition(0)].into(), [partition(0), partition(1)].into());
    assert!(ledger.has_settled(&both));
    ledger.done(&partition(0), offset(14)).unwrap();
    assert!(!ledger.has_settled(&one), "it is to be committed");
    let commit = ledger.serve(at(0)).unwrap();
    ledger.done(&partition(1), offset(3)).unwrap();
    assert!(!ledger.has_settled(&one), "the commit is under way");
    ledger.answered(commit.number, Ok(&all_with(&commit, KafkaError::NONE)), at(1));
    assert!(ledger.has_settled(&one) && !ledger.has_settled(&both));
}
