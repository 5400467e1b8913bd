use kafka_assigner_client::kafka::PreparationProgress;
use tempfile::TempDir;

use super::*;

fn totals(folder: &TempDir) -> Totals {
    Totals::new(Arc::new(Sink::open(&folder.path().join("totals.db")).expect("a new database")))
}

fn orders() -> TopicPartition {
    TopicPartition::try_from(("orders", 3)).expect("a valid name")
}

fn record(offset: i64) -> Record {
    Record::new(orders(), Offset::new(offset).expect("not negative")).with_key("a").with_value("1234")
}

/// What a preparation of the partition opens.
async fn opened(totals: &Totals) -> OpenedState<Known> {
    let preparation = Preparation {
        partition: orders(),
        topic_id: None,
        current_owner: None,
        is_anew: false,
        progress: Arc::new(Unwatched),
    };
    totals.open(&preparation, None).await.expect("readable")
}

/// Nobody looks at the progress.
struct Unwatched;

impl PreparationProgress for Unwatched {
    fn report(&self, _: u64, _: Option<u64>) {}
}

fn handle(totals: &Totals, offset: i64) {
    totals.0.apply(&orders(), 5, &effect(&record(offset))).expect("it owns it");
}

#[tokio::test]
async fn a_new_owner_reads_on_where_the_database_ends() {
    let folder = TempDir::new().expect("room for a database");
    let (old, new) = (totals(&folder), totals(&folder));
    assert_eq!(opened(&new).await.next_offset, Some(Offset::ZERO));
    handle(&old, 0);
    handle(&old, 1);
    let (state, next_offset) = (Known { next_offset: 2 }, Offset::new(2).ok());
    assert_eq!(opened(&new).await, OpenedState { state, next_offset, topic_id: None });
}

#[tokio::test]
async fn what_the_old_owner_adds_during_the_warm_up_is_passed_over() {
    let folder = TempDir::new().expect("room for a database");
    let (old, new) = (totals(&folder), totals(&folder));
    let mut known = opened(&new).await.state;
    handle(&old, 0);
    handle(&old, 1);
    for offset in [0, 1] {
        new.catch_up(&orders(), &mut known, &record(offset)).await.expect("it is in the database");
    }
    assert_eq!(known, Known { next_offset: 2 });
}

#[tokio::test]
async fn a_database_that_lacks_what_was_committed_stops_the_preparation() {
    let folder = TempDir::new().expect("room for a database");
    let restored_from_backup = totals(&folder);
    handle(&restored_from_backup, 0);
    let mut known = Known::default();
    let caught_up = restored_from_backup.catch_up(&orders(), &mut known, &record(1)).await;
    let refused = caught_up.expect_err("a hole");
    assert_eq!(refused.cause().downcast_ref(), Some(&Behind { offset: 1, next_offset: 1 }));
    assert!(!refused.is_spoiled());
}

#[test]
fn a_record_counts_its_key_and_its_bytes() {
    let expected = Effect { offset: 9, key: "a".to_owned(), bytes: 4 };
    assert_eq!(effect(&record(9)), expected);
}
