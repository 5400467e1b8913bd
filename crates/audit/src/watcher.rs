//! Watches the records of one group from outside and counts what happens there.
//!
//! For the demonstration and the end-to-end test: neither asks the service how it is doing, both look at the store,
//! whichever it is. Start reading at [`Observer`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt as _;
use kafka_assigner_core::key::Layout;
use kafka_assigner_core::record::Phase;
use kafka_assigner_core::state::{Entry, GroupState};
use kafka_assigner_store::{Error, Store};
use kafka_assigner_types::id::{HandoffId, TopicPartition};
use kafka_assigner_types::kv::{Change, Revision};
use kafka_assigner_types::name::MemberName;

/// A watcher of one group's records; clones share its state.
#[derive(Debug, Clone)]
pub struct Observer(Arc<Mutex<Observed>>);

/// The state that was seen so far.
#[derive(Debug)]
pub struct Observed {
    /// The group as it stands.
    pub state: GroupState,
    completed: BTreeSet<HandoffId>,
    cancelled: BTreeSet<HandoffId>,
    /// The creations of the leader's key.
    terms: BTreeSet<Revision>,
}

impl Observer {
    /// An observer of the group at `layout`, which has seen nothing yet.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        Self(Arc::new(Mutex::new(Observed {
            state: GroupState::new(layout),
            completed: BTreeSet::new(),
            cancelled: BTreeSet::new(),
            terms: BTreeSet::new(),
        })))
    }

    /// Watches from the store's beginning until it is dropped; cancel safe.
    ///
    /// # Errors
    /// The store's, and [`Error::Compacted`] where its beginning is gone.
    pub async fn run(self, store: impl Store) -> Result<(), Error> {
        let prefix = self.look().state.layout().prefix();
        let mut changes = store.watch(&prefix, Revision(1)).await?;
        while let Some(batch) = changes.next().await {
            let batch = batch?;
            // One by one: what a batch writes and removes again counts too.
            let mut observed = self.look();
            batch.changes.iter().for_each(|change| observed.take(change, batch.revision));
        }
        Ok(())
    }

    /// The state that was seen so far; the watcher waits while the guard is held.
    pub fn look(&self) -> MutexGuard<'_, Observed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observed {
    fn take(&mut self, change: &Change, revision: Revision) {
        let touched = self.state.apply(std::slice::from_ref(change), revision);
        for handoff in touched.units.iter().filter_map(|at| self.state.handoff(at)) {
            match handoff.phase {
                Phase::Complete => drop(self.completed.insert(handoff.id.clone())),
                Phase::Cancelled => drop(self.cancelled.insert(handoff.id.clone())),
                _ => {}
            }
        }
        self.terms.extend(self.state.leader().and_then(Entry::readable).map(|leader| leader.create_revision));
    }

    /// Handoffs that reached their new owner.
    #[must_use]
    pub fn completed(&self) -> usize {
        self.completed.len()
    }

    /// Handoffs that were cancelled.
    #[must_use]
    pub fn cancelled(&self) -> usize {
        self.cancelled.len()
    }

    /// The number of changes of the leader.
    #[must_use]
    pub fn leader_changes(&self) -> usize {
        self.terms.len().saturating_sub(1)
    }

    /// The instance that leads the group.
    #[must_use]
    pub fn leader(&self) -> Option<String> {
        Some(self.state.leader()?.readable()?.instance.clone())
    }

    /// The number of partitions that each registered consumer owns.
    #[must_use]
    pub fn owned(&self) -> BTreeMap<MemberName, u32> {
        let mut owned: BTreeMap<MemberName, u32> =
            self.state.consumers().keys().map(|name| (name.clone(), 0)).collect();
        for owner in self.state.assignments().values().filter_map(|entry| entry.last_good()?.owner.as_ref()) {
            *owned.entry(owner.name.clone()).or_default() += 1;
        }
        owned
    }

    /// True if every consumer has its share, and no handoff waits for anybody but the end of a session that was taken over.
    #[must_use]
    pub fn is_settled(&self, consumers: usize, partitions: u32) -> bool {
        let owned = self.owned();
        owned.len() == consumers
            && owned.values().sum::<u32>() == partitions
            && owned.values().max().zip(owned.values().min()).is_some_and(|(max, min)| max - min <= 1)
            && self.state.handoffs().keys().all(|at| self.waits_for_the_dead(at))
    }

    fn waits_for_the_dead(&self, at: &TopicPartition) -> bool {
        let handoff = self.state.handoff_of(at);
        handoff.is_some_and(|handoff| !handoff.phase.is_in_flight() && self.state.is_taken_over(&handoff.old))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kafka_assigner_core::key::{DEFAULT_PREFIX, Key};
    use kafka_assigner_core::reason::Reason;
    use kafka_assigner_core::record::{Handoff, HandoffRecord, LeaderRecord, encode};
    use kafka_assigner_store::MemoryStore;
    use kafka_assigner_types::id::{Incarnation, Member, TopicPartition};
    use kafka_assigner_types::kv::{Op, Txn};
    use kafka_assigner_types::mode::Mode;
    use kafka_assigner_types::moment::WallMillis;
    use tokio::time::{sleep, timeout};

    use super::*;

    fn layout() -> Layout {
        Layout::new(DEFAULT_PREFIX, "g".parse().unwrap())
    }

    async fn write(store: &MemoryStore, op: Op) {
        store.txn(Txn::guarded(Vec::new(), vec![op])).await.unwrap();
    }

    async fn put(store: &MemoryStore, key: &Key, value: Vec<u8>) {
        write(store, Op::put(layout().encode(key), value)).await;
    }

    fn at() -> TopicPartition {
        TopicPartition::new("t".parse().unwrap(), 0)
    }

    /// A handoff of `t/0`, written in this phase and removed again.
    async fn attempt(store: &MemoryStore, id: &str, phase: Phase) {
        let member =
            |name: &str| Member { name: name.parse().unwrap(), incarnation: Incarnation::new("1").unwrap() };
        let (id, members) = (HandoffId::new(id), (member("a"), member("b")));
        let handoff = Handoff::new(id, vec![at()], members, Mode::Overlap, WallMillis(0), Reason::Unowned);
        let record = HandoffRecord::Lead(Box::new(handoff.in_phase(phase)));
        let key = Key::Handoff(at());
        put(store, &key, encode(&record).to_vec()).await;
        write(store, Op::delete(layout().encode(&key))).await;
    }

    async fn lead(store: &MemoryStore, instance: &str) {
        let leader = LeaderRecord::new(instance.to_owned(), String::new(), WallMillis(0));
        write(store, Op::delete(layout().encode(&Key::Leader))).await;
        put(store, &Key::Leader, encode(&leader).to_vec()).await;
    }

    #[tokio::test]
    async fn what_is_gone_again_is_still_counted() {
        let store = MemoryStore::new();
        lead(&store, "one").await;
        attempt(&store, "first", Phase::Complete).await;
        attempt(&store, "second", Phase::Cancelled).await;
        attempt(&store, "third", Phase::Complete).await;
        lead(&store, "two").await;
        let observer = Observer::new(layout());
        let watching = tokio::spawn(observer.clone().run(store));
        let seen_all = async {
            while observer.look().leader().as_deref() != Some("two") {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_secs(10), seen_all).await.expect("the last change is seen");
        watching.abort();
        let seen = observer.look();
        assert_eq!((seen.completed(), seen.cancelled(), seen.leader_changes()), (2, 1, 1));
    }
}
