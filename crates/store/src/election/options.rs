//! The options of an election.

use std::time::Duration;

use bytes::Bytes;

use crate::backoff::Backoff;

/// The options of an election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The key that the leader holds.
    pub key: Bytes,
    /// The value of the key: the leader's name and address.
    pub value: Bytes,
    /// The time to live of the leader's lease. Default 5 s. A dead leader is replaced after it, and a
    /// living one stops at two thirds of it without a confirmation.
    pub ttl: Duration,
    /// The interval in which a standby, and a leader, reads the key without an event of its watch. Default 5 s: a
    /// deaf watch costs about as much as a dead leader.
    pub reread_every: Duration,
    /// The longest time for deleting the key before it is left to the lease's expiry. Default 1 s: shutdowns wait
    /// for it.
    pub release_within: Duration,
    /// The waits after failures.
    pub backoff: Backoff,
}

impl Options {
    /// The defaults for a key and its value.
    pub fn new(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
            ttl: Duration::from_secs(5),
            reread_every: Duration::from_secs(5),
            release_within: Duration::from_secs(1),
            backoff: Backoff::default(),
        }
    }
}
