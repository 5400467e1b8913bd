//! Positions are looked up once, follow seeks, and end with the ownership.

use std::time::Duration;

use super::*;

fn partition(number: u32) -> TopicPartition {
    TopicPartition::try_from(("t", number)).unwrap()
}

fn offset(number: i64) -> Offset {
    Offset::new(number).unwrap()
}

fn at(millis: u64) -> Moment {
    Moment(Duration::from_millis(millis))
}

fn reader(policy: ResetPolicy, partitions: u32) -> AssignmentReader {
    let mut reader = AssignmentReader::new(policy);
    reader.start((0..partitions).map(partition));
    reader
}

/// The one question among the commands.
fn question(commands: &[ReadCommand]) -> (RequestNumber, Vec<u32>, OffsetSource) {
    let [ReadCommand::Ask { number, partitions, source }] = commands else { panic!("{commands:?}") };
    (*number, partitions.iter().map(|partition| partition.partition).collect(), *source)
}

type Words = BTreeMap<TopicPartition, Result<Option<Offset>, KafkaError>>;

fn words(words: &[(u32, Result<Option<i64>, i16>)]) -> Words {
    let word = |word: &Result<Option<i64>, i16>| word.map(|found| found.map(offset)).map_err(KafkaError);
    words.iter().map(|(number, told)| (partition(*number), word(told))).collect()
}

/// The positions from which partitions begin, among the commands.
fn begun(commands: &[ReadCommand]) -> Vec<(u32, i64)> {
    let begun = commands.iter().filter_map(|command| match command {
        ReadCommand::Read { partition, position, .. } => Some((partition.partition, position.offset.get())),
        _ => None,
    });
    begun.collect()
}

#[test]
fn committed_offsets_are_asked_for_together_and_read_from() {
    let mut reader = reader(ResetPolicy::Earliest, 2);
    let (number, partitions, source) = question(&reader.serve(at(0)));
    assert_eq!((partitions, source), (vec![0, 1], OffsetSource::Committed));
    assert_eq!(reader.serve(at(1)), [], "one question at a time");
    reader.answered(number, Ok(&words(&[(0, Ok(Some(7))), (1, Ok(Some(0)))])), at(2));
    assert_eq!(begun(&reader.serve(at(2))), [(0, 7), (1, 0)]);
    assert_eq!(reader.serve(at(3)), []);
    assert_eq!(reader.position(&partition(0)), Some(offset(7)));
}

#[test]
fn only_no_offset_and_one_that_is_out_of_range_are_answered_by_the_policy() {
    let mut reader = reader(ResetPolicy::Latest, 3);
    let (number, ..) = question(&reader.serve(at(0)));
    // None; an error that passes; one that the answer leaves out.
    reader.answered(number, Ok(&words(&[(0, Ok(None)), (1, Err(14))])), at(0));
    assert_eq!(reader.serve(at(50)), [], "after a wait");
    let commands = reader.serve(at(100));
    let (committed, latest) = (question(&commands[..1]), question(&commands[1..]));
    assert_eq!((committed.1, committed.2), (vec![1, 2], OffsetSource::Committed));
    assert_eq!((latest.1, latest.2), (vec![0], OffsetSource::Latest));
    reader.answered(committed.0, Ok(&words(&[(1, Ok(Some(5))), (2, Ok(Some(6)))])), at(100));
    reader.answered(latest.0, Ok(&words(&[(0, Ok(Some(99)))])), at(100));
    assert_eq!(begun(&reader.serve(at(100))), [(0, 99), (1, 5), (2, 6)]);
}

#[test]
fn only_a_position_of_the_policy_is_to_be_committed() {
    let is_chosen = |commands: &[ReadCommand]| match commands {
        [.., ReadCommand::Read { is_chosen, .. }] => Some(*is_chosen),
        _ => None,
    };
    let mut reader = reader(ResetPolicy::Latest, 1);
    let (number, ..) = question(&reader.serve(at(0)));
    reader.answered(number, Ok(&words(&[(0, Ok(Some(7)))])), at(0));
    let commands = reader.serve(at(0));
    assert_eq!(is_chosen(&commands), Some(false), "it was committed");
    let [ReadCommand::Read { position, .. }] = commands[..] else { panic!() };
    reader.out_of_range(&partition(0), position.version);
    let (number, _, source) = question(&reader.serve(at(0))[1..]);
    assert_eq!(source, OffsetSource::Latest);
    let mut sought = reader.clone();
    reader.answered(number, Ok(&words(&[(0, Ok(Some(99)))])), at(0));
    assert_eq!(is_chosen(&reader.serve(at(0))), Some(true));
    reader.pause(&partition(0));
    reader.resume(&partition(0));
    assert_eq!(is_chosen(&reader.serve(at(0))), Some(false), "once");
    sought.seek(&partition(0), offset(3));
    assert_eq!(is_chosen(&sought.serve(at(0))), Some(false), "a seek commits nothing");
}

#[test]
fn an_end_that_cannot_be_told_is_never_zero() {
    let mut reader = reader(ResetPolicy::Earliest, 1);
    let (number, ..) = question(&reader.serve(at(0)));
    reader.answered(number, Ok(&words(&[(0, Ok(None))])), at(0));
    let (number, _, source) = question(&reader.serve(at(0)));
    assert_eq!(source, OffsetSource::Earliest);
    reader.answered(number, Ok(&words(&[(0, Ok(None))])), at(0));
    let (_, partitions, source) = question(&reader.serve(at(100)));
    assert_eq!((partitions, source), (vec![0], OffsetSource::Earliest));
}

#[test]
fn an_error_that_does_not_pass_is_told_and_the_partition_left() {
    let mut reader = reader(ResetPolicy::Earliest, 1);
    let (number, ..) = question(&reader.serve(at(0)));
    reader.answered(number, Ok(&words(&[(0, Err(29))])), at(0));
    assert_eq!(reader.serve(at(0)), [ReadCommand::Refuse(partition(0), KafkaError(29))]);
    assert_eq!((reader.serve(at(9999)), reader.next_step()), (Vec::new(), None));
    assert!(reader.seek(&partition(0), offset(3)), "the application may choose");
    assert_eq!(begun(&reader.serve(at(9999))), [(0, 3)]);
}

#[test]
fn an_error_that_nobody_knows_is_asked_about_again() {
    let mut reader = reader(ResetPolicy::Earliest, 1);
    let (number, ..) = question(&reader.serve(at(0)));
    reader.answered(number, Ok(&words(&[(0, Err(-1))])), at(0));
    let (_, partitions, source) = question(&reader.serve(at(100)));
    assert_eq!((partitions, source), (vec![0], OffsetSource::Committed));
}

#[test]
fn who_refuses_to_guess_tells_the_application() {
    let mut reader = reader(ResetPolicy::Refuse, 1);
    let (number, ..) = question(&reader.serve(at(0)));
    reader.answered(number, Ok(&words(&[(0, Ok(None))])), at(0));
    assert_eq!(reader.serve(at(0)), [ReadCommand::Refuse(partition(0), KafkaError(1))]);
}

#[test]
fn a_seek_while_an_offset_is_looked_up_stands() {
    let mut reader = reader(ResetPolicy::Earliest, 1);
    let (number, ..) = question(&reader.serve(at(0)));
    assert!(reader.seek(&partition(0), offset(42)));
    reader.answered(number, Ok(&words(&[(0, Ok(Some(7)))])), at(0));
    assert_eq!(begun(&reader.serve(at(0))), [(0, 42)]);
    assert_eq!(reader.position(&partition(0)), Some(offset(42)));
}

#[test]
fn a_partition_that_went_and_came_takes_no_answer_from_before() {
    let mut reader = reader(ResetPolicy::Earliest, 1);
    let (number, ..) = question(&reader.serve(at(0)));
    reader.stop(&[partition(0)].into());
    reader.start([partition(0)]);
    reader.answered(number, Ok(&words(&[(0, Ok(Some(7)))])), at(0));
    let (_, partitions, source) = question(&reader.serve(at(0)));
    assert_eq!((partitions, source), (vec![0], OffsetSource::Committed));
}

#[test]
fn records_of_a_position_that_was_left_are_of_no_interest() {
    let mut reader = reader(ResetPolicy::Earliest, 1);
    reader.seek(&partition(0), offset(10));
    let [ReadCommand::Read { position: first, .. }] = reader.serve(at(0))[..] else { panic!() };
    assert!(reader.advance(&partition(0), first.version, offset(15)));
    reader.seek(&partition(0), offset(3));
    assert!(!reader.advance(&partition(0), first.version, offset(20)));
    reader.out_of_range(&partition(0), first.version);
    let commands = reader.serve(at(0));
    assert_eq!(commands[0], ReadCommand::Stop(partition(0)));
    assert_eq!(begun(&commands), [(0, 3)]);
    reader.stop(&[partition(0)].into());
    assert_eq!(reader.serve(at(0)), [ReadCommand::Stop(partition(0))]);
    assert!(!reader.advance(&partition(0), first.version, offset(20)));
}

#[test]
fn a_pause_stays_while_the_partition_does_and_goes_with_it() {
    let mut reader = reader(ResetPolicy::Earliest, 1);
    reader.seek(&partition(0), offset(10));
    let [ReadCommand::Read { position, .. }] = reader.serve(at(0))[..] else { panic!() };
    reader.advance(&partition(0), position.version, offset(15));
    assert!(reader.resume(&partition(0)));
    assert_eq!(reader.serve(at(0)), [], "to resume what runs is nothing");
    assert!(reader.pause(&partition(0)));
    assert_eq!(reader.serve(at(0)), [ReadCommand::Stop(partition(0))]);
    reader.start([partition(0)]);
    assert_eq!(reader.serve(at(0)), [], "it is paused still");
    assert!(reader.resume(&partition(0)));
    assert_eq!(begun(&reader.serve(at(0))), [(0, 15)]);
    reader.pause(&partition(0));
    reader.stop(&[partition(0)].into());
    reader.start([partition(0)]);
    reader.seek(&partition(0), offset(1));
    assert_eq!(begun(&reader.serve(at(0))), [(0, 1)], "it came back without its pause");
}
