//! One owner after the other, as a runner drives them.

use std::sync::Arc;

use kafka_assigner_types::id::{Epoch, Offset};
use tokio::time::sleep;

use super::SimulatedPartition;
use super::right::SimulatedRight;
use crate::confirmations::{CommitRule, Confirmations};
use crate::context::PartitionContext;
use crate::error::{RecordError, Remedy};
use crate::failures::guarded;
use crate::handler::{Closing, RecordHandler};
use crate::preparation::{Preparation, PreparationProgress};
use crate::record::Record;

/// A process that owns the partition, or prepares for it.
pub(super) struct SimulatedOwner<H: RecordHandler> {
    pub(super) handler: H,
    pub(super) right: Arc<SimulatedRight>,
    pub(super) context: PartitionContext,
    pub(super) state: H::State,
    /// The offset after the last record that is in the state.
    pub(super) next: Offset,
    /// `None` = what was processed is committed without a word.
    confirmations: Option<Confirmations>,
}

impl<H: RecordHandler> SimulatedOwner<H> {
    /// The offset that may be committed.
    pub(super) fn committable(&self) -> Offset {
        self.confirmations.as_ref().map_or(self.next, |confirmed| confirmed.next().min(self.next))
    }

    /// Takes the word of the handler for records from `start` on.
    fn confirm_from(&mut self, start: Offset) {
        let confirmations = Confirmations::from(start);
        self.context = self.context.clone().confirmed_by(Arc::new(confirmations.clone()));
        self.confirmations = Some(confirmations);
    }

    /// The record at `offset` was passed over.
    fn pass_over(&mut self, offset: Offset) {
        if let Some(confirmations) = &self.confirmations {
            confirmations.pass_over(self.next, offset.next());
        }
        self.next = offset.next();
    }
}

/// Nobody looks at the progress.
struct Unwatched;

impl PreparationProgress for Unwatched {
    fn report(&self, _: u64, _: Option<u64>) {}
}

impl<H: RecordHandler> SimulatedPartition<H> {
    /// A process that has read what is committed.
    pub(super) async fn prepare(&mut self, epoch: Epoch) -> SimulatedOwner<H> {
        loop {
            let mut owner = self.open(epoch).await;
            if self.catch_up(&mut owner).await {
                return owner;
            }
        }
    }

    async fn open(&self, epoch: Epoch) -> SimulatedOwner<H> {
        let handler = (self.make)();
        let preparation = Preparation {
            partition: self.at.clone(),
            topic_id: None,
            current_owner: self.owner.is_some().then(|| "the owner".to_owned()),
            is_anew: false,
            progress: Arc::new(Unwatched),
        };
        let opened = handler.open(&preparation, self.snapshot.clone()).await.expect("it can be opened");
        let right = SimulatedRight::new(epoch);
        let context = right.context(self.at.clone());
        SimulatedOwner {
            handler,
            right,
            context,
            state: opened.state,
            next: opened.next_offset.unwrap_or(self.committed),
            confirmations: None,
        }
    }

    /// The record at `next`, or the first one behind it.
    fn record(&self, next: Offset) -> Option<Record> {
        let index = self.log.partition_point(|record| record.offset() < next);
        self.log.get(index).cloned()
    }

    /// Brings a state forward to what is committed. False = it is spoiled.
    async fn catch_up(&mut self, owner: &mut SimulatedOwner<H>) -> bool {
        while let Some(record) = self.record(owner.next).filter(|record| record.offset() < self.committed) {
            let offset = record.offset();
            if !self.failures.passes_over(offset) {
                let caught_up = guarded(owner.handler.catch_up(&self.at, &mut owner.state, &record)).await;
                if let Err(error) = caught_up
                    && !self.catch_up_failed(offset, &error).await
                {
                    if spoils::<H>(&error) {
                        return false;
                    }
                    continue;
                }
            }
            owner.next = offset.next();
        }
        true
    }

    /// True = the record is passed over.
    async fn catch_up_failed(&mut self, offset: Offset, error: &RecordError) -> bool {
        match self.failures.decide(offset, error, &self.policy) {
            Remedy::Retry { after } => sleep(after.unwrap_or_default()).await,
            Remedy::Skip | Remedy::DeadLetter if spoils::<H>(error) => {
                assert!(self.failures.pass_over(offset), "too many records spoil the state");
            }
            Remedy::Skip | Remedy::DeadLetter => return true,
            Remedy::Stop | Remedy::Fatal => panic!("the state can't be built: {offset}: {}", error.text()),
        }
        false
    }

    /// Another process takes over what nobody owns.
    pub(super) async fn take_over(&mut self) {
        let mut owner = self.prepare(self.epoch).await;
        self.begin(&mut owner).await;
        self.owner = Some(owner);
    }

    pub(super) async fn begin(&mut self, owner: &mut SimulatedOwner<H>) {
        owner.handler.fence(&owner.context).await.expect("it can take its fence");
        assert!(self.catch_up(owner).await, "the state is spoiled at the start");
        owner.next = owner.next.max(self.committed);
        if self.commits == CommitRule::Confirmed {
            owner.confirm_from(self.committed);
        }
        owner.handler.begin(&owner.context, &mut owner.state).await.expect("it can begin");
    }

    /// Processes the next record. False = there is none, or the partition stands.
    pub(super) async fn step(&mut self) -> bool {
        let Some(mut owner) = self.owner.take() else { return false };
        let Some(record) = self.record(owner.next) else {
            self.owner = Some(owner);
            return false;
        };
        if self.failures.gave_up(record.offset()) {
            self.owner = Some(owner);
            self.go_behind(&record, false).await;
            return true;
        }
        let processed = guarded(owner.handler.process(&owner.context, &mut owner.state, &record)).await;
        match processed.and_then(|()| self.injected(record.offset())) {
            Ok(()) => owner.next = record.offset().next(),
            Err(error) => return self.failed(owner, &record, &error).await,
        }
        self.owner = Some(owner);
        true
    }

    /// The failure that the test wants.
    fn injected(&mut self, offset: Offset) -> Result<(), RecordError> {
        match self.failing.get_mut(&offset) {
            Some(left) if *left > 0 => {
                *left -= 1;
                Err(RecordError::new("the test wants this attempt to fail"))
            }
            _ => Ok(()),
        }
    }

    async fn failed(&mut self, owner: SimulatedOwner<H>, record: &Record, error: &RecordError) -> bool {
        let remedy = self.failures.decide(record.offset(), error, &self.policy);
        self.owner = Some(owner);
        match remedy {
            Remedy::Retry { after } => sleep(after.unwrap_or_default()).await,
            Remedy::Skip | Remedy::DeadLetter => {
                if remedy == Remedy::DeadLetter {
                    self.dead_letters.push(record.clone());
                }
                self.pass_over(record, spoils::<H>(error)).await;
                return true;
            }
            Remedy::Stop | Remedy::Fatal => self.stopped = Some((record.offset(), error.text())),
        }
        if spoils::<H>(error) {
            self.build_anew().await;
        }
        true
    }

    async fn pass_over(&mut self, record: &Record, is_spoiled: bool) {
        self.passed_over.push(record.offset());
        self.go_behind(record, is_spoiled).await;
    }

    /// Goes on behind a record that was not handled; the state gets of it what every rebuild will.
    async fn go_behind(&mut self, record: &Record, mut is_spoiled: bool) {
        let offset = record.offset();
        let Some(owner) = &mut self.owner else { return };
        if !is_spoiled && !self.failures.passes_over(offset) {
            let caught_up = guarded(owner.handler.catch_up(&self.at, &mut owner.state, record)).await;
            if let Err(error) = caught_up.as_ref()
                && spoils::<H>(error)
            {
                is_spoiled = true;
                assert!(self.failures.pass_over(offset), "too many records spoil the state");
            }
        }
        owner.pass_over(offset);
        if is_spoiled {
            self.failures.give_up(offset);
            self.build_anew().await;
        }
    }

    /// The state is spoiled: the same process commits what it has processed, and builds it again under the same grant.
    async fn build_anew(&mut self) {
        self.commit();
        self.give_up().await;
        self.take_over().await;
    }

    pub(super) async fn give_up(&mut self) {
        if let Some(owner) = self.owner.take() {
            owner.right.end();
            owner.handler.close(&self.at, Closing::Lost, Some(owner.state)).await;
        }
    }
}

/// True if the state is of no use after this error.
const fn spoils<H: RecordHandler>(error: &RecordError) -> bool {
    error.is_spoiled() && size_of::<H::State>() > 0
}
