//! The word to a member that it has missed nothing up to a revision.

use std::future::pending;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The time that a stream that was rung and has nothing to tell waits with its revision: often it follows with a command. A
/// heartbeat elsewhere expects it within the clients' bound for deaf streams, 3 s.
const WITHIN: Duration = Duration::from_millis(500);

/// A revision that is owed to a stream's reader.
#[derive(Debug, Default)]
pub(crate) struct BareRevision(Option<Instant>);

impl BareRevision {
    /// A change may have concerned the member.
    pub(crate) fn owe(&mut self) {
        self.0.get_or_insert_with(|| Instant::now() + WITHIN);
    }

    /// Takes in that the view was looked at, and whether there is anything to tell; true if the bare revision is to be told.
    pub(crate) fn is_due(&mut self, tells: bool) -> bool {
        if tells {
            self.0 = None;
        }
        self.0.take_if(|due| *due <= Instant::now()).is_some()
    }

    /// Waits until it is due. Cancel safe.
    pub(crate) async fn due(&self) {
        match self.0 {
            Some(due) => sleep_until(due).await,
            None => pending().await,
        }
    }
}
