//! The gap of a move stays with the assignment that it made.

use kafka_assigner_core::ack::{Ack, Drained};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{GroupConfig, Phase, Taken};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_types::id::Member;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::WallMillis;

/// `t/1` is on its way from `a` to `b`, who is to begin with it.
fn complete(mode: Mode, last_at: Option<WallMillis>) -> (TestGroup, Member, Member) {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.configure(&GroupConfig { mode, ..GroupConfig::default() });
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    say(&mut group, &b, &Ack::Ready);
    while group.state.handoff(&tp("t", 1)).unwrap().phase < Phase::Draining {
        assert!(!group.pass().is_empty());
    }
    if mode.is_strict() {
        say(&mut group, &a, &Ack::Drained(Drained { offset: None, last_at }));
    }
    (group, a, b)
}

fn say(group: &mut TestGroup, member: &Member, ack: &Ack) {
    let id = group.state.handoff(&tp("t", 1)).unwrap().id.clone();
    group.say(member, &tp("t", 1), Some(&id), ack);
}

fn first_at(at: u64) -> Ack {
    Ack::Taken(Taken { first_at: Some(WallMillis(at)), ..Taken::default() })
}

fn gap(group: &TestGroup) -> Option<u64> {
    group.state.assignment(&tp("t", 1)).unwrap().gap_ms
}

/// The gap of a move in `overlap` of which the new owner tells `first` and the old one `last`.
fn gap_in_overlap(first: &Ack, last_at: Option<WallMillis>) -> Option<u64> {
    let (mut group, a, b) = complete(Mode::Overlap, None);
    say(&mut group, &b, first);
    assert_eq!(gap(&group), None, "the old owner still works");
    say(&mut group, &a, &Ack::Released { last_at });
    assert!(group.state.handoffs().is_empty());
    gap(&group)
}

#[test]
fn in_overlap_the_gap_is_known_with_the_old_owners_last_word() {
    assert_eq!(gap_in_overlap(&first_at(1_012), Some(WallMillis(1_000))), Some(12));
    assert_eq!(gap_in_overlap(&first_at(1_012), Some(WallMillis(1_500))), Some(0), "they overlapped");
}

#[test]
fn in_the_strict_modes_the_gap_is_known_with_the_new_owners_first_word() {
    let (mut group, a, b) = complete(Mode::Exclusive, Some(WallMillis(1_000)));
    say(&mut group, &b, &first_at(1_020));
    assert_eq!(gap(&group), Some(20));
    say(&mut group, &a, &Ack::Released { last_at: Some(WallMillis(1_010)) });
    assert_eq!(gap(&group), Some(20), "what it let go of is no work");
    assert!(group.state.handoffs().is_empty());
}

#[test]
fn a_gap_of_which_one_edge_was_not_told_is_not_known() {
    assert_eq!(gap_in_overlap(&first_at(1_012), None), None);
    assert_eq!(gap_in_overlap(&Ack::Taken(Taken::default()), Some(WallMillis(1_000))), None);
    let (mut group, _, b) = complete(Mode::Exclusive, None);
    say(&mut group, &b, &first_at(1_020));
    assert_eq!(gap(&group), None);
}

#[test]
fn of_partitions_that_move_as_one_no_gap_is_told() {
    let mut group = TestGroup::with_topics(&[]);
    group.configure(&GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() });
    ["t", "u"].iter().for_each(|name| group.topic_in_set(name, 2, "s"));
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    let both = [tp("t", 1), tp("u", 1)];
    let id = group.state.handoff(&both[0]).unwrap().id.clone();
    for at in &both {
        group.say(&b, at, Some(&id), &Ack::Ready);
    }
    while group.state.handoff(&both[0]).unwrap().phase < Phase::Draining {
        assert!(!group.pass().is_empty());
    }
    for (at, last_at) in both.iter().zip([1_000, 1_900]) {
        let drained = Drained { offset: None, last_at: Some(WallMillis(last_at)) };
        group.say(&a, at, Some(&id), &Ack::Drained(drained));
    }
    for at in &both {
        group.say(&b, at, Some(&id), &first_at(2_000));
    }
    let gaps = both.map(|at| group.state.assignment(&at).unwrap().gap_ms);
    assert_eq!(gaps, [None, None], "1 000 and 100 would be right, and only one of the two is known");
}

#[test]
fn the_gap_of_a_move_goes_with_the_next_grant() {
    let (mut group, _, b) = complete(Mode::Exclusive, Some(WallMillis(1_000)));
    say(&mut group, &b, &first_at(1_020));
    group.settle();
    group.crash("b");
    group.settle();
    assert_eq!((group.owner(&tp("t", 1)), gap(&group)), (Some("a"), None));
}

#[test]
fn an_assignment_that_can_not_be_read_is_left_alone() {
    let (mut group, a, b) = complete(Mode::Overlap, None);
    say(&mut group, &b, &first_at(1_012));
    let key = Key::Assignment(tp("t", 1));
    group.put(&key, r#"{"version":99}"#);
    say(&mut group, &a, &Ack::Released { last_at: Some(WallMillis(1_000)) });
    assert!(group.state.handoffs().is_empty());
    let record = group.store.get(&group.state.layout().encode(&key)).unwrap();
    assert_eq!(&record.value[..], br#"{"version":99}"#);
}
