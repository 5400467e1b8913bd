//! The right to act for a partition, checked before every effect.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use kafka_assigner_session::{ClaimTerm, Clock};
use tokio::sync::Notify;

use kafka_assigner_types::id::Epoch;
use kafka_assigner_types::moment::{Moment, micros};

/// The end of the time for which the session lets its owner act, shared by all of its partitions.
#[derive(Debug, Clone)]
pub(crate) struct SessionClaim(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: Clock,
    /// Microseconds after the client's start; 0 = not at all.
    overlap_until: AtomicU64,
    strict_until: AtomicU64,
    changed: Notify,
}

impl SessionClaim {
    pub(crate) fn new(clock: Clock) -> Self {
        let (overlap_until, strict_until) = (AtomicU64::new(0), AtomicU64::new(0));
        Self(Arc::new(Shared { clock, overlap_until, strict_until, changed: Notify::new() }))
    }

    /// Moves the end of the claim; `None` ends it at once.
    pub(crate) fn set(&self, term: Option<ClaimTerm>) {
        self.0.overlap_until.store(term.map_or(0, |term| micros(term.overlap.0)), Ordering::SeqCst);
        self.0.strict_until.store(term.map_or(0, |term| micros(term.strict.0)), Ordering::SeqCst);
        self.0.changed.notify_waiters();
    }

    /// True if the owner of a partition in the mode `overlap` may act.
    pub(crate) fn is_valid(&self) -> bool {
        !self.remaining(false).is_zero()
    }

    fn remaining(&self, strict: bool) -> Duration {
        self.remaining_at(strict, self.0.clock.now())
    }

    #[inline]
    fn remaining_at(&self, strict: bool, now: Moment) -> Duration {
        let until = if strict { &self.0.strict_until } else { &self.0.overlap_until };
        Duration::from_micros(until.load(Ordering::SeqCst).saturating_sub(micros(now.0)))
    }

    /// A claim for one partition that was granted under `epoch`, in a mode that promises one owner at a time or not.
    pub(crate) fn partition(&self, epoch: Epoch, strict: bool) -> Claim {
        let right = PartitionRight {
            epoch: AtomicU64::new(epoch.0),
            strict: AtomicBool::new(strict),
            ended: AtomicBool::new(false),
        };
        Claim { session: self.clone(), right: Arc::new(right) }
    }
}

#[derive(Debug)]
struct PartitionRight {
    epoch: AtomicU64,
    strict: AtomicBool,
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
    right: Arc<PartitionRight>,
}

/// The partition was taken away, or given up; it is not this grant that will make it valid again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the claim has ended")]
pub struct ClaimEnded;

impl Claim {
    /// True if its holder may act now: three atomic loads and one reading of each clock that counts.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.remaining().is_zero()
    }

    /// The clock whose moments [`is_valid_at`](Self::is_valid_at) takes.
    #[cfg(feature = "kafka")]
    #[inline]
    pub(crate) fn clock(&self) -> &Clock {
        &self.session.0.clock
    }

    /// As [`is_valid`](Self::is_valid), for callers that have read the clock for something else just before.
    #[cfg(feature = "kafka")]
    #[inline]
    pub(crate) fn is_valid_at(&self, now: Moment) -> bool {
        !self.has_ended() && !self.session.remaining_at(self.is_strict(), now).is_zero()
    }

    /// The time for which it stays valid unless it is confirmed, or ends, before: an upper bound for what its holder is
    /// about to do. Zero = it is not valid.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        if self.has_ended() { Duration::ZERO } else { self.session.remaining(self.is_strict()) }
    }

    /// True if it is over for good.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.right.ended.load(Ordering::SeqCst)
    }

    /// The fencing token to put beside every effect. It rises while an owner goes on under a new grant.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        Epoch(self.right.epoch.load(Ordering::SeqCst))
    }

    /// True if the mode of the grant promises one owner at a time. Such a claim ends by this client's own clock, a
    /// third of the time to live before the session does; in `overlap` it goes on while the store can't be reached.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.right.strict.load(Ordering::SeqCst)
    }

    /// Waits until it is valid.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// [`ClaimEnded`] as soon as it is over for good.
    pub async fn valid(&self) -> Result<(), ClaimEnded> {
        self.until(Self::is_valid).await
    }

    /// Waits until it is over for good.
    ///
    /// Cancel safe.
    pub(crate) async fn ended(&self) {
        let _ended = self.until(|_| false).await;
    }

    /// Waits until it is that of a grant above `epoch`.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// [`ClaimEnded`] as soon as it is over for good.
    #[cfg(feature = "kafka")]
    pub(crate) async fn above(&self, epoch: Epoch) -> Result<(), ClaimEnded> {
        self.until(|claim| claim.epoch() > epoch).await
    }

    /// Waits until `is_so`. Cancel safe.
    async fn until(&self, is_so: impl Fn(&Self) -> bool) -> Result<(), ClaimEnded> {
        loop {
            // Registered before looking, so that no change can slip in between.
            let changed = self.session.0.changed.notified();
            if self.has_ended() {
                return Err(ClaimEnded);
            }
            if is_so(self) {
                return Ok(());
            }
            changed.await;
        }
    }

    pub(crate) fn go_on(&self, epoch: Epoch, strict: bool) {
        self.right.epoch.fetch_max(epoch.0, Ordering::SeqCst);
        self.right.strict.store(strict, Ordering::SeqCst);
        self.session.0.changed.notify_waiters();
    }

    pub(crate) fn end(&self) {
        self.right.ended.store(true, Ordering::SeqCst);
        self.session.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kafka_assigner_session::ScriptedSuspensions;

    fn session() -> (Clock, SessionClaim) {
        let clock = Clock::start();
        (clock.clone(), SessionClaim::new(clock))
    }

    fn for_seconds(clock: &Clock, seconds: u64) -> ClaimTerm {
        let until = clock.now() + Duration::from_secs(seconds);
        ClaimTerm { overlap: until, strict: until }
    }

    #[tokio::test(start_paused = true)]
    async fn a_strict_claim_ends_by_the_strict_clock_also_after_a_switch_of_modes() {
        let (clock, session) = session();
        let (strict, other) = (session.partition(Epoch(3), true), session.partition(Epoch(3), false));
        let until = |seconds| clock.now() + Duration::from_secs(seconds);
        session.set(Some(ClaimTerm { overlap: until(600), strict: until(20) }));
        assert!(strict.is_valid() && other.is_valid());
        tokio::time::advance(Duration::from_secs(20)).await;
        assert!(!strict.is_valid() && other.is_valid());
        other.go_on(Epoch(4), true);
        assert!(!other.is_valid() && other.epoch() == Epoch(4));
    }

    #[tokio::test(start_paused = true)]
    async fn a_claim_lapses_by_itself_and_comes_back_when_confirmed() {
        let (clock, session) = session();
        let claim = session.partition(Epoch(3), false);
        assert!(!claim.is_valid());
        session.set(Some(for_seconds(&clock, 20)));
        assert!(claim.is_valid());
        tokio::time::advance(Duration::from_secs(15)).await;
        assert_eq!(claim.remaining(), Duration::from_secs(5));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert!(!claim.is_valid() && claim.remaining().is_zero());
        session.set(Some(for_seconds(&clock, 1)));
        assert!(claim.is_valid());
    }

    #[tokio::test(start_paused = true)]
    async fn a_claim_is_over_after_a_suspension_that_outlasted_it() {
        let suspensions = Arc::new(ScriptedSuspensions::default());
        let clock = Clock::counting(suspensions.clone());
        let session = SessionClaim::new(clock.clone());
        let claim = session.partition(Epoch(3), true);
        session.set(Some(for_seconds(&clock, 20)));
        suspensions.suspend(Duration::from_secs(19));
        assert_eq!(claim.remaining(), Duration::from_secs(1));
        suspensions.suspend(Duration::from_secs(1));
        assert!(!claim.is_valid());
    }

    #[tokio::test(start_paused = true)]
    async fn an_ended_claim_wakes_its_waiters_and_stays_ended() {
        let (clock, session) = session();
        let claim = session.partition(Epoch(3), false);
        let waiting = tokio::spawn({
            let claim = claim.clone();
            async move { claim.valid().await }
        });
        tokio::task::yield_now().await;
        claim.end();
        assert_eq!(waiting.await.expect("no panic"), Err(ClaimEnded));
        session.set(Some(for_seconds(&clock, 1)));
        assert!(!claim.is_valid() && claim.remaining().is_zero());
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_goes_on_when_the_session_is_confirmed() {
        let (clock, session) = session();
        let claim = session.partition(Epoch(3), false);
        let waiting = tokio::spawn(async move { claim.valid().await });
        tokio::task::yield_now().await;
        session.set(Some(for_seconds(&clock, 1)));
        assert_eq!(waiting.await.expect("no panic"), Ok(()));
    }
}
