//! Waiting for what can be observed, in async code. `holds_within` is the same for code that blocks.

use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::time::{Instant, sleep};

/// The time between two looks, where the caller has no wish of its own.
const LOOK: Duration = Duration::from_millis(10);

/// Looks again and again until `look` finds something, for at most `bound`; `what` is waited for.
///
/// # Errors
/// When `look` fails, or `bound` is over.
///
/// # Cancel safety
/// Cancel safe: nothing is kept between two looks.
pub async fn until<T>(what: &str, bound: Duration, look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let found = within(bound, LOOK, look).await?;
    found.with_context(|| format!("{what} did not happen within {} s", bound.as_secs()))
}

/// Looks every so often until `look` finds something; `None` after `bound`.
///
/// # Errors
/// When `look` fails.
///
/// # Cancel safety
/// Cancel safe: nothing is kept between two looks.
pub async fn within<T>(
    bound: Duration,
    every: Duration,
    mut look: impl FnMut() -> Result<Option<T>>,
) -> Result<Option<T>> {
    let deadline = Instant::now() + bound;
    loop {
        let found = look()?;
        if found.is_some() || Instant::now() >= deadline {
            return Ok(found);
        }
        sleep(every).await;
    }
}
