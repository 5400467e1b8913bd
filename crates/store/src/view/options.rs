//! The options of a view.

use std::time::Duration;

use bytes::Bytes;

use crate::backoff::Backoff;
use crate::pace::CheckPace;

/// The options of a view.
#[derive(Debug, Clone)]
pub struct Options {
    /// The prefix that is copied.
    pub prefix: Bytes,
    /// The longest interval of the comparison with a fresh listing; each one is shortened by up to half, by the seed of
    /// `backoff`. Default 60 s.
    pub check_every: CheckPace,
    /// The longest time for the watch to reach the revision of such a listing before it counts as
    /// stalled and is set up anew. Default 10 s: longer than a store's own recovery takes.
    pub stalled_after: Duration,
    /// Updates that a listener may be behind before it is told that anything may have changed. Default
    /// 256; each holds what it touched in memory.
    pub backlog: usize,
    /// The waits after failures.
    pub backoff: Backoff,
}

impl Options {
    /// The defaults for a prefix.
    pub fn new(prefix: impl Into<Bytes>) -> Self {
        Self {
            prefix: prefix.into(),
            check_every: CheckPace::new(Duration::from_secs(60)),
            stalled_after: Duration::from_secs(10),
            backlog: 256,
            backoff: Backoff::default(),
        }
    }
}
