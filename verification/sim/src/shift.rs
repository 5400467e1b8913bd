//! The records that one process works on, partition by partition, each begun as the client allows.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use kafka_assigner_client::{OwnedContext, TopicPartition};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::fault::Fault;
use crate::history::{History, What};
use crate::hole::Hole;
use crate::ice::Ice;
use crate::worker::Temper;

/// The loops of one process; they end with it.
#[derive(Debug)]
pub(crate) struct Shift {
    pub(crate) process: u32,
    pub(crate) consumer: Arc<str>,
    pub(crate) ice: Ice,
    pub(crate) temper: Arc<Temper>,
    pub(crate) history: History,
    pub(crate) hole: Option<Hole>,
    pub(crate) loops: Mutex<BTreeMap<TopicPartition, RecordLoop>>,
}

/// The work on the records of one partition; it is cut when this is dropped.
#[derive(Debug)]
pub(crate) struct RecordLoop {
    /// Cancelled once no record is to be begun.
    stop: CancellationToken,
    task: AbortOnDropHandle<()>,
}

impl Shift {
    /// Begins to work on the records of a partition, until the client says that none is to be begun any more.
    pub(crate) fn begin(&self, context: &OwnedContext) {
        let records = Records {
            process: self.process,
            consumer: Arc::clone(&self.consumer),
            context: context.clone(),
            temper: Arc::clone(&self.temper),
            history: self.history.clone(),
            is_uncounted: self.hole == Some(Hole::RecordsUncounted),
        };
        let (ice, stop) = (self.ice.clone(), CancellationToken::new());
        let stopped = stop.clone();
        let task = tokio::spawn(async move { ice.run(records.work(&stopped)).await });
        let begun = RecordLoop { stop, task: AbortOnDropHandle::new(task) };
        drop(self.loops().insert(context.partition().clone(), begun));
    }

    /// Waits for the record in the works.
    pub(crate) async fn finish(&self, at: &TopicPartition) {
        let ending = self.loops().remove(at);
        if let Some(RecordLoop { stop, task }) = ending {
            stop.cancel();
            let _cut = task.await;
        }
    }

    /// Drops the record in the works.
    pub(crate) fn cut(&self, at: &TopicPartition) {
        drop(self.loops().remove(at));
    }

    fn loops(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, RecordLoop>> {
        self.loops.lock().expect("nothing panics while it holds the loops")
    }
}

/// The records of one partition.
struct Records {
    process: u32,
    consumer: Arc<str>,
    context: OwnedContext,
    temper: Arc<Temper>,
    history: History,
    is_uncounted: bool,
}

/// A record in the works; it has ended, or was cut, when this is dropped.
struct InWorks<'a>(&'a Records);

impl Records {
    async fn work(&self, stop: &CancellationToken) {
        loop {
            tokio::select! {
                biased;
                // Whoever drains waits for a record, and not for the next one.
                () = stop.cancelled() => return,
                () = sleep(self.temper.between_records()) => {}
            }
            let Ok(permit) = self.context.begin_record().await else { return };
            // A handler that keeps no permit has no record in the works, as far as the client knows.
            let _permit = (!self.is_uncounted).then_some(permit);
            self.handle().await;
        }
    }

    async fn handle(&self) {
        let (span, is_long) = self.temper.record();
        let at = self.context.partition();
        if is_long {
            self.history.happened(Fault::SlowDrain, format!("{} {at}", self.consumer));
            // A drain waits for it, and where no record was long before, requests do too.
            self.history.excuse(&self.consumer, span);
            self.history.excuse_requests(span);
        }
        self.history.note(What::RecordBegun { process: self.process, at: at.clone() });
        let _in_works = InWorks(self);
        sleep(span).await;
    }
}

impl Drop for InWorks<'_> {
    fn drop(&mut self) {
        let (process, at) = (self.0.process, self.0.context.partition().clone());
        self.0.history.note(What::RecordEnded { process, at });
    }
}
