//! The bounds of what a router holds, and the reasons for which a request is not sent.

use std::time::Duration;

/// The bounds of what a router holds. A request beyond one fails at once, and may be repeated: nothing was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StashLimits {
    /// The most requests for one partition, those in flight included; at least 1. Default 10 000, so that one busy
    /// partition does not use up what others need.
    pub requests: usize,
    /// The most bytes of all requests together, those in flight included; at least 1. Default 64 MiB.
    pub bytes: usize,
    /// The longest time that a request waits before it is sent; above 0. Default 15 s: a switch takes milliseconds, so
    /// this bounds only requests for an owner that is gone, and callers rarely wait longer.
    pub age: Duration,
    /// The most requests of one partition in flight at once; at least 1. Default 64. With 1 their order is kept
    /// strictly, whatever is refused. With more they are started in order, and one that was refused, for example by an
    /// owner whose claim lapsed for a moment, can be overtaken by those that were in flight together with it.
    pub window: usize,
}

impl Default for StashLimits {
    fn default() -> Self {
        Self { requests: 10_000, bytes: 64 << 20, age: Duration::from_secs(15), window: 64 }
    }
}

/// The reasons for which a request was not sent. Nothing was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsent {
    /// The router has no table just now: it has not been loaded, or the router's session is over or not confirmed.
    #[error("the routing table is closed")]
    Closed,
    /// No such partition in the group.
    #[error("no such partition")]
    NoPartition,
    /// As many requests for the partition are held as may be.
    #[error("too many requests held for the partition")]
    TooMany,
    /// As many bytes are held as may be.
    #[error("too many bytes held")]
    TooLarge,
    /// It waited for as long as a request may.
    #[error("waited too long for an owner")]
    TooOld,
    /// It waited for as long as a request may, that long, at last behind an earlier request of its partition, whose transport
    /// did not return from its first poll.
    #[error("not sent: waited {0:?}, at last for its turn behind an earlier request of the partition")]
    NoTurn(Duration),
    /// The router has stopped.
    #[error("the router has stopped")]
    Stopped,
}
