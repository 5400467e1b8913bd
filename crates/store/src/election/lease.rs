//! The lease on which all leader keys of an instance hang.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_types::kv::{Lease, LeaseId, Record};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::lease_keeper::LeaderLeaseKeeper;
use super::options::LeaseOptions;
use super::term::End;
use crate::signal::Signal;
use crate::traits::Store;

/// The time for which an abandoned key is looked for. An attempt whose answer was lost may be carried out after it was
/// given up, but no store holds a request back for so long.
const LATE: Duration = Duration::from_secs(60);

/// The lease that every term of an instance shares, so that the store is asked for one renewal however many groups the
/// instance leads. It is granted when it is first needed. Clones are handles of the same.
#[derive(Debug, Clone)]
pub struct LeaderLease {
    need: Arc<Signal<LeaseNeed>>,
    stop: CancellationToken,
}

/// The messages between candidates and the keeper of the lease.
#[derive(Debug, Default)]
struct LeaseNeed {
    /// Those who wait for a lease.
    waiting: usize,
    held: Option<Arc<HeldLease>>,
    /// The keys that their campaigns could not give back, since when; at most one for each election.
    abandoned: BTreeMap<Bytes, Instant>,
    /// The keys that campaigns try to create just now, or lead by, and how many campaigns: one key may have several while
    /// its election is replaced by another one.
    claimed: BTreeMap<Bytes, usize>,
}

/// The claim of a campaign on its key, from its attempt to the end of its term. What else hangs on the lease under that key
/// belongs to nobody.
#[derive(Debug)]
pub(super) struct KeyClaim {
    lease: LeaderLease,
    key: Bytes,
}

impl Drop for KeyClaim {
    fn drop(&mut self) {
        self.lease.need.update_if(|need| {
            if let Entry::Occupied(mut claims) = need.claimed.entry(self.key.clone()) {
                *claims.get_mut() -= 1;
                if *claims.get() == 0 {
                    claims.remove();
                }
            }
            false
        });
    }
}

/// One who waits for a lease; dropping it ends the wait.
struct Waiting<'a>(&'a Signal<LeaseNeed>);

impl<'a> Waiting<'a> {
    fn begin(need: &'a Signal<LeaseNeed>) -> Self {
        need.update(|need| need.waiting += 1);
        Self(need)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.update_if(|need| {
            need.waiting -= 1;
            false
        });
    }
}

impl LeaderLease {
    /// The lease of an instance until `stop`, and its keeper, which has to be [run](LeaderLeaseKeeper::run) for anybody to
    /// win an election with it. At `stop` all keys on it are given back together.
    pub fn new(
        store: Arc<dyn Store>,
        options: LeaseOptions,
        stop: CancellationToken,
    ) -> (Self, LeaderLeaseKeeper) {
        let lease = Self { need: Arc::default(), stop };
        (lease.clone(), LeaderLeaseKeeper::new(store, options, lease))
    }

    /// The end of the lease for good: its keeper gives all keys back with it, and no campaign has to.
    pub(super) const fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Waits for a lease that has not ended. Cancel safe.
    pub(super) async fn hold(&self) -> Arc<HeldLease> {
        let _waiting = Waiting::begin(&self.need);
        self.need.wait_for(|need| need.held.clone().filter(|held| !held.has_ended())).await
    }

    /// True if a record hangs on the lease that is held now and no campaign claims it, so that an earlier attempt of this
    /// instance left it.
    pub(super) fn has_left(&self, record: &Record) -> bool {
        self.need.read(|need| {
            let is_ours = need.held.as_ref().is_some_and(|held| held.id() == record.lease);
            is_ours && !need.claimed.contains_key(&record.key)
        })
    }

    /// Waits until somebody waits for a lease.
    pub(super) async fn needed(&self) {
        self.need.wait_for(|need| (need.waiting > 0).then_some(())).await;
    }

    /// Hands a new lease out; `None`: it has ended.
    pub(super) fn set(&self, held: Option<Arc<HeldLease>>) {
        self.need.update(|need| {
            need.held = held;
            // The keys go with their lease.
            need.abandoned.clear();
        });
    }

    /// Leaves a key that could not be given back to the keeper of the lease.
    pub(super) fn abandon(&self, key: &Bytes) {
        self.need.update(|need| {
            need.abandoned.insert(key.clone(), Instant::now());
        });
    }

    /// Claims a key for a campaign that is about to create it: from now on it is neither another campaign's to delete nor
    /// the keeper's.
    pub(super) fn claim(&self, key: &Bytes) -> KeyClaim {
        self.need.update_if(|need| {
            need.abandoned.remove(key);
            *need.claimed.entry(key.clone()).or_default() += 1;
            false
        });
        KeyClaim { lease: self.clone(), key: key.clone() }
    }

    /// True if the key was abandoned, and no campaign has claimed it since or does so.
    pub(super) fn is_abandoned(&self, key: &Bytes) -> bool {
        self.need.read(|need| need.abandoned.contains_key(key) && !need.claimed.contains_key(key))
    }

    /// Waits for abandoned keys. Cancel safe.
    pub(super) async fn abandoned(&self) -> Vec<Bytes> {
        self.need.update_if(|need| {
            need.abandoned.retain(|_, since| since.elapsed() < LATE);
            false
        });
        let keys = |need: &LeaseNeed| need.abandoned.keys().cloned().collect::<Vec<_>>();
        self.need.wait_for(|need| Some(keys(need)).filter(|keys| !keys.is_empty())).await
    }
}

/// One lease, from its grant to its end.
#[derive(Debug)]
pub(super) struct HeldLease {
    lease: Lease,
    clock: Signal<LeaseClock>,
}

#[derive(Debug)]
struct LeaseClock {
    valid_until: Instant,
    end: Option<End>,
}

impl HeldLease {
    /// A lease that was asked for at `asked`; the store's own time for it began later.
    pub(super) fn new(lease: Lease, asked: Instant) -> Self {
        Self {
            lease,
            clock: Signal::new(LeaseClock { valid_until: valid_until(asked, lease.ttl), end: None }),
        }
    }

    pub(super) const fn lease(&self) -> Lease {
        self.lease
    }

    pub(super) const fn id(&self) -> LeaseId {
        self.lease.id
    }

    /// Returns true if whoever relies on it may act.
    pub(super) fn is_valid(&self) -> bool {
        self.clock.read(|clock| clock.end.is_none() && Instant::now() < clock.valid_until)
    }

    /// True if its end is known: nothing has to be given back by itself any more.
    pub(super) fn has_ended(&self) -> bool {
        self.clock.read(|clock| clock.end.is_some())
    }

    /// Until when it may be relied on.
    pub(super) fn valid_until(&self) -> Instant {
        self.clock.read(|clock| clock.valid_until)
    }

    /// Notes that the renewal sent at `asked` was confirmed, for `left`. Nobody has to wake up for it.
    pub(super) fn confirm(&self, asked: Instant, left: Duration) {
        self.clock.update_if(|clock| {
            clock.valid_until = clock.valid_until.max(valid_until(asked, left.min(self.lease.ttl)));
            false
        });
    }

    /// Ends it; only the first end counts.
    pub(super) fn close(&self, end: End) {
        self.clock.update_if(|clock| clock.end.is_none() && clock.end.replace(end).is_none());
    }

    /// Waits until it can't be relied on any more, and returns the reason. Cancel safe.
    pub(super) async fn over(&self) -> End {
        loop {
            let until = self.valid_until();
            tokio::select! {
                biased;
                end = self.clock.wait_for(|clock| clock.end) => return end,
                // It may have been confirmed meanwhile.
                () = sleep_until(until) => if !self.is_valid() {
                    self.close(End::Unconfirmed);
                },
            }
        }
    }
}

/// Two thirds of the lease: the last third is the margin in which everything must have stopped.
fn valid_until(asked: Instant, ttl: Duration) -> Instant {
    asked + ttl * 2 / 3
}
