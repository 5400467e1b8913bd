//! Work on a thread with a runtime of its own.

use std::io;
use std::thread::JoinHandle;

use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::dispatcher::{get_default, with_default};
use tracing::{Instrument as _, Span};

/// Does `work` on a thread of its own, which nothing on the caller's runtime can hold up, and waits for its result.
///
/// Dropped, it drops the work, and returns when that is done: it may block for as long as the work takes to its next await.
///
/// # Errors
///
/// The thread, or its runtime, can't be had.
///
/// # Panics
///
/// With the panic of the work.
pub(crate) async fn on_own_thread<R: Send + 'static>(
    work: impl Future<Output = R> + Send + 'static,
) -> io::Result<R> {
    let (stop, (alive, has_ended)) = (CancellationToken::new(), oneshot::channel::<()>());
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let work = stop.clone().run_until_cancelled_owned(work).instrument(Span::current());
    let subscriber = get_default(Clone::clone);
    let body = move || {
        let _alive = alive;
        let result = with_default(&subscriber, || runtime.block_on(work));
        // Blocking work there, such as the look-up of a name, holds up nobody.
        runtime.shutdown_background();
        result
    };
    let thread = std::thread::Builder::new().name("kafka-assigner".to_owned()).spawn(body)?;
    let mut thread = OwnThread { stop, thread: Some(thread) };
    // Never sent: dropped with the work, however that ends.
    let _ = has_ended.await;
    Ok(thread.result())
}

struct OwnThread<R> {
    stop: CancellationToken,
    /// `None` = its result was taken.
    thread: Option<JoinHandle<Option<R>>>,
}

impl<R> OwnThread<R> {
    fn result(&mut self) -> R {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(Some(result))) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            Some(Ok(None)) | None => unreachable!("it is stopped only when this is dropped"),
        }
    }
}

impl<R> Drop for OwnThread<R> {
    fn drop(&mut self) {
        self.stop.cancel();
        // A panic while it was dropped: there is nobody to tell.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn the_result_comes_back_and_a_panic_too() {
        assert_eq!(on_own_thread(async { 7 }).await.expect("a thread"), 7);
        let panics = on_own_thread(async { panic!("on purpose") }.map(|()| ()));
        let panicked = std::panic::AssertUnwindSafe(panics).catch_unwind().await;
        assert!(panicked.is_err());
    }

    #[tokio::test]
    async fn what_is_dropped_is_over() {
        let held = Arc::new(());
        let work = {
            let held = held.clone();
            async move {
                let _held = held;
                std::future::pending::<()>().await;
            }
        };
        let dropped = tokio::time::timeout(Duration::from_millis(50), on_own_thread(work)).await;
        assert!(dropped.is_err());
        assert_eq!(Arc::strong_count(&held), 1, "it was dropped before this returned");
    }
}
