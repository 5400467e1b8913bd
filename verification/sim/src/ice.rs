//! A process that stops making progress while time goes on, and goes on later as if nothing had been.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// The ground that one process stands on; a clone is the same ice.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ice(Arc<State>);

/// Wakes in the order of waiting, which a watch channel does not: it spreads those who wait by chance.
#[derive(Debug, Default)]
struct State {
    is_frozen: AtomicBool,
    changed: Notify,
}

impl Ice {
    pub(crate) fn freeze(&self) {
        self.set(true);
    }

    pub(crate) fn thaw(&self) {
        self.set(false);
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.0.is_frozen.load(Ordering::SeqCst)
    }

    /// Drives `work`, which is not even looked at while the process is frozen.
    pub(crate) async fn run<F: Future>(&self, work: F) -> F::Output {
        let mut work = pin!(work);
        loop {
            self.becomes(false).await;
            tokio::select! {
                biased;
                // Frozen first: not one step more.
                () = self.becomes(true) => {}
                output = &mut work => return output,
            }
        }
    }

    fn set(&self, is_frozen: bool) {
        self.0.is_frozen.store(is_frozen, Ordering::SeqCst);
        self.0.changed.notify_waiters();
    }

    async fn becomes(&self, frozen: bool) {
        loop {
            // Waits before it looks, so that no change slips by.
            let changed = self.0.changed.notified();
            if self.is_frozen() == frozen {
                return;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn frozen_work_makes_no_step_and_goes_on_afterwards() {
        let ice = Ice::default();
        let start = Instant::now();
        let work = tokio::spawn({
            let ice = ice.clone();
            async move { ice.run(sleep(Duration::from_secs(1))).await }
        });
        tokio::task::yield_now().await;
        ice.freeze();
        sleep(Duration::from_secs(5)).await;
        assert!(!work.is_finished());
        ice.thaw();
        work.await.expect("no panic");
        assert_eq!(start.elapsed(), Duration::from_secs(5));
    }
}
