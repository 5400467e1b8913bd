use super::*;

const A: Who = Who { name: 0, process: 0 };
const B: Who = Who { name: 1, process: 1 };
const C: Who = Who { name: 2, process: 2 };

/// The records of partition 0 that `by` handled: pairs of an offset and a time in milliseconds.
fn by(by: Who, handled: &[(i64, u64)]) -> Vec<Handled> {
    of_partition(0, by, handled)
}

fn of_partition(partition: i32, by: Who, handled: &[(i64, u64)]) -> Vec<Handled> {
    let record = |(offset, at): &(i64, u64)| Handled { at: at * 1_000, partition, offset: *offset, by };
    handled.iter().map(record).collect()
}

/// A record each 10 ms, the offset being the time.
fn steadily(by: Who, offsets: std::ops::Range<i64>) -> Vec<Handled> {
    let record = |offset: i64| (offset, u64::try_from(offset).unwrap() * 10);
    self::by(by, &offsets.map(record).collect::<Vec<_>>())
}

fn step(at: u64, until: u64) -> Step {
    Step { at: at * 1_000, until: until * 1_000 }
}

fn figures(handled: &[Vec<Handled>], end: i64, steps: &[Step]) -> Figures {
    Audit::of(handled.concat(), &BTreeMap::from([(0, end), (1, end)])).of_event(steps)
}

#[test]
fn a_gap_runs_from_the_last_record_of_the_old_owner_to_the_first_of_the_new_one() {
    let handled = [steadily(A, 0..100), by(B, &[(100, 2_500), (101, 2_501)])];
    let figures = figures(&handled, 102, &[step(900, 3_000)]);
    assert_eq!((figures.moved, figures.moves, figures.most_moves), (1, 1, 1));
    assert_eq!((figures.gaps.p50, figures.gaps.p99, figures.gaps.max), (1_510.0, 1_510.0, 1_510.0));
    assert_eq!((figures.first_records.p50, figures.first_records.max), (1_600.0, 1_600.0));
    assert_eq!((figures.duplicated, figures.lost, figures.stalls.count), (0, 0, 0));
    assert_eq!(figures.unowned, Duration::from_millis(1_510));
}

#[test]
fn owners_that_overlap_leave_no_gap_however_their_records_alternate() {
    let new = by(B, &[(95, 951), (96, 959), (97, 971), (98, 979), (99, 991), (100, 1_000), (101, 1_010)]);
    let figures = figures(&[steadily(A, 0..100), new], 102, &[step(900, 2_000)]);
    assert_eq!((figures.moved, figures.moves), (1, 1));
    assert_eq!((figures.gaps.max, figures.first_records.max), (0.0, 51.0));
    assert_eq!((figures.duplicated, figures.lost), (5, 0));
    assert_eq!(figures.unowned, Duration::ZERO);
}

#[test]
fn a_partition_that_comes_back_has_moved_twice() {
    let handled = [steadily(A, 0..50), steadily(B, 50..60), steadily(A, 60..100)];
    let figures = figures(&handled, 100, &[step(400, 2_000)]);
    assert_eq!((figures.moved, figures.moves, figures.most_moves), (1, 2, 2));
    assert_eq!(figures.gaps.max, 10.0);
}

#[test]
fn an_owner_that_goes_back_or_loses_records_is_the_same_owner() {
    let handled = [steadily(A, 0..50), by(A, &[(40, 600), (41, 601), (60, 602)])];
    let figures = figures(&handled, 61, &[step(400, 2_000)]);
    assert_eq!((figures.moved, figures.duplicated, figures.lost), (0, 2, 10));
    assert_eq!((figures.stalls.count, figures.stalls.max), (1, 110.0));
}

#[test]
fn who_comes_back_under_its_name_leaves_a_gap_and_moves_nothing() {
    let restarted = Who { process: 7, ..A };
    let handled = [steadily(A, 0..50), by(restarted, &[(50, 990), (51, 1_000)])];
    let figures = figures(&handled, 52, &[step(490, 2_000)]);
    assert_eq!((figures.moved, figures.moves, figures.stalls.count), (0, 0, 0));
    assert_eq!((figures.gaps.max, figures.first_records.max), (500.0, 500.0));
    assert_eq!(figures.unowned, Duration::from_millis(500));
}

#[test]
fn each_move_counts_from_the_step_that_led_to_it() {
    let handled = [steadily(A, 0..50), steadily(B, 50..80), steadily(C, 80..100)];
    let steps = [step(450, 700), step(750, 1_000)];
    let figures = figures(&handled, 100, &steps);
    assert_eq!((figures.moved, figures.moves), (1, 2));
    assert_eq!(figures.first_records.max, 50.0);
    let second = self::figures(&handled, 100, &steps[1..]);
    assert_eq!(second.moves, 1, "a move of another event does not count");
}

#[test]
fn what_did_not_move_is_told_by_its_longest_wait() {
    let still = of_partition(1, A, &[(0, 10), (1, 20), (2, 320), (3, 330)]);
    let figures = figures(&[steadily(A, 0..10), still], 4, &[step(0, 1_000)]);
    assert_eq!((figures.moved, figures.stalls.count), (0, 2));
    assert_eq!((figures.stalls.p50, figures.stalls.max), (10.0, 300.0));
    assert_eq!(figures.unowned, Duration::ZERO);
}

#[test]
fn what_nobody_handled_is_lost_where_the_next_record_was_handled() {
    let handled = [steadily(A, 5..50), by(B, &[(53, 800), (54, 810)])];
    let first = figures(&handled, 60, &[step(0, 700)]);
    assert_eq!(first.lost, 0, "records from before the first one are none");
    let second = figures(&handled, 60, &[step(700, 900)]);
    assert_eq!(second.lost, 3);
    let last = Step { at: 700_000, until: Micros::MAX };
    assert_eq!(
        figures(&handled, 60, &[last]).lost,
        8,
        "the last event answers for what is missing at the end"
    );
}

#[test]
fn a_record_counts_as_twice_once_for_each_further_time() {
    let again = |who, at| by(who, &[(48, at), (49, at + 1)]);
    let figures = figures(&[steadily(A, 0..50), again(B, 600), again(C, 700)], 50, &[step(500, 1_000)]);
    assert_eq!((figures.duplicated, figures.moves), (4, 2));
}

#[test]
fn nothing_at_all_comes_to_nothing() {
    assert_eq!(figures(&[], 0, &[step(0, 1_000)]), Figures::default());
}
