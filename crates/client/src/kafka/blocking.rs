//! Calls of librdkafka that block, run beside the runtime.

use std::time::Duration;

/// Long against an election of a group coordinator's successor, short against a phase's 30 s. Who asks for a committed
/// offset may wait for another request first, so for twice that.
pub(super) const KAFKA_BOUND: Duration = Duration::from_secs(5);

/// Runs work that may block beside the runtime. If it is not awaited any more, it goes on by itself.
pub(super) async fn blocking<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The runtime shuts down, and this task with it.
        Err(_) => std::future::pending().await,
    }
}
