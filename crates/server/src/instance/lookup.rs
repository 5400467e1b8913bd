//! The groups of an instance, for whoever serves a request.

use std::time::Duration;

use kafka_assigner_core::key::Layout;
use kafka_assigner_core::record::{GroupConfig, Tombstone, decode};
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_store::view;
use kafka_assigner_types::claim::LONGEST_OUTAGE_GRACE;
use kafka_assigner_types::kv::{Revision, Txn};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::millis;
use kafka_assigner_types::name::GroupName;
use tonic::Status;

use super::Instance;
use super::served_history::ServedHistory;
use crate::directory::{self, EarlierClaims};
use crate::group::ServedGroup;
use crate::quota;
use crate::refusal;

impl Instance {
    /// The groups that this instance serves, by name.
    #[must_use]
    pub fn groups(&self) -> Vec<ServedGroup> {
        self.history().all_served()
    }

    /// The group `name`, with a view that was loaded.
    ///
    /// # Errors
    /// `NOT_FOUND` where there is none; `UNAVAILABLE` while the view is not loaded, or stands still after a panic.
    pub async fn group(&self, name: &GroupName) -> Result<ServedGroup, Status> {
        let history = self.history();
        history.directory.wait_until(Revision(1), self.patience()).await.map_err(refusal::behind)?;
        let group = match history.served(&self.0, name) {
            Some(group) => group,
            None => {
                self.catch_up_directory(&history, name).await?;
                history.served(&self.0, name).ok_or_else(|| not_found(name))?
            }
        };
        self.reach(&group, Revision(1)).await?;
        // One whose task panicked stays in its place until it is served anew, and follows the store no more.
        if group.view().health().stopped {
            return Err(refusal::behind(view::Error::Stopped));
        }
        Ok(group)
    }

    /// Waits until the view of `group` shows `revision`.
    pub(crate) async fn reach(&self, group: &ServedGroup, revision: Revision) -> Result<(), Status> {
        group.reach(revision, self.patience()).await.map_err(refusal::behind)
    }

    /// Waits until the view of `group` is as new as the store is now: for whoever decides by it.
    pub(crate) async fn catch_up(&self, group: &ServedGroup) -> Result<(), Status> {
        let key = group.layout().prefix();
        let (_, revision) = self.0.store.get(&key).await.map_err(|e| refusal::store(&e))?;
        self.reach(group, revision).await
    }

    /// Carries out a guarded change, and waits until the view shows what became of it; whether it applied. Where it did
    /// not, the view shows why.
    pub(crate) async fn change(&self, group: &ServedGroup, txn: Txn) -> Result<bool, Status> {
        let outcome = self.0.store.txn(txn).await.map_err(|e| refusal::store(&e))?;
        self.reach(group, outcome.revision).await?;
        Ok(outcome.succeeded)
    }

    /// Looks into the store for a group that the directory does not show yet.
    async fn catch_up_directory(&self, history: &ServedHistory, name: &GroupName) -> Result<(), Status> {
        let key = directory::entry(&self.0.options.prefix, name);
        let (record, revision) = self.0.store.get(&key).await.map_err(|e| refusal::store(&e))?;
        if record.is_none() {
            return Err(not_found(name));
        }
        history.directory.wait_until(revision, self.patience()).await.map_err(refusal::behind)
    }

    /// The group `name`, which is created with the instance's defaults where that is allowed, in the mode `least_mode` if that is
    /// stricter.
    ///
    /// # Errors
    /// As for [`group`](Self::group); `NOT_FOUND` where groups are not created by their first consumer.
    pub async fn group_or_create(
        &self,
        name: &GroupName,
        least_mode: Option<Mode>,
    ) -> Result<ServedGroup, Status> {
        match self.group(name).await {
            Err(refused) if refused.code() == tonic::Code::NotFound && self.0.options.auto_create => {
                let groups = self.directory().read(|directory, _| directory.groups().len());
                quota::check_groups(self.0.options.quotas, name, groups)?;
                let defaults = &self.0.options.group_defaults;
                let mode = least_mode.map_or(defaults.mode, |least| defaults.mode.max(least));
                let create = self.creation(name, &GroupConfig { mode, ..defaults.clone() }).await?;
                let outcome = self.0.store.txn(create).await.map_err(|e| refusal::store(&e))?;
                if outcome.succeeded {
                    tracing::info!(group = %name, "group created by its first consumer");
                }
                let group = self.group(name).await.map_err(|refused| overtaken(refused, name))?;
                // It may have been served before, as a group that was deleted since.
                self.reach(&group, outcome.revision).await?;
                Ok(group)
            }
            other => other,
        }
    }

    /// The transaction that creates the group `name` with `config`.
    ///
    /// A group that is not there may have been there in a history that the store has lost, or have been deleted.
    pub(crate) async fn creation(&self, name: &GroupName, config: &GroupConfig) -> Result<Txn, Status> {
        let (history, prefix) = (self.history(), &self.0.options.prefix);
        let longest = Duration::from_millis(config.max_session_timeout_ms);
        let of_lost_history = !history.is_the_first() && history.age() < longest;
        let layout = Layout::new(prefix, name.clone());
        let (gone, _) = self.0.store.get(&layout.gone()).await.map_err(|e| refusal::store(&e))?;
        let tombstone = gone.map(|record| (record.mod_revision, claims_ms(&record.value)));
        let earlier = EarlierClaims { of_lost_history, tombstone };
        Ok(directory::create(prefix, &layout, config, &history.identity, earlier))
    }

    fn patience(&self) -> Duration {
        self.0.options.view_patience
    }
}

/// The claims that a tombstone tells of; one that can't be read may tell of the longest that a client of any version has.
fn claims_ms(tombstone: &[u8]) -> u64 {
    decode::<Tombstone>(tombstone).map_or(millis(LONGEST_OUTAGE_GRACE), |tombstone| tombstone.claims_ms)
}

/// A group that is missing though it was to be created: the store began another history meanwhile.
fn overtaken(refused: Status, name: &GroupName) -> Status {
    match refused.code() {
        tonic::Code::NotFound => {
            status(Reason::LostRace, format!("group {name} could not be created; try again"))
        }
        _ => refused,
    }
}

fn not_found(name: &GroupName) -> Status {
    let message = format!("group {name} does not exist; create it with `kafka-assigner group set {name}`");
    status(Reason::GroupNotFound, message)
}
