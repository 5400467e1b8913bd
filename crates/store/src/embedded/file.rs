//! The store on a file.
//!
//! Calls queue for the one committer, which runs while there are any: it carries out all that have come
//! together, writes what they did at once, and only then answers them and shows it to watches. So no
//! caller sees a change that a crash could undo, and many callers share one fsync.

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use kafka_assigner_types::kv::Revision;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout};

use super::driver::Driver;
use super::engine::Engine;
use super::history::Retention;
use super::shared::SharedEngine;
use super::state_file::{Mark, StateFile};
use super::store::Embedded;
use crate::error::Error;

/// Calls that may wait at once; more are refused, because the disk is then seconds behind.
const MOST_QUEUED: usize = 10_000;

/// Calls that share one write: enough to hide the fsync, and few enough to keep it short.
const MOST_TOGETHER: usize = 256;

/// After this time a call's outcome is unknown. A disk that stalls for longer is no place for a store.
const CALL_DEADLINE: Duration = Duration::from_secs(10);

/// Keeps its state in a file: for a single node that has to find it again after a restart.
///
/// Changes that were acknowledged, or seen by a watch, are on disk. Opened again, the store goes on with its next
/// revision, and each lease with its whole time to live; changes from before can't be watched any more. A
/// clone is another handle of the same store.
pub type FileStore = Embedded<FileDriver>;

/// Runs on the engine and returns the delivery of its answer, for the time when it is settled.
type StoreJob = Box<dyn FnOnce(&mut Engine, Instant) -> Deliver + Send>;

/// Gives a caller its answer, or the error that came instead.
type Deliver = Box<dyn FnOnce(Result<(), String>) + Send>;

#[derive(Default)]
struct JobQueue {
    jobs: VecDeque<StoreJob>,
    running: bool,
    committer: Option<JoinHandle<()>>,
}

/// The part of a [`FileStore`] that its handles share.
pub struct FileDriver {
    path: PathBuf,
    shared: SharedEngine,
    queue: Mutex<JobQueue>,
    state_file: StateFile,
}

impl fmt::Debug for FileDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileDriver").field("path", &self.path).finish_non_exhaustive()
    }
}

impl FileStore {
    /// Opens the store in the file at `path`, or creates it there.
    ///
    /// # Errors
    /// [`Error::File`], naming the file and what is wrong: in use by another, of another format, damaged,
    /// or not to be read or written.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref().to_owned();
        let opening = spawn_blocking(move || {
            let (state_file, seed) = StateFile::open(&path).map_err(|why| unusable(&path, &why))?;
            let engine = Engine::new(seed, Retention::default(), Instant::now());
            Ok(Self::on(path, state_file, engine))
        });
        opening.await.unwrap_or_else(|error| Err(Error::File(format!("opening the store failed: {error}"))))
    }

    fn on(path: PathBuf, state_file: StateFile, engine: Engine) -> Self {
        let (shared, queue) = (SharedEngine::new(engine), Mutex::default());
        Self(Arc::new(FileDriver { path, shared, queue, state_file }))
    }

    /// Forgets the changes before `oldest`, as etcd's compaction does; the records stay.
    ///
    /// # Errors
    /// [`Error::File`] once the file has failed.
    pub async fn compact(&self, oldest: Revision) -> Result<(), Error> {
        self.0.compact(oldest).await
    }

    /// Waits until nothing is being written, and lets go of this handle. With the last one the file is free.
    ///
    /// Dropping a handle does the same without waiting: what is under way is finished, but it may be a
    /// moment before the file can be opened again.
    pub async fn close(self) {
        let committer = self.0.queue().committer.take();
        if let Some(committer) = committer {
            // A panic in there has been reported where it happened.
            drop(committer.await);
        }
    }
}

impl Driver for FileDriver {
    fn shared(&self) -> &SharedEngine {
        &self.shared
    }

    async fn run<R: Send + 'static>(
        self: &Arc<Self>,
        operation: &'static str,
        job: impl FnOnce(&mut Engine, Instant) -> Result<R, Error> + Send + 'static,
    ) -> Result<R, Error> {
        self.shared.check()?;
        let (answer, answered) = oneshot::channel();
        let job: StoreJob = Box::new(move |engine, now| {
            let result = job(engine, now);
            Box::new(move |settled| drop(answer.send(settled.map_err(Error::File).and(result))))
        });
        self.enqueue(job, operation)?;
        match timeout(CALL_DEADLINE, answered).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) | Err(_) => Err(Error::Unknown { operation, source: None }),
        }
    }
}

impl FileDriver {
    fn queue(&self) -> MutexGuard<'_, JobQueue> {
        self.queue.lock().expect("no code under this lock panics")
    }

    fn enqueue(self: &Arc<Self>, job: StoreJob, operation: &'static str) -> Result<(), Error> {
        let mut queue = self.queue();
        if queue.jobs.len() >= MOST_QUEUED {
            let source = format!("{MOST_QUEUED} calls are waiting for the disk");
            return Err(Error::Unavailable { operation, source: Some(source.into()) });
        }
        queue.jobs.push_back(job);
        if !queue.running {
            queue.running = true;
            let file = Arc::clone(self);
            queue.committer = Some(spawn_blocking(move || file.drain()));
        }
        Ok(())
    }

    /// The committer: settles what is queued until nothing is. Blocks.
    fn drain(&self) {
        loop {
            let batch = {
                let mut queue = self.queue();
                queue.running = !queue.jobs.is_empty();
                if !queue.running {
                    return;
                }
                let together = queue.jobs.len().min(MOST_TOGETHER);
                queue.jobs.drain(..together).collect()
            };
            self.settle(batch);
        }
    }

    /// Carries out a batch, writes it, publishes it, and answers it, in this order.
    fn settle(&self, batch: Vec<StoreJob>) {
        let mut engine = self.shared.engine();
        let now = Instant::now();
        engine.expire(now);
        let deliveries: Vec<Deliver> = batch.into_iter().map(|job| job(&mut engine, now)).collect();
        let effects = engine.take_effects();
        let mark = Mark { revision: engine.revision(), next_lease: engine.next_lease() };
        let next_deadline = engine.next_deadline();
        drop(engine);
        let settled = match self.shared.check() {
            Ok(()) if effects.is_empty() => Ok(()),
            Ok(()) => self.state_file.write(&effects, mark).map_err(|error| self.fail(&error)),
            Err(error) => Err(error.to_string()),
        };
        if settled.is_ok() {
            self.shared.publish(mark.revision, next_deadline);
        }
        deliveries.into_iter().for_each(|deliver| deliver(settled.clone()));
    }

    /// The engine is ahead of the file now, and nobody knows what the file holds: only opening it anew can tell.
    fn fail(&self, error: &redb::Error) -> String {
        let path = self.path.display();
        let why = format!("writing to the store's file {path} failed, restart to go on from it: {error}");
        tracing::error!(%error, %path, "writing to the store's file failed");
        self.shared.fail(&why);
        why
    }
}

fn unusable(path: &Path, why: &super::state_file::OpenError) -> Error {
    Error::File(format!("the store's file {} can't be used: {why}", path.display()))
}

#[cfg(test)]
#[path = "file_test.rs"]
mod file_test;
