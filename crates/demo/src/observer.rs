//! Watches the embedded store from outside and counts what happens there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt as _;
use kafka_assigner_core::id::HandoffId;
use kafka_assigner_core::key::Layout;
use kafka_assigner_core::kv::Revision;
use kafka_assigner_core::name::MemberName;
use kafka_assigner_core::record::Phase;
use kafka_assigner_core::state::{Entry, GroupState};
use kafka_assigner_store::{Error, Store};

/// What the records show; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Observer(Arc<Mutex<Observed>>);

/// What was seen so far.
#[derive(Debug)]
pub(crate) struct Observed {
    /// The group as it stands.
    pub(crate) state: GroupState,
    completed: BTreeSet<HandoffId>,
    cancelled: BTreeSet<HandoffId>,
    terms: BTreeSet<Revision>,
}

impl Observer {
    pub(crate) fn new(layout: Layout) -> Self {
        Self(Arc::new(Mutex::new(Observed {
            state: GroupState::new(layout),
            completed: BTreeSet::new(),
            cancelled: BTreeSet::new(),
            terms: BTreeSet::new(),
        })))
    }

    /// Watches from the store's beginning until it is dropped.
    pub(crate) async fn run(self, store: impl Store) -> Result<(), Error> {
        let prefix = self.look().state.layout().prefix();
        let mut changes = store.watch(&prefix, Revision(1)).await?;
        while let Some(batch) = changes.next().await {
            let batch = batch?;
            self.look().take(&batch.changes, batch.revision);
        }
        Ok(())
    }

    /// What was seen so far; nothing is seen while this is held.
    pub(crate) fn look(&self) -> MutexGuard<'_, Observed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observed {
    fn take(&mut self, changes: &[kafka_assigner_core::kv::Change], revision: Revision) {
        let touched = self.state.apply(changes, revision);
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
    pub(crate) fn completed(&self) -> usize {
        self.completed.len()
    }

    /// Handoffs that were cancelled.
    pub(crate) fn cancelled(&self) -> usize {
        self.cancelled.len()
    }

    /// How often the leadership changed.
    pub(crate) fn leader_changes(&self) -> usize {
        self.terms.len().saturating_sub(1)
    }

    /// Who leads.
    pub(crate) fn leader(&self) -> Option<String> {
        Some(self.state.leader()?.readable()?.instance.clone())
    }

    /// How many partitions each registered consumer owns.
    pub(crate) fn owned(&self) -> BTreeMap<MemberName, u32> {
        let mut owned: BTreeMap<MemberName, u32> =
            self.state.consumers().keys().map(|name| (name.clone(), 0)).collect();
        for owner in self.state.assignments().values().filter_map(|entry| entry.last_good()?.owner.as_ref()) {
            *owned.entry(owner.name.clone()).or_default() += 1;
        }
        owned
    }

    /// Whether every consumer has its share and nothing is on the move.
    pub(crate) fn is_settled(&self, consumers: usize, partitions: u32) -> bool {
        let owned = self.owned();
        owned.len() == consumers
            && owned.values().sum::<u32>() == partitions
            && owned.values().max().zip(owned.values().min()).is_some_and(|(max, min)| max - min <= 1)
            && self.state.handoffs().is_empty()
    }
}
