//! The counters of a partition, kept up with its log.

use kafka_assigner_client::{Claim, ClaimEnded, Epoch, HandlerError, Offset, TopicPartition, WarmContext};

use crate::counters::Counters;
use crate::entry::{Entry, EntryKind};
use crate::log::{Log, LogReader, Read};

/// The counters of one partition as far as its log was read.
#[derive(Debug)]
pub(crate) struct Replica {
    log: Log,
    at: TopicPartition,
    counters: Counters,
    /// Goes on where the counters end; none while they are written here, and nobody else writes.
    reader: Option<LogReader>,
    /// The epoch under which the log was opened last.
    opened: Epoch,
}

impl Replica {
    pub(crate) fn new(log: Log, at: TopicPartition) -> Self {
        Self { log, at, counters: Counters::default(), reader: None, opened: Epoch::default() }
    }

    /// Reads up to the end while another one may write.
    pub(crate) async fn warm(&mut self, context: &WarmContext) -> Result<(), HandlerError> {
        while self.step().await? {
            context.report(self.counters.next().since(Offset::ZERO), None);
        }
        Ok(())
    }

    /// Has the log to itself from now on, under the epoch of `claim`: an entry of that epoch is a fence, and whatever was
    /// written before it is read.
    ///
    /// The claim is asked before the fence is taken, since one that is taken too late shuts out the rightful owner, and
    /// again afterwards.
    pub(crate) async fn open(&mut self, claim: &Claim) -> Result<(), HandlerError> {
        let epoch = claim.epoch();
        if self.opened == epoch {
            return Ok(());
        }
        check(claim)?;
        let fence = self.log.append(&self.at, &Entry { epoch, what: EntryKind::Opened })?.await?;
        while self.counters.next() <= fence {
            self.step().await?;
        }
        check(claim)?;
        self.opened = epoch;
        self.reader = None;
        Ok(())
    }

    /// Takes what is next in the log in; false = it ends here just now.
    async fn step(&mut self) -> Result<bool, HandlerError> {
        if self.reader.is_none() {
            self.reader = Some(self.log.read(&self.at, self.counters.next())?);
        }
        let reader = self.reader.as_ref().expect("was made just now");
        match reader.next().await? {
            Read::Entry(offset, entry) => {
                self.counters.apply(offset, &entry);
                Ok(true)
            }
            Read::End => Ok(false),
        }
    }

    pub(crate) const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Records that this writer's entry is in the log at `offset`. Returns the counter after an addition that counts.
    pub(crate) fn wrote(&mut self, offset: Offset, entry: &Entry) -> Option<u64> {
        self.counters.apply(offset, entry)
    }

    pub(crate) const fn log(&self) -> &Log {
        &self.log
    }

    pub(crate) const fn at(&self) -> &TopicPartition {
        &self.at
    }
}

fn check(claim: &Claim) -> Result<(), ClaimEnded> {
    if claim.is_valid() { Ok(()) } else { Err(ClaimEnded) }
}
