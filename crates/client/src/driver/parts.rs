//! The parts of a consumer that its driver works with.

use std::sync::Arc;

use kafka_assigner_session::Clock;
use tokio::sync::watch;

use crate::claim::SessionClaim;
use crate::options::ConsumerOptions;
use crate::status::ConsumerStatus;

/// The parts of a consumer.
#[derive(Debug)]
pub(crate) struct ConsumerParts<T> {
    pub(crate) options: ConsumerOptions,
    pub(crate) transport: Arc<T>,
    pub(crate) clock: Clock,
    pub(crate) claim: SessionClaim,
    pub(crate) status: watch::Sender<ConsumerStatus>,
}
