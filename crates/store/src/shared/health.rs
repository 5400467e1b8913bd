//! The health of the one watch.

use tokio::time::Instant;

/// The health of the watch that all readers share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchHealth {
    /// Since then it has been broken, and is being set up again, or nothing has proved that it is whole, since the store
    /// does not answer. `None`: it runs, or was never asked for.
    pub broken_since: Option<Instant>,
    /// The last failure, also when it has been recovered from.
    pub last_error: Option<String>,
}
