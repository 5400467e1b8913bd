//! A kit for the tests of handlers: a partition with its log, whose owners take over, crash and lose their claims, on
//! simulated time and in the test's own process.
//!
//! It does what a runner does, in the same order and with the same rules for errors, and waits as one does: begin a test
//! with `#[tokio::test(start_paused = true)]`, and no wait takes time.
//!
//! ```
//! # use kafka_assigner_handler::*;
//! # struct Counter;
//! # impl RecordHandler for Counter {
//! #     type State = u64;
//! #     async fn open(&self, _: &Preparation, _: Option<StateSnapshot>) -> Result<OpenedState<u64>, RecordError> {
//! #         Ok(OpenedState::empty(0))
//! #     }
//! #     async fn catch_up(&self, _: &TopicPartition, count: &mut u64, _: &Record) -> Result<(), RecordError> {
//! #         *count += 1;
//! #         Ok(())
//! #     }
//! #     async fn process(&self, _: &PartitionContext, count: &mut u64, _: &Record) -> Result<(), RecordError> {
//! #         *count += 1;
//! #         Ok(())
//! #     }
//! # }
//! use kafka_assigner_handler::testing::SimulatedPartition;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let mut orders = SimulatedPartition::new("orders", 0, || Counter);
//! orders.produce("a", "1");
//! orders.produce("b", "2");
//! orders.run().await;
//! orders.move_owner().await;
//! assert_eq!(orders.state(), Some(&2));
//! # }
//! ```

mod owner;
mod right;

use std::collections::BTreeMap;
use std::fmt;

use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};

use crate::confirmations::CommitRule;
use crate::context::PartitionContext;
use crate::failures::RecordFailures;
use crate::handler::{Closing, RecordHandler};
use crate::policy::ErrorPolicy;
use crate::record::Record;
use crate::snapshot::StateSnapshot;
use owner::SimulatedOwner;
pub use right::SimulatedRight;

/// A partition with its log, what is committed of it, and one owner at a time.
pub struct SimulatedPartition<H: RecordHandler> {
    at: TopicPartition,
    make: Box<dyn Fn() -> H>,
    log: Vec<Record>,
    committed: Offset,
    epoch: Epoch,
    policy: ErrorPolicy,
    commits: CommitRule,
    failures: RecordFailures,
    /// The attempts of each record that are still to fail.
    failing: BTreeMap<Offset, u32>,
    owner: Option<SimulatedOwner<H>>,
    snapshot: Option<StateSnapshot>,
    passed_over: Vec<Offset>,
    dead_letters: Vec<Record>,
    stopped: Option<(Offset, String)>,
}

impl<H: RecordHandler> fmt::Debug for SimulatedPartition<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedPartition")
            .field("at", &self.at)
            .field("end", &self.end())
            .field("committed", &self.committed)
            .field("epoch", &self.epoch)
            .field("stopped", &self.stopped)
            .finish_non_exhaustive()
    }
}

impl<H: RecordHandler> SimulatedPartition<H> {
    /// An empty partition. `make` makes the handler of each owner: every one is another process.
    ///
    /// # Panics
    ///
    /// `topic` is no name of a topic.
    pub fn new(topic: &str, partition: u32, make: impl Fn() -> H + 'static) -> Self {
        Self {
            at: TopicPartition::try_from((topic, partition)).expect("a name of a topic"),
            make: Box::new(make),
            log: Vec::new(),
            committed: Offset::ZERO,
            epoch: Epoch::default(),
            policy: ErrorPolicy::default(),
            commits: CommitRule::default(),
            failures: RecordFailures::default(),
            failing: BTreeMap::new(),
            owner: None,
            snapshot: None,
            passed_over: Vec::new(),
            dead_letters: Vec::new(),
            stopped: None,
        }
    }

    /// With this policy in place of the default.
    #[must_use]
    pub fn with_policy(self, policy: ErrorPolicy) -> Self {
        Self { policy, ..self }
    }

    /// With this rule for what is committed in place of the default.
    #[must_use]
    pub fn with_commits(self, commits: CommitRule) -> Self {
        Self { commits, ..self }
    }

    /// Appends a record.
    pub fn produce(&mut self, key: &str, value: &str) -> Offset {
        let record = Record::new(self.at.clone(), self.end());
        self.produce_record(record.with_key(key.to_owned()).with_value(value.to_owned()))
    }

    /// Appends a record as it is; it gets the next offset only if it has it.
    ///
    /// # Panics
    ///
    /// It is of another partition, or has an offset of the log.
    pub fn produce_record(&mut self, record: Record) -> Offset {
        let offset = record.offset();
        assert!(*record.at() == self.at && offset >= self.end(), "{record:?} does not come next");
        self.log.push(record);
        offset
    }

    /// The offset of the next record.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.log.last().map_or(Offset::ZERO, |last| last.offset().next())
    }

    /// The next so many attempts to process the record at `offset` fail when the handler is done with it: the state is
    /// changed, and nobody knows it.
    pub fn fail(&mut self, offset: Offset, attempts: u32) {
        self.failing.insert(offset, attempts);
    }

    /// Commits what was processed, and what of it was confirmed where the rule asks for that.
    pub fn commit(&mut self) {
        self.committed = self.owner.as_ref().map_or(self.committed, SimulatedOwner::committable);
    }

    /// Processes until the end of the log, or until the partition stands. Where there is no owner, one takes over first.
    pub async fn run(&mut self) {
        loop {
            if self.owner.is_none() {
                self.epoch = self.epoch.next(0);
                self.take_over().await;
            }
            if self.stopped.is_some() || !self.step().await {
                return;
            }
        }
    }

    /// Hands the partition over, as in the modes with one owner at a time: another process prepares, the owner stops and
    /// commits, the other one catches up and begins.
    pub async fn move_owner(&mut self) {
        let mut next = self.prepare(self.epoch.next(0)).await;
        if let Some(mut owner) = self.owner.take() {
            // The tests of a handler want to see its error.
            owner.handler.drained(&owner.context, &mut owner.state).await.expect("it can be drained");
            self.committed = owner.committable();
            owner.right.end();
            owner.handler.close(&self.at, Closing::Released, Some(owner.state)).await;
        }
        self.epoch = self.epoch.next(0);
        self.stopped = None;
        self.begin(&mut next).await;
        self.owner = Some(next);
    }

    /// The owner is gone, without a word: what it processed since the last commit is processed again.
    pub fn crash(&mut self) {
        if let Some(owner) = self.owner.take() {
            owner.right.end();
        }
        self.stopped = None;
    }

    /// The claim of the owner has ended, and it is told so; what it processed since the last commit is processed again.
    pub async fn lose_claim(&mut self) {
        self.stopped = None;
        self.give_up().await;
    }

    /// Keeps what the owner writes down of its state, for the next one.
    ///
    /// # Panics
    ///
    /// The handler fails.
    pub fn take_snapshot(&mut self) {
        let Some(owner) = &self.owner else { return };
        let bytes = owner.handler.snapshot(&self.at, &owner.state).expect("it can be written down");
        self.snapshot = bytes.map(|bytes| StateSnapshot { next_offset: owner.next, topic_id: None, bytes });
    }

    /// The state of the owner; `None` = there is none.
    #[must_use]
    pub fn state(&self) -> Option<&H::State> {
        self.owner.as_ref().map(|owner| &owner.state)
    }

    /// The context of the owner.
    #[must_use]
    pub fn context(&self) -> Option<&PartitionContext> {
        self.owner.as_ref().map(|owner| &owner.context)
    }

    /// The offset after the last record that was processed or passed over under any owner that committed it.
    #[must_use]
    pub const fn committed(&self) -> Offset {
        self.committed
    }

    /// The records that were passed over while they were processed, dead letters among them.
    #[must_use]
    pub fn passed_over(&self) -> &[Offset] {
        &self.passed_over
    }

    /// The records of the dead-letter topic.
    #[must_use]
    pub fn dead_letters(&self) -> &[Record] {
        &self.dead_letters
    }

    /// The record before which the partition stands, and why.
    #[must_use]
    pub fn stopped(&self) -> Option<(Offset, &str)> {
        self.stopped.as_ref().map(|(offset, reason)| (*offset, &**reason))
    }
}
