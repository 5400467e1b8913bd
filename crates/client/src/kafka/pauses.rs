//! Partitions whose records wait, since somebody has paused them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kafka_assigner_types::id::{Epoch, TopicPartition};
use tokio::sync::Notify;

use crate::claim::{Claim, ClaimEnded};

/// The pauses of a runner's partitions; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Pauses(Arc<Mutex<BTreeMap<TopicPartition, Pause>>>);

/// The pause of one partition, if there is one; clones share it. It holds under one epoch, so that it is over with the grant
/// for which it was meant, whoever forgets to end it.
#[derive(Debug, Clone, Default)]
pub(super) struct Pause(Arc<PauseSwitch>);

#[derive(Debug, Default)]
struct PauseSwitch {
    /// The epoch; 0 = there is none, since no grant has it.
    under: AtomicU64,
    changed: Notify,
}

impl Pauses {
    fn pauses(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, Pause>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pause of a partition, which whoever processes looks at without a lock.
    pub(super) fn of(&self, at: &TopicPartition) -> Pause {
        self.pauses().entry(at.clone()).or_default().clone()
    }

    /// Nothing of the partition is held here any more.
    pub(super) fn forget(&self, at: &TopicPartition) {
        self.pauses().remove(at);
    }
}

impl Pause {
    /// No record is begun under `epoch`. A word that comes late ends no pause of a later grant.
    pub(super) fn begin(&self, epoch: Epoch) {
        self.0.under.fetch_max(epoch.0, Ordering::AcqRel);
        self.0.changed.notify_waiters();
    }

    /// Ends the pause under `epoch`, and none of another grant.
    pub(super) fn end(&self, epoch: Epoch) {
        let _ = self.0.under.compare_exchange(epoch.0, 0, Ordering::AcqRel, Ordering::Acquire);
        self.0.changed.notify_waiters();
    }

    /// True if no record is to be begun under `epoch`.
    pub(super) fn holds(&self, epoch: Epoch) -> bool {
        let under = self.0.under.load(Ordering::Acquire);
        under != 0 && under == epoch.0
    }

    /// Waits until records may be begun.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// [`ClaimEnded`] where that comes first.
    pub(super) async fn over(&self, claim: &Claim) -> Result<(), ClaimEnded> {
        loop {
            // Registered before looking, so that no change can slip in between.
            let changed = self.0.changed.notified();
            let epoch = claim.epoch();
            if !self.holds(epoch) {
                return Ok(());
            }
            tokio::select! {
                biased;
                // Another grant, or the end of this one.
                risen = claim.above(epoch) => risen?,
                // Somebody paused or resumed it.
                () = changed => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;
    use crate::claim::SessionClaim;
    use kafka_assigner_session::Clock;

    fn at() -> TopicPartition {
        TopicPartition::try_from(("t", 0)).expect("a valid name")
    }

    #[tokio::test]
    async fn a_pause_holds_under_its_epoch_until_it_is_ended() {
        let (pauses, claim) =
            (Pauses::default(), SessionClaim::new(Clock::start()).partition(Epoch(5), true));
        let pause = pauses.of(&at());
        assert!(pause.over(&claim).now_or_never().is_some(), "nobody has paused it");
        pauses.of(&at()).begin(Epoch(5));
        assert!(pause.holds(Epoch(5)) && !pause.holds(Epoch(6)) && !pause.holds(Epoch(0)));
        let waiting = tokio::spawn({
            let (pause, claim) = (pause.clone(), claim.clone());
            async move { pause.over(&claim).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        // Words for another grant: a late pause, and a late end.
        pauses.of(&at()).begin(Epoch(4));
        pauses.of(&at()).end(Epoch(4));
        assert!(pause.holds(Epoch(5)));
        pauses.of(&at()).end(Epoch(5));
        assert!(waiting.await.expect("no panic").is_ok());
        pause.begin(Epoch(4));
        assert!(pause.over(&claim).now_or_never().is_some(), "it was meant for an earlier grant");
    }

    #[tokio::test]
    async fn who_waits_for_the_end_of_a_pause_hears_of_the_end_of_the_claim() {
        let (pause, claim) = (Pause::default(), SessionClaim::new(Clock::start()).partition(Epoch(5), true));
        pause.begin(Epoch(5));
        let waiting = tokio::spawn({
            let claim = claim.clone();
            async move { pause.over(&claim).await }
        });
        tokio::task::yield_now().await;
        claim.end();
        assert!(waiting.await.expect("no panic").is_err());
    }
}
