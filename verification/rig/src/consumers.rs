//! Consumers: processes that are started by each run in its own way, and leave in one.

use std::process::ExitStatus;
use std::time::Duration;

use anyhow::Result;

use crate::NamedProcess;

/// The longest departure: handing over, then giving up what nobody took, each with its own bound in the consumer.
pub const LEAVE: Duration = Duration::from_secs(45);

/// Asks a consumer to leave, and waits until it has; returns how its process ended.
///
/// # Errors
/// When the process is gone, or does not end within [`LEAVE`].
///
/// # Cancel safety
/// Cancelled, the consumer leaves all the same.
pub async fn leave(consumer: &mut NamedProcess) -> Result<ExitStatus> {
    consumer.terminate()?;
    consumer.ends(LEAVE).await
}
