//! All that a first consumer needs in scope: `use kafka_assigner_client::prelude::*`.
//!
//! Beside the crate's own types it has the macro and the token of other crates that appear in its signatures, so
//! that a consumer need not depend on them.

pub use async_trait::async_trait;
pub use tokio_util::sync::CancellationToken;

#[cfg(feature = "kafka")]
pub use crate::kafka::{
    ErrorPolicy, KafkaOptions, KafkaRunner, OpenedState, OrUnchanged, PartitionContext, Preparation, Record,
    RecordError, RecordHandler, Remedy, StateSnapshot,
};
pub use crate::{
    Consumer, ConsumerOptions, Epoch, HandlerError, Offset, OnStop, OwnedContext, PartitionHandler,
    TopicPartition, stop,
};
