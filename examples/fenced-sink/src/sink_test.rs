use std::collections::BTreeMap;

use tempfile::TempDir;

use super::*;

/// A database, and what a process of its own would open.
struct Disk(TempDir);

impl Disk {
    fn new() -> Self {
        Self(TempDir::new().expect("room for a database"))
    }

    fn open(&self) -> Sink {
        Sink::open(&self.0.path().join("totals.db")).expect("a new database")
    }

    fn connection(&self) -> Connection {
        Connection::open(self.0.path().join("totals.db")).expect("it is there")
    }

    /// Records and bytes by key, of all partitions.
    fn totals(&self) -> BTreeMap<String, (u64, u64)> {
        let connection = self.connection();
        let mut rows = connection
            .prepare("SELECT key, sum(records), sum(bytes) FROM totals GROUP BY key")
            .expect("it is valid");
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, (row.get(1)?, row.get(2)?)));
        rows.query_map([], row).expect("readable").map(|row| row.expect("readable")).collect()
    }
}

fn orders() -> TopicPartition {
    TopicPartition::try_from(("orders", 3)).expect("a valid name")
}

fn effect(offset: i64, key: &str) -> Effect {
    Effect { offset, key: key.to_owned(), bytes: 10 }
}

fn totals<const N: usize>(expected: [(&str, (u64, u64)); N]) -> BTreeMap<String, (u64, u64)> {
    expected.map(|(key, totals)| (key.to_owned(), totals)).into()
}

fn is_fenced(result: &Result<Outcome, SinkError>, offered: u64, held: u64) -> bool {
    matches!(result, Err(SinkError::Fenced { offered: o, held: h }) if (*o, *h) == (offered, held))
}

#[test]
fn a_zombie_is_refused_from_the_moment_its_successor_takes_the_fence() {
    let disk = Disk::new();
    let (zombie, successor) = (disk.open(), disk.open());
    assert_eq!(zombie.apply(&orders(), 5, &effect(0, "a")).expect("it owns it"), Outcome::Applied);
    successor.take(&orders(), 6, None).expect("it owns it now");
    assert!(is_fenced(&zombie.apply(&orders(), 5, &effect(1, "a")), 5, 6));
    assert!(is_fenced(&zombie.apply(&orders(), 5, &effect(0, "a")), 5, 6), "a repetition gives it no right");
    assert!(matches!(zombie.take(&orders(), 5, None), Err(SinkError::Fenced { offered: 5, held: 6 })));
    assert_eq!(disk.totals(), totals([("a", (1, 10))]));
    assert_eq!(successor.position(&orders()).expect("readable").next_offset, 1);
}

#[test]
fn a_zombie_of_one_partition_may_own_another() {
    let sink = Disk::new();
    let sink = sink.open();
    sink.take(&orders(), 6, None).expect("nobody was there");
    let other = TopicPartition::try_from(("orders", 4)).expect("a valid name");
    assert_eq!(sink.apply(&other, 5, &effect(0, "a")).expect("its own fence"), Outcome::Applied);
}

#[test]
fn a_record_that_is_delivered_again_has_no_second_effect() {
    let disk = Disk::new();
    let sink = disk.open();
    for (key, outcome) in [("a", Outcome::Applied), ("a", Outcome::Repeated)] {
        assert_eq!(sink.apply(&orders(), 5, &effect(7, key)).expect("it owns it"), outcome);
    }
    // To another owner as well, and from an older position.
    assert_eq!(sink.apply(&orders(), 6, &effect(2, "a")).expect("it owns it"), Outcome::Repeated);
    assert_eq!(disk.totals(), totals([("a", (1, 10))]));
}

#[test]
fn a_new_owner_finds_the_offset_that_goes_with_the_totals() {
    let disk = Disk::new();
    let old = disk.open();
    assert_eq!(old.position(&orders()).expect("readable"), Position::default());
    for offset in [0, 1, 5] {
        old.apply(&orders(), 5, &effect(offset, "a")).expect("it owns it");
    }
    drop(old);
    assert_eq!(disk.open().position(&orders()).expect("readable").next_offset, 6);
}

#[test]
fn a_topic_that_is_created_again_counts_from_its_beginning() {
    let disk = Disk::new();
    let sink = disk.open();
    let [first, second] = [7, 8].map(|byte| TopicId::new([byte; 16]));
    let at = |next_offset, topic_id| Position { next_offset, topic_id };
    sink.take(&orders(), 5, first).expect("nobody was there");
    sink.apply(&orders(), 5, &effect(4, "a")).expect("it owns it");
    for (epoch, named) in [(6, first), (7, None)] {
        sink.take(&orders(), epoch, named).expect("it owns it now");
        assert_eq!(
            sink.position(&orders()).expect("readable"),
            at(5, first),
            "the same topic, as far as it is known"
        );
    }
    sink.take(&orders(), 8, second).expect("it owns it now");
    assert_eq!(sink.position(&orders()).expect("readable"), at(0, second));
    assert_eq!(sink.apply(&orders(), 8, &effect(0, "a")).expect("it owns it"), Outcome::Applied);
    assert_eq!(disk.totals(), totals([("a", (2, 20))]));
}

#[test]
fn an_owner_goes_on_under_a_higher_epoch_without_taking_the_fence_again() {
    let disk = Disk::new();
    let sink = disk.open();
    sink.apply(&orders(), 5, &effect(0, "a")).expect("it owns it");
    sink.apply(&orders(), 9, &effect(1, "a")).expect("it owns it");
    assert!(is_fenced(&sink.apply(&orders(), 8, &effect(2, "a")), 8, 9));
}

#[test]
fn an_effect_that_fails_leaves_neither_its_offset_nor_its_epoch() {
    let disk = Disk::new();
    let sink = disk.open();
    sink.apply(&orders(), 5, &effect(0, "a")).expect("it owns it");
    disk.connection().execute_batch("ALTER TABLE totals RENAME TO away").expect("nobody writes");
    assert!(matches!(sink.apply(&orders(), 6, &effect(1, "a")), Err(SinkError::Database(_))));
    disk.connection().execute_batch("ALTER TABLE away RENAME TO totals").expect("nobody writes");
    assert_eq!(sink.apply(&orders(), 5, &effect(1, "a")).expect("6 never wrote"), Outcome::Applied);
    assert_eq!(disk.totals(), totals([("a", (2, 20))]));
}

const RECORDS: i64 = 5;

/// The deliveries of two owners of one partition, in whatever order their writes reach the database.
struct Race<'a> {
    sink: &'a Sink,
    at: TopicPartition,
    next: [i64; 2],
    newest: u64,
}

impl Race<'_> {
    /// An owner delivers its next record; one that is refused stays where it is, as the runner makes it.
    fn deliver(&mut self, who: usize) {
        let epoch = [5, 6][who];
        if self.next[who] == RECORDS {
            return;
        }
        match self.sink.apply(&self.at, epoch, &effect(self.next[who], "a")) {
            Ok(_) => {
                assert!(self.newest <= epoch, "{epoch} wrote after {}", self.newest);
                self.newest = epoch;
                self.next[who] += 1;
            }
            Err(error) => assert!(matches!(error, SinkError::Fenced { offered: 5, held: 6 }), "{error}"),
        }
    }
}

#[test]
fn every_interleaving_of_two_owners_counts_each_record_once_and_never_goes_back() {
    // On no disk: thousands of commits would take half a minute.
    let sink = Sink::open(Path::new(":memory:")).expect("room for a database");
    let rounds = 1 << (2 * RECORDS);
    for round in 0..rounds {
        let at = TopicPartition::try_from(("interleaved", round)).expect("a valid name");
        let mut race = Race { sink: &sink, at, next: [0; 2], newest: 0 };
        for turn in 0..2 * RECORDS {
            race.deliver(usize::from(round >> turn & 1 == 1));
        }
        // The newer one always comes to the end of the log.
        while race.next[1] < RECORDS {
            race.deliver(1);
        }
    }
    let connection = sink.0.lock().expect("no panic");
    let counted: (u64, u64, i64) = connection
        .query_row("SELECT min(records), max(records), count(*) FROM totals", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .expect("readable");
    let each = RECORDS.unsigned_abs();
    assert_eq!(counted, (each, each, i64::from(rounds)));
}
