//! The source of topics, and the one task of an instance that asks it.

mod interest;
mod refresher;
mod schedule;

use std::collections::BTreeSet;
use std::fmt::Debug;

use async_trait::async_trait;
use kafka_assigner_core::topics::Found;
use kafka_assigner_types::name::TopicName;

pub(crate) use interest::{TopicBoard, TopicInterest};
pub(crate) use refresher::TopicRefresher;

/// Knows topics, their partition counts and their ids. In production that is Kafka.
#[async_trait]
pub trait TopicSource: Debug + Send + Sync + 'static {
    /// Asks for the topics `names`. A topic of which nothing certain can be said is left out.
    ///
    /// Bounded in time, and cancel safe: asking changes nothing.
    ///
    /// # Errors
    /// [`Error`] where nothing can be said of any.
    async fn find(&self, names: &BTreeSet<TopicName>) -> Result<Found, Error>;
}

/// The source could not be asked; it is asked again.
#[derive(Debug, thiserror::Error)]
#[error("topics can't be looked up")]
pub struct Error {
    /// The kind of the failure, as a label of metrics: few words that stay the same.
    pub label: &'static str,
    /// The cause.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}
