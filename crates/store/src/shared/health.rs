//! The health of the one watch.

use tokio::time::Instant;

/// The health of the watch that all readers share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchHealth {
    /// It has been broken since then, and is being set up again; `None`: it runs, or was never asked for.
    pub broken_since: Option<Instant>,
    /// The last failure, also when it has been recovered from.
    pub last_error: Option<String>,
}
