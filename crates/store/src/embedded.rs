//! The store for a single process: one engine, kept in memory or written to a file.

mod check;
mod driver;
mod engine;
#[cfg(feature = "file")]
mod file;
mod history;
mod leases;
mod memory;
mod shared;
#[cfg(feature = "file")]
mod state_file;
mod store;
mod watch;

#[cfg(feature = "file")]
pub use file::{FileDriver, FileStore};
pub use history::Retention;
pub use leases::{LONGEST_TTL, SHORTEST_TTL};
pub use memory::{MemoryDriver, MemoryStore, StoreBackup};
pub use store::Embedded;
