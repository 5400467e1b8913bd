//! Something that can be killed as a process is, inside this one.

use std::future::Future;
use std::io;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A runtime with everything that runs on it.
#[derive(Debug)]
pub(crate) struct Process {
    runtime: Option<Runtime>,
    shutdown: CancellationToken,
}

impl Process {
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name(name).enable_all().build()?;
        Ok(Self { runtime: Some(runtime), shutdown: CancellationToken::new() })
    }

    /// Runs `main` there, with the token that asks it to end in good order.
    pub(crate) fn spawn<F>(&self, main: impl FnOnce(CancellationToken) -> F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let runtime = self.runtime.as_ref().expect("the runtime is there until the process is dropped");
        runtime.spawn(main(self.shutdown.clone()))
    }

    /// Asks it to end in good order.
    pub(crate) fn ask_to_end(&self) {
        self.shutdown.cancel();
    }

    /// Kills it: every task is dropped where it stands, every socket closes, nobody says goodbye.
    pub(crate) fn kill(self) {
        drop(self);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Sets its flag when it is dropped.
    struct Dropped(Arc<AtomicBool>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn killing_drops_tasks_where_they_stand_without_asking_them() {
        let process = Process::new("victim").unwrap();
        let was_dropped = Arc::new(AtomicBool::new(false));
        let flag = Dropped(Arc::clone(&was_dropped));
        let asked = process.spawn(|shutdown| async move {
            let _flag = flag;
            shutdown.cancelled().await;
        });
        process.kill();
        assert!(asked.await.is_err_and(|error| error.is_cancelled()));
        assert!(was_dropped.load(Ordering::SeqCst));
    }
}
