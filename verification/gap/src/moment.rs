//! The clock of the run, and waiting for what can be observed.

use std::time::{Duration, UNIX_EPOCH};

use anyhow::Result;
use kafka_assigner_audit::Micros;
use tokio::time::{Instant, sleep};

/// How often one looks.
const LOOK: Duration = Duration::from_millis(20);

/// Now, as members write it into their histories: all run on this machine.
pub(crate) fn now() -> Micros {
    let since = UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Looks again and again until `look` finds something; `None` after `bound`.
///
/// Cancel safe.
pub(crate) async fn within<T>(
    bound: Duration,
    mut look: impl FnMut() -> Result<Option<T>>,
) -> Result<Option<T>> {
    let deadline = Instant::now() + bound;
    loop {
        let found = look()?;
        if found.is_some() || Instant::now() >= deadline {
            return Ok(found);
        }
        sleep(LOOK).await;
    }
}
