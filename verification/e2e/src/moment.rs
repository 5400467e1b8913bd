//! The clock of the run, and waiting for what can be observed.

use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Result, bail};
use kafka_assigner_audit::Micros;
use tokio::time::{Instant, sleep};

/// How often one looks.
const LOOK: Duration = Duration::from_millis(10);

/// Now, as consumers write it into their journals: all run on this machine.
pub(crate) fn now() -> Micros {
    let since = UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Looks again and again until `look` finds something, for at most `bound`; `what` is waited for.
///
/// Cancel safe.
pub(crate) async fn until<T>(
    what: &str,
    bound: Duration,
    mut look: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let deadline = Instant::now() + bound;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if Instant::now() >= deadline {
            bail!("{what} did not happen within {} s", bound.as_secs());
        }
        sleep(LOOK).await;
    }
}
