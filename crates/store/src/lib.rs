//! Keys, revisions, leases, transactions and watches; nothing about Kafka.
//!
//! [`Store`] is what the service needs of etcd, as a trait. Three stores keep its promises, and one
//! conformance suite checks each of them:
//!
//! | store | where | for |
//! | --- | --- | --- |
//! | `EtcdStore` (feature `etcd`) | a cluster | a group of instances |
//! | `FileStore` (feature `file`) | one process and its file | a single node |
//! | [`MemoryStore`] | one process | tests, simulations, demonstrations |
//!
//! On the trait stand [`View`], a copy of everything under a prefix that follows the store, and
//! [`Election`], which makes one instance the leader and fences its writes; [`SharedWatch`] lets all of an
//! instance's views and elections read one watch. [`Backoff`] is how all of them wait after a failure, and
//! [`CheckPace`] how often each compares what it has with the store. The feature `testing` adds the suite and
//! `FaultyStore`, a link that misbehaves on command.
//!
//! The vocabulary is plain data and lives in [`kafka_assigner_types::kv`]: decisions are made there as
//! transactions, and carried out here. This crate uses tokio's time only, so that a paused clock works, and
//! what waits in it is woken in a fixed order, so that a simulation can be replayed.
//!
//! Start reading at [`Store`], then [`view`], [`shared`] or [`election`]; the engine of the embedded stores is in
//! [`embedded`].

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
mod pace;
pub mod shared;
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
pub use pace::CheckPace;
pub use shared::SharedWatch;
pub use traits::{Store, Watch, WatchBatch};
pub use view::View;
