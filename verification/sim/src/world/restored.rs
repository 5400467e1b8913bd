//! The store of a world, put back to a backup.

use std::time::Duration;

use kafka_assigner_core::key::DEFAULT_PREFIX;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_server::identity;
use kafka_assigner_store::Store as _;
use kafka_assigner_store::embedded::StoreBackup;
use kafka_assigner_types::kv::Revision;
use kafka_assigner_types::moment::{WallMillis, millis};
use rand::RngExt as _;
use tokio::task::yield_now;

use super::World;
use super::instances::EPOCH_MS;

/// The operator's clock is behind none of those that the instances have had: they are set by as much at most.
const AHEAD: Duration = Duration::from_secs(7_200);

/// The number by which a revision is raised above the lost ones.
const RAISED_BY: u64 = 1_000;

impl World {
    /// Puts `backup` back. With `is_raised` its revision is above the lost ones, and nothing of its past can be watched.
    pub(crate) async fn put_back(&mut self, backup: &StoreBackup, is_raised: bool) {
        self.wait_for_observer().await;
        let lost = self.read(GroupState::revision);
        match is_raised {
            true => self.store.put_back(&backup.raised_to(Revision(lost.0 + RAISED_BY))),
            false => self.store.put_back(backup),
        }
        let snapshot = self.store.range(b"/").await.expect("memory takes everything");
        self.observer = self.observer.start_over(&self.store, snapshot);
    }

    /// Says that the store was put back, as an operator does before the instances start.
    pub(crate) async fn announce_restore(&mut self) {
        let (known, _) = identity::read(&self.store, DEFAULT_PREFIX).await.expect("memory takes everything");
        let Some(known) = known else { return };
        let (id, wall) = (format!("{:032x}", self.dice.random::<u128>()), millis(self.history.now() + AHEAD));
        let next = known.record().begun_anew(id, WallMillis(EPOCH_MS + wall));
        let written = identity::replace(&self.store, DEFAULT_PREFIX, Some(&known), &next).await;
        written.expect("memory takes everything").expect("nobody else writes");
    }

    /// Waits until the observer has been told of everything.
    pub(super) async fn wait_for_observer(&self) {
        loop {
            let Ok((_, revision)) = self.store.get(b"/").await else { return };
            if self.read(GroupState::revision) >= revision {
                return;
            }
            yield_now().await;
        }
    }
}
