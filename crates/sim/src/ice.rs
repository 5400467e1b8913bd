//! A process that stops making progress while time goes on, and goes on later as if nothing had been.

use std::pin::pin;
use std::sync::Arc;

use tokio::sync::watch;

/// What one process stands on; a clone is the same ice.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ice(Arc<watch::Sender<bool>>);

impl Ice {
    pub(crate) fn freeze(&self) {
        self.0.send_replace(true);
    }

    pub(crate) fn thaw(&self) {
        self.0.send_replace(false);
    }

    pub(crate) fn is_frozen(&self) -> bool {
        *self.0.borrow()
    }

    /// Drives `work`, which is not even looked at while the process is frozen.
    pub(crate) async fn run<F: Future>(&self, work: F) -> F::Output {
        let mut state = self.0.subscribe();
        let mut work = pin!(work);
        loop {
            becomes(&mut state, false).await;
            tokio::select! {
                biased;
                // Frozen first: not one step more.
                () = becomes(&mut state, true) => {}
                output = &mut work => return output,
            }
        }
    }
}

async fn becomes(state: &mut watch::Receiver<bool>, frozen: bool) {
    let changed = state.wait_for(|now| *now == frozen).await.map(drop);
    changed.expect("whoever waits holds the ice");
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
