//! The source of a group's topics.

use std::collections::BTreeSet;
use std::fmt::Debug;

use async_trait::async_trait;
use kafka_assigner_core::topics::Found;
use kafka_assigner_types::name::TopicName;

/// Knows topics and their partition counts. In production that is Kafka.
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
pub struct Error(#[source] pub Box<dyn std::error::Error + Send + Sync>);
