//! The options of an election.

use std::time::Duration;

use bytes::Bytes;

use crate::backoff::Backoff;
use crate::pace::CheckPace;

/// The options of the lease that all terms of an instance share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseOptions {
    /// Its time to live. Default 5 s. The leaders of a dead instance are replaced after it, and those of a living one stop
    /// at two thirds of it without a confirmation.
    pub ttl: Duration,
    /// The longest time for giving it back before it is left to run out. Default 1 s: shutdowns wait for it.
    pub release_within: Duration,
    /// The waits after failures.
    pub backoff: Backoff,
}

impl Default for LeaseOptions {
    fn default() -> Self {
        let (ttl, release_within) = (Duration::from_secs(5), Duration::from_secs(1));
        Self { ttl, release_within, backoff: Backoff::default() }
    }
}

/// The options of an election.
#[derive(Debug, Clone)]
pub struct Options {
    /// The key that the leader holds.
    pub key: Bytes,
    /// The value of the key: the leader's name and address.
    pub value: Bytes,
    /// The interval in which a standby, and a leader, reads the key without an event of its watch. Default 5 s: a
    /// deaf watch costs about as much as a dead leader. With a [`SharedWatch`](crate::SharedWatch), which proves that
    /// it is not deaf, it may be much longer.
    pub reread_every: CheckPace,
    /// The longest time for deleting the key before that is left to the next campaign, or to the keeper of the lease.
    /// Default 1 s: shutdowns wait for it.
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
            reread_every: CheckPace::new(Duration::from_secs(5)),
            release_within: Duration::from_secs(1),
            backoff: Backoff::default(),
        }
    }
}
