//! The status of a consumer.

use kafka_assigner_session::SessionStatus;
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use tokio::sync::watch;

use crate::claim::SessionClaim;
use crate::roles::RoleCounts;

/// A consumer at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConsumerStatus {
    /// The session; `None` = there is none just now.
    pub session: Option<SessionStatus>,
    /// The number of partitions in each state.
    pub partitions: RoleCounts,
    /// The partitions that are owned and stand, in their order.
    pub stopped: Vec<StoppedPartition>,
    /// The partitions that are owned and whose next record has failed for a minute or longer, in their order.
    pub failing: Vec<FailingPartition>,
    /// The number of sessions lost so far.
    pub sessions_lost: u64,
    /// The error of the last call to an instance, with its causes, until one answers; else the error of what the handler
    /// [works with](crate::PartitionHandler::last_error), as Kafka's brokers. `None` = there is neither.
    pub last_error: Option<String>,
}

/// A partition that is owned and stands before a record that can't be handled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppedPartition {
    /// The partition.
    pub partition: TopicPartition,
    /// The epoch under which it stands; 0 = its state can't be built, so that it does not begin.
    pub epoch: Epoch,
    /// The offset of the record.
    pub offset: Offset,
    /// The reason, for people.
    pub reason: String,
    /// True if no record has failed: the handler could not end its work for a move, with the record at `offset` as the next one.
    pub is_of_drain: bool,
}

/// A partition that is owned and whose next record fails again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingPartition {
    /// The partition.
    pub partition: TopicPartition,
    /// The epoch under which the record failed last.
    pub epoch: Epoch,
    /// The offset of the record.
    pub offset: Offset,
    /// The reason of the last failure, for people.
    pub reason: String,
    /// The time of the first failure under this grant, in milliseconds since 1970.
    pub since_unix_ms: i64,
}

/// Watches a running consumer; cheap to clone.
#[derive(Debug, Clone)]
pub struct ConsumerHandle {
    pub(crate) status: watch::Receiver<ConsumerStatus>,
    pub(crate) claim: SessionClaim,
}

/// The consumer stopped before what was waited for came true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the consumer has stopped")]
pub struct ConsumerStopped;

impl ConsumerHandle {
    /// The current status.
    #[must_use]
    pub fn status(&self) -> ConsumerStatus {
        self.status.borrow().clone()
    }

    /// True if the session lets its owner act now.
    #[must_use]
    pub fn claim_is_valid(&self) -> bool {
        self.claim.is_valid()
    }

    /// True until the consumer has ended: for the probe whose failure restarts a process.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.status.has_changed().is_ok()
    }

    /// True if the session is open and lets its owner act: for the probe that says whether a process counts as started.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.is_live() && self.status.borrow().session.is_some() && self.claim.is_valid()
    }

    /// Waits until `reached` holds, and returns the status for which it does.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// [`ConsumerStopped`] where that can't happen any more.
    pub async fn wait_for(
        &mut self,
        reached: impl FnMut(&ConsumerStatus) -> bool,
    ) -> Result<ConsumerStatus, ConsumerStopped> {
        let status = self.status.wait_for(reached).await.map_err(|_| ConsumerStopped)?;
        Ok(status.clone())
    }
}
