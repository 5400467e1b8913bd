//! Keys, revisions, leases, transactions and watches; nothing about Kafka.

mod error;
mod traits;

pub use error::Error;
pub use traits::{Store, WatchBatch, Watch};
