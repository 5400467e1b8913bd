//! The readers of one watch, without a store.

use kafka_assigner_types::kv::{LeaseId, Record};

use super::*;

fn deletion(key: &'static str, revision: u64) -> Change {
    Change::Delete { key: key.into(), revision: Revision(revision) }
}

fn batch(changes: Vec<Change>, revision: u64) -> WatchBatch {
    WatchBatch { changes, revision: Revision(revision) }
}

/// Readers that have begun after revision 10.
fn begun() -> WatchReaders {
    let mut readers = WatchReaders::default();
    readers.begin(Revision(10));
    readers
}

/// A reader that wants to know how far the watch is.
fn progress(readers: &mut WatchReaders, prefix: Bytes, from: Revision) -> Result<Items, Error> {
    readers.add(prefix, from, Interest::Progress)
}

fn next(items: &mut Items) -> Option<WatchBatch> {
    items.try_recv().ok().map(|item| item.expect("no error"))
}

#[test]
fn each_reader_gets_what_is_under_its_prefix() {
    let mut readers = begun();
    let mut first = progress(&mut readers, "a/".into(), Revision(11)).unwrap();
    let mut second = progress(&mut readers, "b/".into(), Revision(11)).unwrap();
    let mut of_a_key = progress(&mut readers, "a/leader".into(), Revision(11)).unwrap();
    readers.take(&batch(vec![deletion("a/leader", 11), deletion("c/1", 11), deletion("a/1", 12)], 12));
    assert_eq!(next(&mut first), Some(batch(vec![deletion("a/leader", 11), deletion("a/1", 12)], 12)));
    assert_eq!(next(&mut of_a_key), Some(batch(vec![deletion("a/leader", 11)], 12)));
    assert_eq!(next(&mut second), None, "nobody wakes it for what it does not read");
}

#[test]
fn a_reader_that_begins_after_a_listing_misses_nothing_and_gets_nothing_twice() {
    let mut readers = begun();
    readers.take(&batch(vec![deletion("a/1", 11), deletion("a/2", 12), deletion("a/3", 13)], 13));
    let mut late = progress(&mut readers, "a/".into(), Revision(13)).unwrap();
    assert_eq!(next(&mut late), Some(batch(vec![deletion("a/3", 13)], 13)));
    // Its listing has seen more than the watch.
    let mut early = progress(&mut readers, "a/".into(), Revision(16)).unwrap();
    assert_eq!(next(&mut early), None);
    readers.take(&batch(vec![deletion("a/4", 15)], 15));
    assert_eq!(next(&mut early), None);
    readers.take(&batch(vec![deletion("a/5", 16)], 16));
    assert_eq!(next(&mut early), Some(batch(vec![deletion("a/5", 16)], 16)));
    let error = progress(&mut readers, "a/".into(), Revision(10)).unwrap_err();
    assert!(matches!(error, Error::Compacted { asked: Revision(10), oldest: Revision(11) }), "{error:?}");
}

#[test]
fn nobody_reads_before_the_beginning() {
    let mut readers = WatchReaders::default();
    assert!(matches!(progress(&mut readers, "a/".into(), Revision(5)), Err(Error::Unavailable { .. })));
}

#[test]
fn a_quiet_reader_learns_how_far_the_watch_is_when_somebody_waits() {
    let mut readers = begun();
    let mut items = progress(&mut readers, "a/".into(), Revision(11)).unwrap();
    assert!(readers.want(b"a/", Revision(12)), "the store has to be asked");
    readers.take(&batch(vec![deletion("b/1", 11)], 11));
    assert_eq!((next(&mut items), readers.most_wanted()), (Some(batch(Vec::new(), 11)), Some(Revision(12))));
    readers.take(&batch(vec![deletion("b/1", 13)], 13));
    assert_eq!((next(&mut items), readers.most_wanted()), (Some(batch(Vec::new(), 13)), None));
    readers.take(&batch(vec![deletion("b/1", 14)], 14));
    assert_eq!(next(&mut items), None, "nobody waits any more");
    assert!(!readers.want(b"a/", Revision(14)), "it is known already");
    assert_eq!(next(&mut items), Some(batch(Vec::new(), 14)));
    assert!(!readers.want(b"other/", Revision(14)));
}

#[test]
fn whoever_wants_less_does_not_wait_for_those_who_want_more() {
    let mut readers = begun();
    let mut items = progress(&mut readers, "a/".into(), Revision(11)).unwrap();
    assert!(readers.want(b"a/", Revision(12)) && readers.want(b"a/", Revision(20)));
    readers.take(&batch(vec![deletion("b/1", 13)], 13));
    assert_eq!((next(&mut items), readers.most_wanted()), (Some(batch(Vec::new(), 13)), Some(Revision(20))));
    readers.take(&batch(vec![deletion("b/1", 20)], 20));
    assert_eq!((next(&mut items), readers.most_wanted()), (Some(batch(Vec::new(), 20)), None));
}

#[test]
fn a_full_reader_that_waits_is_told_once_it_has_room() {
    let mut readers = begun();
    let mut items = progress(&mut readers, "a/".into(), Revision(11)).unwrap();
    let last = 10 + u64::try_from(ROOM).unwrap();
    for revision in 11..last {
        readers.take(&batch(vec![deletion("a/1", revision)], revision));
    }
    readers.want(b"a/", Revision(last));
    readers.take(&batch(vec![deletion("b/1", last)], last));
    while next(&mut items).is_some() {}
    readers.take(&batch(vec![deletion("b/1", last + 1)], last + 1));
    assert_eq!(next(&mut items), Some(batch(Vec::new(), last + 1)));
}

#[test]
fn every_reader_is_told_now_and_then_and_those_that_are_gone_are_forgotten() {
    let mut readers = begun();
    let mut items = progress(&mut readers, "a/".into(), Revision(11)).unwrap();
    drop(progress(&mut readers, "b/".into(), Revision(11)).unwrap());
    readers.take(&batch(Vec::new(), 20));
    assert_eq!(next(&mut items), None);
    readers.tell_all();
    readers.tell_all();
    assert_eq!((next(&mut items), next(&mut items)), (Some(batch(Vec::new(), 20)), None));
    assert_eq!(readers.readers.len(), 1);
}

#[test]
fn a_reader_that_falls_behind_is_ended_and_stops_nobody() {
    let mut readers = begun();
    let mut slow = progress(&mut readers, "a/".into(), Revision(11)).unwrap();
    let mut other = progress(&mut readers, "a/".into(), Revision(11)).unwrap();
    let rounds = u64::try_from(ROOM).unwrap();
    for revision in 11..11 + rounds {
        readers.take(&batch(vec![deletion("a/1", revision)], revision));
        assert!(next(&mut other).is_some());
    }
    for _ in 1..ROOM {
        assert!(next(&mut slow).is_some());
    }
    let last = slow.try_recv().unwrap();
    assert!(matches!(last, Err(Error::Unavailable { .. })), "{last:?}");
    assert!(slow.try_recv().is_err(), "it has ended");
    assert_eq!(readers.readers.len(), 1);
}

#[test]
fn all_readers_end_where_the_watch_has_missed_something() {
    let mut readers = begun();
    let mut items = progress(&mut readers, "a/".into(), Revision(11)).unwrap();
    readers.end_all(|| Error::NoSpace);
    assert!(matches!(items.try_recv().unwrap(), Err(Error::NoSpace)));
    readers.begin(Revision(30));
    let record = Record {
        key: "a/1".into(),
        value: Bytes::new(),
        create_revision: Revision(31),
        mod_revision: Revision(31),
        lease: LeaseId::NONE,
    };
    let mut anew = progress(&mut readers, "a/".into(), Revision(31)).unwrap();
    readers.take(&batch(vec![Change::Put(record.clone())], 31));
    assert_eq!(next(&mut anew), Some(batch(vec![Change::Put(record)], 31)));
    assert!(items.try_recv().is_err());
}

#[test]
fn a_reader_of_changes_alone_is_not_woken_where_there_are_none() {
    let mut readers = begun();
    let mut view = progress(&mut readers, "a/".into(), Revision(11)).unwrap();
    let mut candidate = readers.add("a/leader".into(), Revision(11), Interest::Changes).unwrap();
    readers.take(&batch(vec![deletion("b/1", 11)], 11));
    readers.tell_all();
    assert_eq!((next(&mut view), next(&mut candidate)), (Some(batch(Vec::new(), 11)), None));
    readers.take(&batch(vec![deletion("a/leader", 12)], 12));
    assert_eq!(next(&mut candidate), Some(batch(vec![deletion("a/leader", 12)], 12)));
}
