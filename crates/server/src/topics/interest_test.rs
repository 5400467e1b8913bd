//! Names of several leaders, and the words on them.

use std::time::Duration;

use futures::FutureExt as _;

use super::*;

fn names(names: &[&str]) -> BTreeSet<TopicName> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn found(topics: &[(&str, u32)]) -> Found {
    topics.iter().map(|(name, count)| (name.parse().unwrap(), Some(TopicLook::new(*count)))).collect()
}

fn at(seconds: u64) -> Moment {
    Moment(Duration::from_secs(seconds))
}

#[test]
fn the_union_is_asked_for_and_each_hears_of_its_own() {
    let board = TopicBoard::new();
    let (mut one, mut other) = (board.interest(), board.interest());
    one.want(names(&["a", "b"]));
    other.want(names(&["b", "c"]));
    assert_eq!(board.wanted(), names(&["a", "b", "c"]));
    assert_eq!(board.until_unasked().now_or_never(), Some(names(&["a", "b", "c"])));
    board.ask(&board.wanted());
    assert_eq!(board.until_unasked().now_or_never(), None);
    assert_eq!(one.news().now_or_never(), None);
    board.take_in(found(&[("a", 1), ("b", 2), ("c", 3)]), at(1));
    assert_eq!(one.news().now_or_never().unwrap()[&at(1)], found(&[("a", 1), ("b", 2)]));
    assert_eq!(other.news().now_or_never().unwrap()[&at(1)], found(&[("b", 2), ("c", 3)]));
    assert_eq!(one.news().now_or_never(), None, "nothing is told twice");
}

#[test]
fn what_others_asked_for_is_told_at_once() {
    let board = TopicBoard::new();
    let (mut one, mut other) = (board.interest(), board.interest());
    one.want(names(&["a"]));
    board.ask(&names(&["a"]));
    board.take_in(found(&[("a", 1)]), at(1));
    other.want(names(&["a"]));
    assert_eq!(board.unasked(), names(&[]));
    assert_eq!(other.news().now_or_never().unwrap()[&at(1)], found(&[("a", 1)]));
}

#[test]
fn words_of_two_looks_keep_their_moments() {
    let board = TopicBoard::new();
    let mut interest = board.interest();
    interest.want(names(&["a", "b"]));
    board.take_in(found(&[("a", 1)]), at(1));
    board.take_in(found(&[("b", 2)]), at(2));
    let news = interest.news().now_or_never().unwrap();
    assert_eq!(news.keys().collect::<Vec<_>>(), [&at(1), &at(2)]);
    board.take_in(found(&[("a", 1)]), at(3));
    assert_eq!(interest.news().now_or_never().unwrap()[&at(3)], found(&[("a", 1)]));
}

#[test]
fn of_the_looks_that_are_wanted_sooner_the_earliest_is_told_once() {
    let board = TopicBoard::new();
    let (one, other) = (board.interest(), board.interest());
    assert_eq!(board.until_hasty().now_or_never(), None);
    for (interest, seconds) in [(&one, 5), (&other, 3), (&one, 4)] {
        interest.look_from(at(seconds));
    }
    assert_eq!(board.until_hasty().now_or_never(), Some(at(3)));
    assert_eq!(board.until_hasty().now_or_never(), None);
}

#[test]
fn names_that_nobody_wants_are_forgotten() {
    let board = TopicBoard::new();
    let mut interest = board.interest();
    interest.want(names(&["a"]));
    board.ask(&names(&["a"]));
    board.take_in(found(&[("a", 1)]), at(1));
    drop(interest);
    assert_eq!(board.wanted(), names(&[]));
    let mut later = board.interest();
    later.want(names(&["a"]));
    assert_eq!(board.unasked(), names(&["a"]), "it is asked for anew");
    assert_eq!(later.news().now_or_never(), None);
}
