//! The handler of the edges: its state tells which records are in it, and it fails where it is asked to.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kafka_assigner_client::TopicPartition;
use kafka_assigner_client::kafka::{
    Gap, OpenedState, OrUnchanged as _, PartitionContext, Preparation, Record, RecordError, RecordHandler,
    StateSnapshot,
};
use kafka_assigner_rig::clock::wall;
use kafka_assigner_rig::journal::Journal;
use tokio::time::sleep;

use super::notes::{EdgeDeed, EdgeNote, EdgeState, path};
use crate::scenario::settings::WorkerSettings;
use crate::scenario::worker::id;

/// The notes of a process; clones share the file.
#[derive(Debug, Clone)]
pub(super) struct Notes {
    process: String,
    journal: Arc<Journal>,
}

impl Notes {
    pub(super) fn open(settings: &WorkerSettings, group: &str) -> io::Result<Self> {
        let process = format!("{}#{}", settings.name, std::process::id());
        Ok(Self { process, journal: Arc::new(Journal::open(&path(&settings.sinks, group))?) })
    }

    pub(super) fn write(&self, deed: EdgeDeed) -> io::Result<()> {
        self.journal.write(&EdgeNote { process: self.process.clone(), at: wall(), deed })
    }
}

/// The deeds of the handler beside its work.
#[derive(Debug, Clone)]
pub(super) struct EdgeFaults {
    /// The time that each record takes.
    pub(super) record: Duration,
    /// The same in a rebuild.
    pub(super) catch_up: Duration,
    /// The ids of records that can't be handled.
    pub(super) poison: BTreeSet<u64>,
    /// So many records fail once while the rest of a log is read at a switch.
    pub(super) switch_failures: u32,
    /// Records whose ids are multiples of this fail once between their two changes of the state; 0 = none.
    pub(super) torn_every: u64,
}

/// The handler.
#[derive(Debug)]
pub(super) struct EdgeHandler {
    faults: EdgeFaults,
    notes: Notes,
    past: Mutex<Past>,
}

/// The events in this process.
#[derive(Debug, Default)]
struct Past {
    /// The ids of records that have failed once.
    failed: BTreeSet<u64>,
    /// Those that did at a switch.
    at_switches: u32,
    /// The partitions whose fences were taken, and that have not begun.
    switching: BTreeSet<TopicPartition>,
}

/// The record is not handled; it is tried again for as long as the partition is owned.
#[derive(Debug, thiserror::Error)]
#[error("the claim ended while the record was in the works")]
struct ClaimOver;

/// Takes its time; none where that is 0, for which a timer would still wait a millisecond.
async fn take(time: Duration) {
    if !time.is_zero() {
        sleep(time).await;
    }
}

impl EdgeHandler {
    pub(super) fn new(faults: EdgeFaults, notes: Notes) -> Self {
        Self { faults, notes, past: Mutex::default() }
    }

    fn past(&self) -> MutexGuard<'_, Past> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fails_at_switch(&self, record: &Record) -> bool {
        let mut past = self.past();
        let may = past.switching.contains(record.at()) && past.at_switches < self.faults.switch_failures;
        if !may || !past.failed.insert(id(record)) {
            return false;
        }
        past.at_switches += 1;
        true
    }

    fn is_torn(&self, record: &Record) -> bool {
        let (id, every) = (id(record), self.faults.torn_every);
        every > 0 && id.is_multiple_of(every) && self.past().failed.insert(id)
    }

    fn failed(&self, record: &Record) -> io::Result<()> {
        let (partition, offset) = (record.at().partition, record.offset().get());
        self.notes.write(EdgeDeed::Failed { partition, offset })
    }
}

impl RecordHandler for EdgeHandler {
    type State = EdgeState;

    async fn open(
        &self,
        _: &Preparation,
        _: Option<StateSnapshot>,
    ) -> Result<OpenedState<EdgeState>, RecordError> {
        Ok(OpenedState::empty(EdgeState::default()))
    }

    async fn catch_up(
        &self,
        _: &TopicPartition,
        state: &mut EdgeState,
        record: &Record,
    ) -> Result<(), RecordError> {
        take(self.faults.catch_up).await;
        if self.fails_at_switch(record) {
            self.failed(record).unchanged()?;
            return Err(RecordError::unchanged("asked to fail at a switch"));
        }
        state.count(record.offset().get());
        state.digest(id(record));
        Ok(())
    }

    async fn process(
        &self,
        context: &PartitionContext,
        state: &mut EdgeState,
        record: &Record,
    ) -> Result<(), RecordError> {
        if self.faults.poison.contains(&id(record)) {
            self.failed(record).unchanged()?;
            return Err(RecordError::unchanged("asked to fail this record"));
        }
        take(self.faults.record).await;
        if !context.may_act() {
            return Err(RecordError::unchanged(ClaimOver));
        }
        let (partition, offset) = (record.at().partition, record.offset().get());
        state.count(offset);
        if self.is_torn(record) {
            self.failed(record)?;
            return Err(RecordError::new("asked to fail between two changes"));
        }
        state.digest(id(record));
        self.notes.write(EdgeDeed::Handled { partition, offset, id: id(record), state: *state })?;
        Ok(())
    }

    async fn fence(&self, context: &PartitionContext) -> Result<(), RecordError> {
        self.past().switching.insert(context.partition().clone());
        Ok(())
    }

    async fn begin(&self, context: &PartitionContext, _: &mut EdgeState) -> Result<(), RecordError> {
        self.past().switching.remove(context.partition());
        Ok(())
    }

    async fn gap(&self, at: &TopicPartition, _: &mut EdgeState, gap: Gap) -> Result<(), RecordError> {
        let (from, to) = (gap.from.get(), gap.to.get());
        self.notes.write(EdgeDeed::Gap { partition: at.partition, from, to })?;
        Ok(())
    }
}
