//! The clock that all processes of the run share, and waiting for what can be observed.

use std::ops::Add;
use std::time::Duration;

use anyhow::{Result, bail};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

/// How often one looks.
const LOOK: Duration = Duration::from_millis(10);

/// Microseconds of the machine's monotonic clock, by which claims are counted too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Moment(pub(crate) u64);

impl Moment {
    /// Now.
    pub(crate) fn now() -> Self {
        let now = clock_gettime(ClockId::Monotonic);
        let micros = now.tv_sec.unsigned_abs() * 1_000_000 + now.tv_nsec.unsigned_abs() / 1_000;
        Self(micros)
    }

    /// How long after `earlier` this is; zero where it is not.
    pub(crate) const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_micros()).unwrap_or(u64::MAX)))
    }
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
