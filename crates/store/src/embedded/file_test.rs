use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::StreamExt;
use kafka_assigner_types::kv::{Op, Txn};
use redb::backends::InMemoryBackend;
use redb::{Database, StorageBackend};

use super::*;
use crate::embedded::engine::Seed;
use crate::traits::Store;

/// The scripted behaviour of a disk.
#[derive(Debug, Default)]
struct Orders {
    broken: AtomicBool,
    stalled: AtomicBool,
}

/// A disk that works until it is told not to.
#[derive(Debug)]
struct Disk {
    inner: InMemoryBackend,
    orders: Arc<Orders>,
}

impl Disk {
    fn check(&self) -> io::Result<()> {
        while self.orders.stalled.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.orders.broken.load(Ordering::SeqCst) {
            return Err(io::Error::other("the disk is broken"));
        }
        Ok(())
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check()?;
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.check()?;
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check()?;
        self.inner.write(offset, data)
    }
}

fn store_on_disk() -> (FileStore, Arc<Orders>) {
    let orders = Arc::new(Orders::default());
    let disk = Disk { inner: InMemoryBackend::new(), orders: Arc::clone(&orders) };
    let database = Database::builder().create_with_backend(disk).expect("it can be created");
    let (state_file, seed) = StateFile::on(database).expect("it can be laid out");
    let engine = Engine::new(seed, Retention::default(), Instant::now());
    (FileStore::on(PathBuf::from("the-file"), state_file, engine), orders)
}

fn put() -> Txn {
    Txn::guarded(Vec::new(), vec![Op::put("a", "")])
}

#[tokio::test]
async fn a_failed_write_ends_the_store_and_names_the_file() {
    let (store, disk) = store_on_disk();
    let written = store.txn(put()).await.expect("the disk works").revision;
    let mut watch = store.watch(b"", written.next()).await.expect("it begins");
    disk.broken.store(true, Ordering::SeqCst);
    let told = [
        store.txn(put()).await.expect_err("it can't be written"),
        store.get(b"a").await.expect_err("what the engine holds may never have been written"),
        watch.next().await.expect("it ends with an error").expect_err("nothing unwritten is shown"),
        store.watch(b"", written).await.map(drop).expect_err("there is nothing left to watch"),
    ];
    for error in told {
        assert!(!error.is_transient());
        let text = error.to_string();
        assert!(text.contains("the-file") && text.contains("the disk is broken"), "{text}");
    }
    disk.broken.store(false, Ordering::SeqCst);
    assert!(store.txn(put()).await.is_err(), "the failure is for good");
}

#[tokio::test]
async fn nobody_sees_what_is_not_on_disk_yet() {
    let (store, disk) = store_on_disk();
    let written = store.txn(put()).await.expect("the disk works").revision;
    let mut watch = store.watch(b"", written.next()).await.expect("it begins");
    disk.stalled.store(true, Ordering::SeqCst);
    let writing = tokio::spawn({
        let store = store.clone();
        async move { store.txn(put()).await }
    });
    while store.0.shared.engine().revision() == written {
        tokio::task::yield_now().await;
    }
    let moment = Duration::from_millis(50);
    assert!(timeout(moment, watch.next()).await.is_err(), "no watch");
    assert!(timeout(moment, store.get(b"a")).await.is_err(), "no reader");
    assert!(!writing.is_finished(), "nor the writer");
    disk.stalled.store(false, Ordering::SeqCst);
    let revision = writing.await.expect("no panic").expect("the disk works").revision;
    assert_eq!(watch.next().await.expect("it goes on").expect("it works").revision, revision);
}

#[tokio::test]
async fn an_ended_lease_that_can_not_be_written_ends_the_store_too() {
    let (store, disk) = store_on_disk();
    store.grant(Duration::from_millis(20)).await.expect("the disk works");
    let mut watch = store.watch(b"", Revision(1)).await.expect("it begins");
    disk.broken.store(true, Ordering::SeqCst);
    assert!(matches!(watch.next().await, Some(Err(Error::File(_)))));
}

#[tokio::test]
async fn a_file_of_another_format_is_refused() {
    let database =
        Database::builder().create_with_backend(InMemoryBackend::new()).expect("it can be created");
    let transaction = database.begin_write().expect("it works");
    let numbers: redb::TableDefinition<'_, &str, u64> = redb::TableDefinition::new("numbers");
    transaction.open_table(numbers).expect("it works").insert("format", 9).expect("it works");
    transaction.commit().expect("it works");
    let refusal = StateFile::on(database).expect_err("it is of the future").to_string();
    assert!(refusal.contains("format 9"), "{refusal}");
}

#[tokio::test]
async fn a_new_file_is_an_empty_store() {
    let database =
        Database::builder().create_with_backend(InMemoryBackend::new()).expect("it can be created");
    let (_, seed) = StateFile::on(database).expect("it can be laid out");
    let Seed { revision, next_lease, leases, records } = seed;
    assert_eq!((revision, next_lease, leases.len(), records.len()), (Revision(0), 0, 0, 0));
}

#[tokio::test]
async fn a_disk_that_is_too_slow_is_no_excuse_to_queue_without_bound() {
    let (store, _) = store_on_disk();
    // The committer can't begin: its state says that it runs.
    store.0.queue().running = true;
    let jobs = (0..MOST_QUEUED).map(|_| -> StoreJob { Box::new(|_, _| Box::new(drop)) });
    store.0.queue().jobs.extend(jobs);
    assert!(matches!(store.txn(put()).await, Err(Error::Unavailable { operation: "txn", .. })));
}
