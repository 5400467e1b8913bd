//! Bad notes that the verdict must find.

use super::*;
use crate::scenario::edges::report::POISON_SKIP;

/// Two partitions with ten records each; ids are ten times the partition, and the offset.
fn truth() -> Truth {
    let mut truth = Truth::default();
    truth.add((0..2).map(|of| (of, (0..10).map(|at| (at, id(of, at))).collect())).collect());
    truth
}

fn id(partition: u32, offset: i64) -> u64 {
    u64::from(partition) * 10 + offset.unsigned_abs()
}

fn note(deed: EdgeDeed) -> EdgeNote {
    EdgeNote { process: "a#1".to_owned(), at: 1, deed }
}

/// The notes of an owner that reads a partition from `first` on, and handles what comes from `start` on.
fn owner(partition: u32, first: i64, start: i64) -> Vec<EdgeNote> {
    let mut state = EdgeState::default();
    let handled = (first..10).filter_map(|offset| {
        state.count(offset);
        state.digest(id(partition, offset));
        let deed = EdgeDeed::Handled { partition, offset, id: id(partition, offset), state };
        (offset >= start).then(|| note(deed))
    });
    handled.collect()
}

fn all() -> Vec<EdgeNote> {
    [owner(0, 0, 0), owner(1, 0, 0)].concat()
}

fn judged(truth: &Truth, notes: &[EdgeNote]) -> EdgeCase {
    truth.judge(POISON_SKIP, notes, &BTreeSet::new())
}

#[test]
fn what_was_handled_once_with_the_right_state_is_right() {
    let case = judged(&truth(), &all());
    assert_eq!(case, EdgeCase::named(POISON_SKIP));
    assert_eq!(truth().missing(&all()), 0);
}

#[test]
fn a_record_that_nobody_handled_is_lost_and_the_state_behind_it_wrong() {
    let mut notes = all();
    notes.remove(4);
    assert_eq!((judged(&truth(), &notes).lost, truth().missing(&notes)), (1, 1));
    // One whose owner has passed over it: its states lack it from there on.
    let mut notes = owner(1, 0, 0);
    let mut state = EdgeState::default();
    for offset in [0, 1, 2, 4, 5] {
        state.count(offset);
        state.digest(id(0, offset));
        notes.push(note(EdgeDeed::Handled { partition: 0, offset, id: id(0, offset), state }));
    }
    let case = judged(&truth(), &notes);
    assert_eq!((case.lost, case.state_mismatches), (5, 2));
}

#[test]
fn a_record_that_is_handled_twice_or_was_never_there_is_found() {
    let notes = [all(), owner(0, 0, 8)].concat();
    assert_eq!(judged(&truth(), &notes).duplicated, 2);
    let state = EdgeState::default();
    let stranger = note(EdgeDeed::Handled { partition: 0, offset: 10, id: 99, state });
    let case = judged(&truth(), &[all(), vec![stranger]].concat());
    assert_eq!((case.strangers, case.state_mismatches), (1, 1));
}

#[test]
fn a_state_that_was_changed_twice_by_one_record_is_wrong() {
    let mut notes = all();
    for note in &mut notes[3..5] {
        if let EdgeDeed::Handled { state, .. } = &mut note.deed {
            state.count += 1;
        }
    }
    assert_eq!(judged(&truth(), &notes).state_mismatches, 2);
}

#[test]
fn a_gap_counts_only_where_it_was_told_and_a_state_begins_only_where_a_log_did() {
    let mut truth = truth();
    let rest = [owner(0, 0, 0), owner(1, 7, 7)].concat();
    let case = judged(&truth, &rest);
    assert_eq!((case.lost, case.gaps_told, case.state_mismatches), (7, 0, 3), "no log begins at 7");
    truth.begins_at(7);
    let told = note(EdgeDeed::Gap { partition: 1, from: 2, to: 7 });
    let case = judged(&truth, &[rest, vec![told]].concat());
    assert_eq!((case.lost, case.gaps_told, case.state_mismatches), (2, 5, 0));
}

#[test]
fn a_poisoned_record_is_lost_unless_it_was_counted_as_skipped_or_has_a_letter() {
    let mut truth = truth();
    let place = (0, 4);
    assert_eq!(truth.poison(place), Some(4));
    let mut notes = all();
    notes.remove(4);
    assert_eq!((judged(&truth, &notes).lost, truth.missing(&notes)), (1, 0));
    let case = truth.judge(POISON_SKIP, &notes, &BTreeSet::from([place]));
    assert_eq!((case.lost, case.dead_lettered), (0, 1));
    notes.push(note(EdgeDeed::Counted { skipped: 1, standing: 0 }));
    let case = judged(&truth, &notes);
    assert_eq!((case.lost, case.skipped), (0, 1));
    truth.heal();
    assert_eq!((judged(&truth, &notes).lost, truth.missing(&notes)), (1, 1));
}
