//! The right to act for a partition, checked before every effect.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use crate::moment::{Clock, Moment};

/// Until when the session lets its owner act, shared by all of its partitions.
#[derive(Debug, Clone)]
pub(crate) struct SessionClaim(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: Clock,
    /// Microseconds after the client's start; 0 = not at all.
    valid_until: AtomicU64,
    changed: Notify,
}

impl SessionClaim {
    pub(crate) fn new(clock: Clock) -> Self {
        Self(Arc::new(Shared { clock, valid_until: AtomicU64::new(0), changed: Notify::new() }))
    }

    /// Moves the end of the claim; `None` ends it at once.
    pub(crate) fn set(&self, until: Option<Moment>) {
        self.0.valid_until.store(until.map_or(0, micros), Ordering::SeqCst);
        self.0.changed.notify_waiters();
    }

    pub(crate) fn is_valid(&self) -> bool {
        !self.remaining().is_zero()
    }

    fn remaining(&self) -> Duration {
        let until = self.0.valid_until.load(Ordering::SeqCst);
        Duration::from_micros(until.saturating_sub(micros(self.0.clock.now())))
    }

    /// A claim for one partition that was granted under `epoch`.
    pub(crate) fn partition(&self, epoch: u64) -> Claim {
        let right = Right { epoch: AtomicU64::new(epoch), ended: AtomicBool::new(false) };
        Claim { session: self.clone(), right: Arc::new(right) }
    }
}

fn micros(moment: Moment) -> u64 {
    u64::try_from(moment.since_start().as_micros()).unwrap_or(u64::MAX)
}

#[derive(Debug)]
struct Right {
    epoch: AtomicU64,
    ended: AtomicBool,
}

/// The right to act as the owner of one partition; cheap to clone and to ask.
///
/// It holds while the session was confirmed recently enough and the partition has not been taken away. Ask
/// before each side effect: what was valid a moment ago may have lapsed, for example while the process was
/// suspended. A claim that lapsed because no instance answered can become valid again; one that
/// [ended](Self::has_ended) never does.
#[derive(Debug, Clone)]
pub struct Claim {
    session: SessionClaim,
    right: Arc<Right>,
}

/// The partition was taken away, or given up; it is not this grant that will make it valid again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the claim has ended")]
pub struct ClaimEnded;

impl Claim {
    /// Whether its holder may act now: two atomic loads and one reading of the clock.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.has_ended() && self.session.is_valid()
    }

    /// How long it stays valid unless it is confirmed, or ends, before: an upper bound for what its holder is about
    /// to do. Zero = it is not valid.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        if self.has_ended() { Duration::ZERO } else { self.session.remaining() }
    }

    /// Whether it is over for good.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.right.ended.load(Ordering::SeqCst)
    }

    /// The fencing token to put beside every effect. It rises while an owner goes on under a new grant.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.right.epoch.load(Ordering::SeqCst)
    }

    /// Waits until it is valid.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// [`ClaimEnded`] as soon as it is over for good.
    pub async fn valid(&self) -> Result<(), ClaimEnded> {
        loop {
            // Registered before looking, so that no change can slip in between.
            let changed = self.session.0.changed.notified();
            if self.has_ended() {
                return Err(ClaimEnded);
            }
            if self.is_valid() {
                return Ok(());
            }
            changed.await;
        }
    }

    pub(crate) fn raise_epoch(&self, epoch: u64) {
        self.right.epoch.fetch_max(epoch, Ordering::SeqCst);
    }

    pub(crate) fn end(&self) {
        self.right.ended.store(true, Ordering::SeqCst);
        self.session.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> (Clock, SessionClaim) {
        let clock = Clock::start();
        (clock, SessionClaim::new(clock))
    }

    #[tokio::test(start_paused = true)]
    async fn a_claim_lapses_by_itself_and_comes_back_when_confirmed() {
        let (clock, session) = session();
        let claim = session.partition(3);
        assert!(!claim.is_valid());
        session.set(Some(clock.now() + Duration::from_secs(20)));
        assert!(claim.is_valid());
        tokio::time::advance(Duration::from_secs(15)).await;
        assert_eq!(claim.remaining(), Duration::from_secs(5));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert!(!claim.is_valid() && claim.remaining().is_zero());
        session.set(Some(clock.now() + Duration::from_secs(1)));
        assert!(claim.is_valid());
    }

    #[tokio::test(start_paused = true)]
    async fn an_ended_claim_wakes_its_waiters_and_stays_ended() {
        let (clock, session) = session();
        let claim = session.partition(3);
        let waiting = tokio::spawn({
            let claim = claim.clone();
            async move { claim.valid().await }
        });
        tokio::task::yield_now().await;
        claim.end();
        assert_eq!(waiting.await.expect("no panic"), Err(ClaimEnded));
        session.set(Some(clock.now() + Duration::from_secs(1)));
        assert!(!claim.is_valid() && claim.remaining().is_zero());
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_goes_on_when_the_session_is_confirmed() {
        let (clock, session) = session();
        let claim = session.partition(3);
        let waiting = tokio::spawn(async move { claim.valid().await });
        tokio::task::yield_now().await;
        session.set(Some(clock.now() + Duration::from_secs(1)));
        assert_eq!(waiting.await.expect("no panic"), Ok(()));
    }
}
