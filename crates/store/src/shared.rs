//! One watch of the store for everything that an instance follows.
//!
//! An instance keeps a view for each group, and follows the leader key of each group. A store does work for each watch
//! that it has: etcd answers a request for progress only if none of a stream's watches has something yet to
//! deliver. So [`SharedWatch`] is a store in front of the store. Its watches are readers of one watch, which a
//! [`SharedWatchKeeper`] keeps: it goes on after the last change when the watch breaks, so that no reader notices,
//! and proves at intervals that silence means that nothing has happened.

mod delivered;
mod health;
mod keeper;
mod prefixes;
mod proof;
mod readers;
mod store;

pub use health::WatchHealth;
pub use keeper::SharedWatchKeeper;
pub use store::SharedWatch;
