//! Work that may wait for a disk.

use std::error::Error as StdError;

use futures::FutureExt as _;
use futures::channel::oneshot;
use futures::future::BoxFuture;

/// Does what may wait for a disk on a thread of its own.
pub(crate) fn on_thread<R: Send + 'static, E: StdError + Send + Sync + 'static>(
    work: impl FnOnce() -> Result<R, E> + Send + 'static,
) -> BoxFuture<'static, Result<R, Box<dyn StdError + Send + Sync>>> {
    let (answer, answered) = oneshot::channel();
    let started = std::thread::Builder::new().name("snapshot".to_owned()).spawn(move || {
        // The one that asked may have given up.
        let _ = answer.send(work());
    });
    async move {
        started?;
        Ok(answered.await??)
    }
    .boxed()
}
