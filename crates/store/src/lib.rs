//! Keys, revisions, leases, transactions and watches; nothing about Kafka.

mod backoff;
#[cfg(feature = "testing")]
pub mod conformance;
pub mod election;
pub mod embedded;
mod error;
#[cfg(feature = "etcd")]
pub mod etcd;
#[cfg(feature = "testing")]
pub mod faulty;
mod signal;
mod traits;
pub mod view;

pub use backoff::Backoff;
pub use election::Election;
#[cfg(feature = "file")]
pub use embedded::FileStore;
pub use embedded::MemoryStore;
pub use error::Error;
#[cfg(feature = "etcd")]
pub use etcd::{EtcdOptions, EtcdStore};
pub use traits::{Store, Watch, WatchBatch};
pub use view::View;
