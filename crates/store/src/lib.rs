//! Keys, revisions, leases, transactions and watches; nothing about Kafka.

#[cfg(feature = "testing")]
pub mod conformance;
pub mod embedded;
mod error;
mod traits;

pub use embedded::MemoryStore;
pub use error::Error;
pub use traits::{Store, Watch, WatchBatch};
