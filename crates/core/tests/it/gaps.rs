//! The gap of a move stays with the assignment that it made.

use kafka_assigner_core::ack::{Ack, Drained};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::lab::{Lab, tp};
use kafka_assigner_core::record::{GroupConfig, Phase, Taken};
use kafka_assigner_types::id::Member;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::WallMillis;

/// `t/1` is on its way from `a` to `b`, who is to begin with it.
fn complete(mode: Mode, last_at: Option<WallMillis>) -> (Lab, Member, Member) {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    lab.configure(&GroupConfig { mode, ..GroupConfig::default() });
    let a = lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    say(&mut lab, &b, &Ack::Ready);
    while lab.state.handoff(&tp("t", 1)).unwrap().phase < Phase::Draining {
        assert!(!lab.pass().is_empty());
    }
    if mode.is_strict() {
        say(&mut lab, &a, &Ack::Drained(Drained { offset: None, last_at }));
    }
    (lab, a, b)
}

fn say(lab: &mut Lab, member: &Member, ack: &Ack) {
    let id = lab.state.handoff(&tp("t", 1)).unwrap().id.clone();
    lab.say(member, &tp("t", 1), Some(&id), ack);
}

fn first_at(at: u64) -> Ack {
    Ack::Taken(Taken { first_offset: None, first_at: Some(WallMillis(at)) })
}

fn gap(lab: &Lab) -> Option<u64> {
    lab.state.assignment(&tp("t", 1)).unwrap().gap_ms
}

/// The gap of a move in `overlap` of which the new owner tells `first` and the old one `last`.
fn gap_in_overlap(first: &Ack, last_at: Option<WallMillis>) -> Option<u64> {
    let (mut lab, a, b) = complete(Mode::Overlap, None);
    say(&mut lab, &b, first);
    assert_eq!(gap(&lab), None, "the old owner still works");
    say(&mut lab, &a, &Ack::Released { last_at });
    assert!(lab.state.handoffs().is_empty());
    gap(&lab)
}

#[test]
fn in_overlap_the_gap_is_known_with_the_old_owners_last_word() {
    assert_eq!(gap_in_overlap(&first_at(1_012), Some(WallMillis(1_000))), Some(12));
    assert_eq!(gap_in_overlap(&first_at(1_012), Some(WallMillis(1_500))), Some(0), "they overlapped");
}

#[test]
fn in_the_strict_modes_the_gap_is_known_with_the_new_owners_first_word() {
    let (mut lab, a, b) = complete(Mode::Exclusive, Some(WallMillis(1_000)));
    say(&mut lab, &b, &first_at(1_020));
    assert_eq!(gap(&lab), Some(20));
    say(&mut lab, &a, &Ack::Released { last_at: Some(WallMillis(1_010)) });
    assert_eq!(gap(&lab), Some(20), "what it let go of is no work");
    assert!(lab.state.handoffs().is_empty());
}

#[test]
fn a_gap_of_which_one_edge_was_not_told_is_not_known() {
    assert_eq!(gap_in_overlap(&first_at(1_012), None), None);
    assert_eq!(gap_in_overlap(&Ack::Taken(Taken::default()), Some(WallMillis(1_000))), None);
    let (mut lab, _, b) = complete(Mode::Exclusive, None);
    say(&mut lab, &b, &first_at(1_020));
    assert_eq!(gap(&lab), None);
}

#[test]
fn of_partitions_that_move_as_one_no_gap_is_told() {
    let mut lab = Lab::with_topics(&[]);
    lab.configure(&GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() });
    ["t", "u"].iter().for_each(|name| lab.topic_in_set(name, 2, "s"));
    let a = lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    let both = [tp("t", 1), tp("u", 1)];
    let id = lab.state.handoff(&both[0]).unwrap().id.clone();
    for at in &both {
        lab.say(&b, at, Some(&id), &Ack::Ready);
    }
    while lab.state.handoff(&both[0]).unwrap().phase < Phase::Draining {
        assert!(!lab.pass().is_empty());
    }
    for (at, last_at) in both.iter().zip([1_000, 1_900]) {
        let drained = Drained { offset: None, last_at: Some(WallMillis(last_at)) };
        lab.say(&a, at, Some(&id), &Ack::Drained(drained));
    }
    for at in &both {
        lab.say(&b, at, Some(&id), &first_at(2_000));
    }
    let gaps = both.map(|at| lab.state.assignment(&at).unwrap().gap_ms);
    assert_eq!(gaps, [None, None], "1 000 and 100 would be right, and only one of the two is known");
}

#[test]
fn the_gap_of_a_move_goes_with_the_next_grant() {
    let (mut lab, _, b) = complete(Mode::Exclusive, Some(WallMillis(1_000)));
    say(&mut lab, &b, &first_at(1_020));
    lab.settle();
    lab.crash("b");
    lab.settle();
    assert_eq!((lab.owner(&tp("t", 1)), gap(&lab)), (Some("a"), None));
}

#[test]
fn an_assignment_that_can_not_be_read_is_left_alone() {
    let (mut lab, a, b) = complete(Mode::Overlap, None);
    say(&mut lab, &b, &first_at(1_012));
    let key = Key::Assignment(tp("t", 1));
    lab.put(&key, r#"{"version":99}"#);
    say(&mut lab, &a, &Ack::Released { last_at: Some(WallMillis(1_000)) });
    assert!(lab.state.handoffs().is_empty());
    let record = lab.shelf.get(&lab.state.layout().encode(&key)).unwrap();
    assert_eq!(&record.value[..], br#"{"version":99}"#);
}
